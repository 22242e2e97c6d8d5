"""Worker processes that fetch batches ahead; tensors travel as NumPy arrays.

Each worker has a pipe for indices; all share a queue for what they have fetched.  Batches come in the sampler's order.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
import pickle
import queue
import random
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._generator import default_generator

_CHECK = 5.0  # seconds between looks at whether workers and parent are alive


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, the seed of its generators, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """What a loader's worker knows of itself; None in any other process."""
    return _here[0] if _here else None


# -- what travels --------------------------------------------------------------------------------------------
class _Pickler(pickle.Pickler):
    """A pickler that sends tensors as arrays."""

    def reducer_override(self, obj: Any) -> Any:
        if _arrays.is_tensor(obj):
            if obj.node is not None and not getattr(obj, "is_leaf", True):
                raise RuntimeError(
                    "a tensor that was computed from others with gradients can't be sent to another process"
                )
            return _received, (_arrays.raw(obj), bool(obj.requires_grad))
        return NotImplemented


def _received(array: Any, requires_grad: bool) -> Any:
    return _arrays.made(array, requires_grad=requires_grad)


def _packed(obj: Any) -> bytes:
    data = io.BytesIO()
    _Pickler(data, pickle.HIGHEST_PROTOCOL).dump(obj)
    return data.getvalue()


@final
class _Raised:
    """An error of a worker, and where it was raised."""

    __slots__ = ("kind", "text", "where")

    def __init__(self, where: str) -> None:
        kind, error = sys.exc_info()[:2]
        self.kind: Any = kind
        self.where = where
        self.text = "".join(traceback.format_exception(error))

    def packed(self) -> bytes:
        """It as it travels; a class that can't becomes RuntimeError."""
        try:
            return pickle.dumps(self)
        except Exception:
            self.kind = RuntimeError
            return pickle.dumps(self)

    def reraise(self) -> None:
        """Raise it here, with the text of its traceback."""
        kind: Any = self.kind
        message = f"Caught {kind.__name__} {self.where}.\nOriginal {self.text}"
        if kind is KeyError:
            raise KeyError(_Lines(message))
        try:
            error = kind(message)
        except Exception:  # a class that takes other arguments
            raise RuntimeError(message) from None
        raise error


class _Lines(str):
    """A text that a KeyError shows in lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


#: Sent in place of a batch by a worker whose dataset has no more items.
_ENDED = "ended"


def _work(loader: Any, number: int, base_seed: int, indices: Any, results: Any) -> None:
    """What a worker does until its pipe says None."""
    seed = base_seed + number
    random.seed(seed)
    default_generator().manual_seed(seed)
    np.random.seed(generate_state(base_seed, number))
    _here[:] = [WorkerInfo(number, loader.num_workers, seed, loader.dataset)]
    parent = os.getppid()
    fetch, failed = None, None
    try:
        if loader.worker_init_fn is not None:
            loader.worker_init_fn(number)
        fetch = loader.make_fetcher()
    except Exception:
        failed = _Raised(f"in DataLoader worker process {number}")
    while True:
        if not indices.poll(_CHECK):
            if os.getppid() != parent:
                return
            continue
        task = indices.recv()
        if task is None:
            results.cancel_join_thread()  # nobody will read what is left
            return
        if task == "anew":
            fetch = loader.make_fetcher()
            continue
        place, index = task
        try:
            found = failed or fetch(index)  # type: ignore[misc]
            data = _packed(found)
        except StopIteration:
            data = _packed(_ENDED)
        except Exception:
            data = _Raised(f"in DataLoader worker process {number}").packed()
        results.put((place, data))


def generate_state(base_seed: int, worker_id: int) -> tuple[int, ...]:
    """What seeds NumPy's generator in a worker: four 32-bit words."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return tuple(np.random.SeedSequence(words).generate_state(4).tolist())


