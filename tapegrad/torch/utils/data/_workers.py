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
    np.random.seed(np.random.SeedSequence([number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4))
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


@final
class _Pass:
    """What is under way in one pass: who fetches which batch, and which workers still have items."""

    __slots__ = ("_indices", "_pipes", "_place", "_turns", "alive", "owners")

    def __init__(self, pipes: list[Any], indices: Iterator[Any]) -> None:
        self._pipes = pipes
        self._indices = indices
        self._place = 0
        self._turns = itertools.cycle(range(len(pipes)))
        self.alive = set(range(len(pipes)))
        self.owners: dict[int, int] = {}

    def send(self) -> bool:
        """Give the sampler's next indices to the worker whose turn it is, if there are any."""
        number = next((n for n in itertools.islice(self._turns, len(self._pipes)) if n in self.alive), None)
        if number is None:
            return False
        try:
            index = next(self._indices)
        except StopIteration:
            return False
        self._pipes[number].send((self._place, index))
        self.owners[self._place] = number
        self._place += 1
        return True


@final
class Workers:
    """The worker processes of a loader, for one pass or for all."""

    def __init__(self, loader: Any, base_seed: int) -> None:
        self._loader = loader
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            available = multiprocessing.get_all_start_methods()
            context = multiprocessing.get_context(context or ("fork" if "fork" in available else None))
        self._results = context.Queue()
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
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
            self._processes.append(process)
        self._owner = os.getpid()
        self._outstanding = 0

    def batches(self, indices: Iterator[Any]) -> Iterator[Any]:
        """The batches for a sampler's indices, in its order; `prefetch_factor` of each worker are under way from now on."""
        task = _Pass(self._pipes, indices)
        for _ in range(self._loader.prefetch_factor * len(self._pipes)):
            self._outstanding += task.send()
        return self._in_order(task)

    def _in_order(self, task: _Pass) -> Iterator[Any]:
        got: dict[int, bytes] = {}
        for wanted in itertools.count():
            if wanted not in task.owners:
                return
            while wanted not in got:
                place, data = self._receive()
                got[place] = data
            found = pickle.loads(got.pop(wanted))
            number = task.owners.pop(wanted)
            ended = isinstance(found, str) and found == _ENDED
            if ended:
                task.alive.discard(number)
            self._outstanding += task.send()
            if isinstance(found, _Raised):
                found.reraise()
            if not ended:
                yield found

    def again(self) -> None:
        """Make ready for another pass: forget what an earlier one left under way, and start datasets anew."""
        while self._outstanding:
            self._receive()
        for pipe in self._pipes:
            pipe.send("anew")

    def _receive(self) -> Any:
        limit = self._loader.timeout or None
        waited = 0.0
        while True:
            step = min(_CHECK, limit - waited) if limit else _CHECK
            try:
                found = self._results.get(timeout=step)
                self._outstanding -= 1
                return found
            except queue.Empty:
                waited += step
            dead = [p for p in self._processes if not p.is_alive()]
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
            pipe.close()
        for process in self._processes:
            process.join(0.5)
            if process.is_alive():
                process.terminate()
                process.join()
        self._results.close()
        self._results.cancel_join_thread()
        self._pipes, self._processes = [], []

    def __del__(self) -> None:
        if getattr(self, "_pipes", None):
            self.stop()
