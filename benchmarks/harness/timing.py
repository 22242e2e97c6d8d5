"""The timing loop: peers take turns, so that a busy minute hits all of them alike."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import procstats
from benchmarks.harness.client import Children, Gone, Refused
from benchmarks.harness.peers import BY_NAME
from benchmarks.harness.ratios import Chunk


@dataclass(frozen=True)
class Pace:
    """How long a chunk is, and between how many rounds a case has."""

    chunk: float  # seconds
    min_rounds: int
    max_rounds: int


@dataclass(frozen=True)
class Turns:
    """A peer's part: in each of its rounds, `warm` untimed steps and then `inner` timed ones."""

    inner: int
    warm: int
    rounds: int


def plan(ready: Mapping[str, Mapping[str, Any]], budget: float, pace: Pace) -> dict[str, Turns]:
    """Everybody's turns within `budget` seconds; a slow peer takes part in fewer rounds, but in the first ones."""
    turns = {}
    for peer, r in ready.items():
        step = r["estimate_s"]
        inner = max(1, math.ceil(pace.chunk / max(step, 1e-6)))
        warm = int(step < 0.05)
        one_round = (inner + warm) * step + 0.004
        rounds = int(budget / len(ready) / one_round)
        turns[peer] = Turns(inner, warm, max(pace.min_rounds, min(pace.max_rounds, rounds)))
    return turns


@dataclass(frozen=True)
class Timed:
    """The chunks of every peer, the peers that broke down on the way, and what the machine did meanwhile."""

    rounds: dict[str, list[Chunk]]
    failed: dict[str, str]
    seconds: float
    others_cores: float  # in use by everything that is neither this process nor a child


def take_turns(children: Children, turns: Mapping[str, Turns], budget: float, pace: Pace) -> Timed:
    """A B C ... A B C ..., one chunk each."""
    rounds: dict[str, list[Chunk]] = {p: [] for p in turns}
    failed: dict[str, str] = {}
    began, busy, own = time.perf_counter(), procstats.busy_seconds(), children.own_seconds()
    for i in range(max((t.rounds for t in turns.values()), default=0)):
        if i >= pace.min_rounds and time.perf_counter() - began > budget:
            break
        for peer, t in turns.items():
            if i >= t.rounds or peer in failed:
                continue
            time.sleep(0.002)  # lets the previous peer's threads go to sleep
            try:
                rounds[peer].append(children.need(BY_NAME[peer].family).call("chunk", peer, t.inner, t.warm))
            except Refused as e:
                failed[peer] = str(e)
            except Gone as e:  # and with it the steps of all peers of the family
                failed |= {p: str(e) for p in turns if BY_NAME[p].family == BY_NAME[peer].family}
    took = max(time.perf_counter() - began, 1e-9)
    others = procstats.busy_seconds() - busy - (children.own_seconds() - own)
    return Timed({p: r for p, r in rounds.items() if p not in failed}, failed, took, max(0.0, others / took))