@final
class Pass:
    """One pass over a dataset: who fetches which batch, which workers still have items, and what came before its turn.

    `prefetch_factor` batches of each worker are under way from the start.  An error of one batch is raised in its place; the
    next call goes on with the next batch.
    """

    __slots__ = ("_alive", "_got", "_indices", "_owners", "_place", "_turns", "_wanted", "_workers")

    def __init__(self, workers: Workers, indices: Iterator[Any]) -> None:
        n = workers.loader.num_workers
        self._workers = workers
        self._indices = indices
        self._place = self._wanted = 0
        self._turns = itertools.cycle(range(n))
        self._alive = set(range(n))
        self._owners: dict[int, int] = {}
        self._got: dict[int, bytes] = {}
        for _ in range(workers.loader.prefetch_factor * n):
            self._send()

    def _send(self) -> None:
        """Give the sampler's next indices to the worker whose turn it is, if there are any."""
        number = next((n for n in itertools.islice(self._turns, self._workers.loader.num_workers) if n in self._alive), None)
        if number is None:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._workers.send(number, (self._place, index))
        self._owners[self._place] = number
        self._place += 1

    def __next__(self) -> Any:
        while self._wanted in self._owners:
            while self._wanted not in self._got:
                place, data = self._workers.receive()
                self._got[place] = data
            found = pickle.loads(self._got.pop(self._wanted))
            number = self._owners.pop(self._wanted)
            self._wanted += 1
            ended = isinstance(found, str) and found == _ENDED
            if ended:
                self._alive.discard(number)
            self._send()
            if isinstance(found, _Raised):
                found.reraise()
            if not ended:
                return found
        raise StopIteration


@final
class Workers:
    """The worker processes of a loader, for one pass or for all."""

    def __init__(self, loader: Any, base_seed: int) -> None:
        self.loader = loader
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            available = multiprocessing.get_all_start_methods()
            context = multiprocessing.get_context(context or ("fork" if "fork" in available else None))
        self._results = context.Queue()
        self._pipes: list[Any] = []
        self.processes: list[Any] = []
        for number in range(loader.num_workers):
            receiving, sending = context.Pipe(duplex=False)
            process = context.Process(
                target=_work, args=(loader, number, base_seed, receiving, self._results), daemon=True
            )
            with warnings.catch_warnings():  # NumPy's threads are idle while it forks, as PyTorch's are
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
                process.start()
            receiving.close()
            self._pipes.append(sending)
            self.processes.append(process)
        self._owner = os.getpid()
        self._outstanding = 0

    def send(self, number: int, task: Any) -> None:
        """Have a worker fetch a batch."""
        self._pipes[number].send(task)
        self._outstanding += 1

    def again(self) -> None:
        """Make ready for another pass: forget what an earlier one left under way, and start datasets anew."""
        while self._outstanding:
            self.receive()
        for pipe in self._pipes:
            pipe.send("anew")

    def receive(self) -> Any:
        """A place and what was fetched for it, of any worker that is ready."""
        limit = self.loader.timeout or None
        waited = 0.0
        while True:
            step = min(_CHECK, limit - waited) if limit else _CHECK
            try:
                found = self._results.get(timeout=step)
                self._outstanding -= 1
                return found
            except queue.Empty:
                waited += step
            dead = [p for p in self.processes if not p.is_alive()]
            if dead:
                pids = ", ".join(str(p.pid) for p in dead)
                raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
            if limit and waited >= limit:
                raise RuntimeError(f"DataLoader timed out after {limit} seconds")

    def stop(self) -> None:
        """End the processes."""
        if os.getpid() != self._owner:
            return
        for pipe in self._pipes:
            with contextlib.suppress(OSError, ValueError):  # its process may be gone
                pipe.send(None)
            with contextlib.suppress(OSError):
                pipe.close()
        for process in self.processes:  # they stay listed: who holds the list may ask how they ended
            process.join(0.5)
            if process.is_alive():
                process.terminate()
                process.join()
        self._results.close()
        self._results.cancel_join_thread()
        self._pipes = []

    def __del__(self) -> None:
        if getattr(self, "_pipes", None):
            self.stop()
