"""What shows in the long run: threads, and memory that grows."""

from __future__ import annotations

import gc
import sys
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.properties.agreement import apart, steady
from tapegrad.testing.trial import filled, fresh

if TYPE_CHECKING:
    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial

_THREADS, _ROUNDS = 4, 8
_CALLS = 1000
_LONGEST = 2.0  # seconds of calls; what is slower is called less often
_BYTES = 32  # of a call: what an object needs at least


def threads(t: Trial) -> Outcome:
    """The gradient is the same while other threads compute others."""
    if not steady(t):
        return SILENT
    inputs = [
        t.active,
        *([x + 0.2 * u for x, u in zip(t.active, t.direction(), strict=True)] for _ in range(1, _THREADS)),
    ]
    full = [t.system.replaced(t.kept, xs) for xs in inputs]
    expected = [_gradient(t, xs) for xs in full]
    if not all(np.isfinite(c).all() for cs in expected for c in cs):
        return SILENT
    found: list[list[Any]] = [[] for _ in full]
    start = threading.Barrier(_THREADS)

    def work(k: int) -> None:
        start.wait()
        with np.errstate(all="ignore"):
            for _ in range(_ROUNDS):
                try:
                    found[k].append(_gradient(t, full[k]))
                except Exception as error:  # which is not raised in one thread alone
                    found[k].append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(k,)) for k in range(_THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    for k, several in enumerate(found):
        for cs in several:
            problem = f"{type(cs).__name__}: {cs}" if isinstance(cs, Exception) else apart(t, cs, expected[k], t.gs)
            if problem:
                return Failure("threads", f"the gradient is another one while other threads compute theirs: {problem}")
    return HOLDS


def _gradient(t: Trial, xs: list[Any]) -> list[Any]:
    return filled(t.system.run(fresh(xs))[1]([g.copy() for g in t.gs]), t.active)


def growth(t: Trial) -> Outcome:
    """A thousand calls leave no more memory in use than a hundred."""
    if not steady(t):
        return SILENT
    start = time.perf_counter()
    for _ in range(5):
        _gradient(t, t.kept)
    once = (time.perf_counter() - start) / 5
    n = int(min(_CALLS, max(60, _LONGEST / max(once, 1e-6)))) // 2
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    gc.collect()
    frozen = gc.get_freeze_count() == 0
    if frozen:
        gc.freeze()  # what was there before is not gone through again and again
    try:
        used = []
        for calls in (min(n, 50), n, n):  # caches are filled first
            for _ in range(calls):
                _gradient(t, t.kept)
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])
    finally:
        if frozen:
            gc.unfreeze()
        if not tracing:
            tracemalloc.stop()
    first, then = used[1] - used[0], used[2] - used[1]
    if min(first, then) > _BYTES * n:  # in both halves, so that it is no cache
        return Failure(
            "growth", f"each call leaves about {min(first, then) // n} bytes more in use, over {2 * n} calls"
        )
    return HOLDS
