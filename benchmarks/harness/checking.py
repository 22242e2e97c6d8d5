"""Results are compared with the reference before anything is timed."""

from __future__ import annotations

import concurrent.futures
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.harness.case import Case, Outputs
from benchmarks.harness.client import FAILED, Children, Gone, Refused
from benchmarks.harness.peers import Peer


def compare(outputs: Outputs, reference: Outputs, rtol: float) -> tuple[float, str]:
    """The largest error over all outputs, each against the largest entry of its reference, and what is wrong."""
    if len(outputs) != len(reference):
        return math.inf, f"{len(outputs)} outputs, expected {len(reference)}"
    worst = 0.0
    for i, (a, b) in enumerate(zip(outputs, reference, strict=True)):
        if a.shape != b.shape:
            return math.inf, f"output {i} has shape {a.shape}, expected {b.shape}"
        if not np.isfinite(a).all():
            return math.inf, f"output {i} is not finite"
        if a.size:
            worst = max(worst, float(np.abs(a - b).max() / max(float(np.abs(b).max()), 1e-12)))
    return worst, "" if worst <= rtol else f"wrong: error {worst:.1e} over rtol {rtol:.0e}"


@dataclass
class Prepared:
    """The peers of one case that are right and may be timed, and why the others are not among them."""

    ready: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    digests: set[int] = field(default_factory=set)

    def merge(self, other: Prepared) -> None:
        """Take in the peers of another family."""
        self.ready |= other.ready
        self.skipped |= other.skipped
        self.digests |= other.digests

    def in_order(self, peers: Sequence[Peer]) -> Prepared:
        """The same with the peers in the order of the tables."""
        ready = {p.name: self.ready[p.name] for p in peers if p.name in self.ready}
        skipped = {p.name: self.skipped[p.name] for p in peers if p.name in self.skipped}
        return Prepared(ready, skipped, self.digests)


@dataclass(frozen=True)
class Checker:
    """Lets peers build their steps and compares their first outputs with the reference.

    `left_out(peer, workload, case)` is the reason to leave a peer out beforehand, or an empty text.
    """

    children: Children
    peers: Sequence[Peer]
    timeout: float
    at_once: int
    left_out: Callable[[str, str, Case], str]
    verbose: bool = False

    def prepare(self, workload: str, c: Case) -> Prepared:
        """All peers of one case; families are prepared side by side, `at_once` at a time."""
        reference = self.children.need("numpy").call("reference", workload, c.id)["outputs"]
        prepared = Prepared()
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            parts = pool.map(lambda f: self._family(f, workload, c, reference), self.children.families)
            for part in parts:
                prepared.merge(part)
        if len(prepared.digests) > 1:
            raise RuntimeError(f"{workload}: {c.id}: peers got different inputs")
        return prepared.in_order(self.peers)

    def _family(self, family: str, workload: str, c: Case, reference: Outputs) -> Prepared:
        part = Prepared()
        for p in self.peers:
            if p.family == family and family not in self.children.dead:
                self._peer(p, workload, c, reference, part)
        return part

    def _peer(self, p: Peer, workload: str, c: Case, reference: Outputs, part: Prepared) -> None:
        why = self.left_out(p.name, workload, c)
        client = None if why else self.children.get(p.family)
        if client is None:
            part.skipped[p.name] = why
            return
        try:
            r = client.call("prepare", workload, c.id, p.name, timeout=self.timeout)
        except Refused as e:
            part.skipped[p.name] = str(e) if e.kind == "unavailable" else FAILED + str(e)
            if e.kind == "error" and self.verbose:
                print(e.trace, file=sys.stderr)
            return
        except Gone as e:
            part.skipped[p.name] = FAILED + str(e)
            self._again(p.family, workload, c, part)
            return
        part.digests.add(r["digest"])
        error, why = compare(r["outputs"], reference, c.rtol)
        if why:
            part.skipped[p.name] = FAILED + why
        else:
            part.ready[p.name] = _entry(r, error)

    def _again(self, family: str, workload: str, c: Case, part: Prepared) -> None:
        """A child died: a fresh one prepares the peers that had been ready in it."""
        client = self.children.get(family)
        for name in list(part.ready):
            try:
                if client is None:
                    raise Gone(self.children.dead[family].removeprefix(FAILED))
                client.call("prepare", workload, c.id, name, timeout=self.timeout)
            except (Gone, Refused) as e:
                part.skipped[name] = FAILED + str(e)
                del part.ready[name]


def _entry(r: Mapping[str, Any], error: float) -> dict[str, Any]:
    """What is kept of a peer that is right."""
    upcast = any(a.dtype.name == "float64" for a in r["outputs"])
    return {"first_s": r["first_s"], "estimate_s": r["estimate_s"], "error": error, "upcast": upcast}
