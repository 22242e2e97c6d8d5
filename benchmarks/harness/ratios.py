"""Numbers from rounds: medians, and ratios taken pairwise."""

from __future__ import annotations

import statistics as st
from collections.abc import Mapping, Sequence
from typing import Any

Chunk = dict[str, float]
BASES = ("torch", "numpy_hand")


def pairwise(times: Sequence[float], base: Sequence[float]) -> float:
    """The median over the rounds of time / base within a round; rounds that one of the two missed do not count."""
    return st.median(a / b for a, b in zip(times, base, strict=False))


def summarise(rounds: Mapping[str, Sequence[Chunk]]) -> dict[str, dict[str, Any]]:
    """Per peer: median, best, pairwise ratios, spread, cores in use.

    `rounds` is {peer: [chunk]}, all beginning with the first round; a slow peer took part in the first ones only.
    """
    nets = {p: [c["net_s"] for c in chunks] for p, chunks in rounds.items()}
    out: dict[str, dict[str, Any]] = {}
    for peer, net in nets.items():
        chunks = rounds[peer]
        walls = [c["wall_s"] for c in chunks]
        low, middle, high = st.quantiles(net, n=4) if len(net) > 1 else net * 3
        r: dict[str, Any] = {
            "median_s": st.median(net),
            "best_s": min(net),
            "wall_median_s": st.median(walls),
            "cpu_s": st.median(c["cpu_s"] for c in chunks),
            "rounds": len(net),
            "iqr": (high - low) / middle,
            "cores": sum(c["cpu_s"] for c in chunks) / sum(net),
            "nets_s": net,
            "walls_s": walls,
        }
        for base in BASES:
            if base in nets:
                r["x_" + base] = pairwise(net, nets[base])
                r["best_x_" + base] = min(net) / min(nets[base])
        out[peer] = r
    return out
