"""What this machine gives a single call of a library, to judge the tables by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.families import Family

Best = Callable[[Callable[[], Any], int], float]


def library_limits(family: Family, best: Best) -> dict[str, float]:
    """Rates and times by name; `best(f, n)` is the seconds of one call of f, timed n calls at once."""
    return _torch(family.lib, best) if family.name == "torch" else _numpy(best)


def combine(old: dict[str, float], new: dict[str, float]) -> dict[str, float]:
    """The better of two measurements of each limit: the shorter time, the higher rate."""
    out = dict(new)
    for name, value in old.items():
        better = min if name.endswith("ns") else max
        out[name] = better(value, out.get(name, value))
    return out


def _torch(torch: Any, best: Best) -> dict[str, float]:
    a, b = torch.ones(16 << 20), torch.empty(16 << 20)
    m = torch.ones(1024, 1024)
    return {
        "torch copy 64 MiB, all threads, GB/s": 2 * a.nbytes / best(lambda: b.copy_(a), 1) / 1e9,
        "torch matmul 1024, GFLOP/s": 2 * 1024**3 / best(lambda: m @ m, 1) / 1e9,
    }


def _numpy(best: Best) -> dict[str, float]:
    import numpy as np

    a = np.ones(16 << 20, "f4")
    b = np.empty_like(a)
    c, d, e = a[: 4 << 20], a[4 << 20 : 8 << 20], b[: 4 << 20]
    m, s, z = np.ones((1024, 1024), "f4"), np.ones((8, 8), "f4"), np.ones((), "f4")
    return {
        "NumPy copy 64 MiB, GB/s": 2 * a.nbytes / best(lambda: np.copyto(b, a), 1) / 1e9,
        "NumPy copy 16 MiB (cache helps), GB/s": 2 * c.nbytes / best(lambda: np.copyto(e, c), 1) / 1e9,
        "NumPy multiply 16 MiB into out=, GB/s": 3 * c.nbytes / best(lambda: np.multiply(c, d, out=e), 1) / 1e9,
        "NumPy multiply 16 MiB, fresh result, GB/s": 3 * c.nbytes / best(lambda: c * d, 1) / 1e9,
        "NumPy matmul 1024, GFLOP/s": 2 * 1024**3 / best(lambda: m @ m, 1) / 1e9,
        "NumPy 8x8 multiply, ns": best(lambda: s * s, 2000) * 1e9,
        "NumPy scalar multiply (0-d arrays), ns": best(lambda: z * z, 2000) * 1e9,
        "Python call of an empty function, ns": best(lambda: None, 2000) * 1e9,
    }
