"""The child process that holds one library: pickled requests on stdin, answers on the old stdout.

Started as `python -m benchmarks.harness.worker`. Nothing that imports NumPy is imported before the library is.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from typing import Any

from benchmarks import workloads
from benchmarks.harness import procstats
from benchmarks.harness.case import Arrays, Case, Outputs, Post, Step, Unavailable
from benchmarks.harness.families import Family
from benchmarks.harness.limits import library_limits

SEED = 20240229
Answer = dict[str, Any]


def _digest(data: Arrays) -> int:
    crc = 0
    for key in sorted(data):
        crc = zlib.crc32(data[key].tobytes(), zlib.crc32(key.encode(), crc))
    return crc


@dataclasses.dataclass(frozen=True)
class Made:
    """A case made ready for one peer."""

    case: Case
    data: Arrays
    step: Step
    post: Post | None


class Worker:
    """The requests that a child answers, one method each; what a method returns is the answer."""

    def __init__(self) -> None:
        self.family: Family | None = None
        self.threads = 1
        self.steps: dict[str, Step] = {}

    def hello(self, family: str, threads: int, installed: bool) -> Answer:
        """Load the library; `installed`: what this interpreter has installed comes before the working directory."""
        if installed:
            sys.path.append(sys.path.pop(0))
        t, cpu = time.perf_counter(), time.process_time()
        self.family = Family(family, threads)
        took = {
            "import_s": time.perf_counter() - t,
            "import_cpu_s": time.process_time() - cpu,
            "rss_b": procstats.peak_rss(),
        }
        self.threads = threads
        gc.collect()
        gc.freeze()  # the library's own objects are not scanned again and again
        return {**self.family.info, **took}

    def reference(self, workload: str, case_id: str) -> Answer:
        """Outputs of numpy_hand in double precision."""
        made = self._make(workload, case_id, "numpy_hand", dtype="float64")
        for _ in range(made.case.check_steps):
            out = made.step()
        return {"outputs": self._numpy(out, made.post)}

    def prepare(self, workload: str, case_id: str, peer: str) -> Answer:
        """Build a step, take the first step or steps, and return their outputs."""
        made = self._make(workload, case_id, peer)
        step, digest = made.step, _digest(made.data)
        t = time.perf_counter()
        out = step()
        first = time.perf_counter() - t
        for _ in range(made.case.check_steps - 1):
            out = step()
        outputs = self._numpy(out, made.post)
        del out
        if _digest(made.data) != digest:
            raise ValueError("the step changed its inputs")
        self.steps[peer] = step
        return {"outputs": outputs, "first_s": first, "estimate_s": _estimate(step), "digest": digest}

    def chunk(self, peer: str, inner: int, warm: int) -> Answer:
        """Time `inner` steps; `warm` untimed ones come first."""
        step = self.steps[peer]
        gc.collect()
        for _ in range(warm):
            step()
        return self._timed(step, inner)

    def drop(self) -> Answer:
        """Forget all steps and what they hold."""
        self.steps.clear()
        gc.collect()
        procstats.trim()
        return {}

    def memory(self, workload: str, case_id: str, peer: str, small: dict[str, Any]) -> Answer:
        """Growth of the peak resident size over one step, after a small step as warm-up."""
        warm = self._make(workload, case_id, peer, override=small).step
        warm()
        warm()
        del warm
        made = self._make(workload, case_id, peer)
        gc.collect()
        procstats.trim()
        exact = procstats.reset_peak()
        before = procstats.rss()
        out = made.step()
        peak = procstats.peak_rss()
        del out
        gc.collect()
        procstats.trim()
        return {"growth_b": peak - before, "kept_b": procstats.rss() - before, "exact": exact}

    def limits(self) -> Answer:
        """What this machine gives a single library call; the best of several tries."""

        def best(f: Callable[[], Any], n: int) -> float:
            f()
            return min(self._timed(f, n)["net_s"] for _ in range(9))

        return library_limits(self._loaded(), best)

    def lacks(self, error: Exception) -> str | None:
        """The reason to skip, where the error only says that the library does not have a name yet."""
        return self.family.lacks(error) if self.family else None

    def _loaded(self) -> Family:
        if self.family is None:
            raise RuntimeError("hello comes first")
        return self.family

    def _make(
        self,
        workload: str,
        case_id: str,
        peer: str,
        *,
        dtype: str | None = None,
        override: dict[str, Any] | None = None,
    ) -> Made:
        import numpy as np

        module = workloads.load(workload)
        c = next(c for c in module.CASES if c.id == case_id)
        if override:
            c = dataclasses.replace(c, p={**c.p, **override})
        data = module.inputs(c, np.random.default_rng(SEED))
        if dtype is not None:
            data = {k: v.astype(dtype) if v.dtype.kind == "f" else v for k, v in data.items()}
        return Made(c, data, *self._loaded().implementation(peer, module, c, data))

    def _numpy(self, outputs: list[Any], post: Post | None) -> Outputs:
        out = [self._loaded().to_numpy(t) for t in outputs]
        for a in out:
            if a.dtype.kind not in "fiu":
                raise TypeError(f"expected every output to be an array of numbers, got dtype {a.dtype}")
        return post(out) if post else out

    def _timed(self, step: Callable[[], Any], inner: int) -> dict[str, float]:
        again = range(inner)
        alone = self.threads == 1
        waited = procstats.waiting_seconds(every_thread=alone)
        cpu = time.process_time()
        t = time.perf_counter()
        for _ in again:
            step()
        t = time.perf_counter() - t
        cpu = time.process_time() - cpu
        waited = procstats.waiting_seconds(every_thread=alone) - waited
        # Net of the time in which another program had the processor. Never below the processor time itself, for
        # some of the wait can fall just outside the timed part.
        net = min(t, max(t - waited, cpu / self.threads))
        return {"wall_s": t / inner, "net_s": net / inner, "cpu_s": cpu / inner}


def _estimate(step: Step) -> float:
    """Seconds of one step: the best of at most five tries, fewer if they are slow."""
    best, spent = float("inf"), 0.0
    for _ in range(5):
        t = time.perf_counter()
        step()
        t = time.perf_counter() - t
        best, spent = min(best, t), spent + t
        if spent > 0.05:
            break
    return best


def _answer(worker: Worker, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return "ok", getattr(worker, name)(*args)
    except Unavailable as e:
        return "unavailable", str(e)
    except Exception as e:
        reason = worker.lacks(e)
        if reason:
            return "unavailable", reason
        text = str(e).strip().splitlines()
        return "error", f"{type(e).__name__}: {text[0][:160] if text else ''}", traceback.format_exc()


def main() -> None:
    """Answer requests until stdin is closed."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    worker = Worker()
    while True:
        try:
            name, args = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_answer(worker, name, args), replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()


if __name__ == "__main__":
    main()
