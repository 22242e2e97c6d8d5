"""`tf.train`: checkpoints, examples, moving averages."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.tf.checkpoint_files import CheckpointReader, latest_checkpoint, read_state
from tapegrad.tf.checkpoints import Checkpoint, CheckpointManager
from tapegrad.tf.errors import OutOfRangeError
from tapegrad.tf.examples import BytesList, Example, Feature, Features, FloatList, Int64List
from tapegrad.tf.export import missing
from tapegrad.tf.sequence_examples import FeatureList, FeatureLists, SequenceExample
from tapegrad.tf.style import S
from tapegrad.tf.variable import Variable

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, or of the latest in a directory."""
    path = os.fspath(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return CheckpointReader(found)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes in a checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """A value of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def checkpoints_iterator(
    checkpoint_dir: Any, min_interval_secs: float = 0, timeout: float | None = None, timeout_fn: Any = None
) -> Iterator[str]:
    """The latest checkpoint of a directory, whenever there is a new one.

    It waits at most `timeout` seconds for one, and then ends, unless `timeout_fn()` is false: then it waits again.
    """
    last = None
    while True:
        began = time.monotonic()
        found = latest_checkpoint(checkpoint_dir)
        while found is None or found == last:
            if timeout is not None and time.monotonic() - began >= timeout:
                break
            time.sleep(0.05)
            found = latest_checkpoint(checkpoint_dir)
        if found is None or found == last:
            if timeout_fn is None or timeout_fn():
                return
            continue
        last = found
        yield found
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - began)))


class CheckpointOptions:
    """Options of checkpoints, by TensorFlow's words; none has an effect on values."""

    def __init__(
        self,
        experimental_io_device: Any = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Any = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        self.__dict__.update((k, v) for k, v in locals().items() if k != "self")


class Coordinator:
    """Lets threads stop together: each asks `should_stop`, any may `request_stop`, and `join` waits and raises what one met."""

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._stop = threading.Event()
        self._clean = tuple(clean_stop_exception_types or (OutOfRangeError,))
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    @property
    def joined(self) -> bool:
        """Whether no thread that it knows runs any more."""
        return not any(t.is_alive() for t in self._threads)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread."""
        self._threads.append(thread)

    def should_stop(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until somebody asks to stop; False if the time is over first."""
        return self._stop.wait(timeout)

    def clear_stop(self) -> None:
        """Forget that somebody asked to stop."""
        self._stop.clear()
        self._error = None

    def request_stop(self, ex: BaseException | None = None) -> None:
        """Ask all to stop, for an error if one is given: those that are an end and no fault are not kept."""
        if ex is not None and self._error is None and not isinstance(ex, self._clean):
            self._error = ex
        self._stop.set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask all to stop if an error leaves the block."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def raise_requested_exception(self) -> None:
        """Raise the error for which somebody asked to stop."""
        if self._error is not None:
            raise self._error

    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait for threads, and raise the error of one that met one."""
        for t in [*self._threads, *(threads or [])]:
            while t.is_alive() and not self._stop.is_set():
                t.join(0.05)
            t.join(stop_grace_period_secs)
            if t.is_alive() and not ignore_live_threads:
                raise RuntimeError(f"Coordinator stopped with threads still running: {t.name}")
        self._stop.set()
        self.raise_requested_exception()


class CheckpointState:
    """Which checkpoints a directory has."""

    def __init__(self, paths: list[str]) -> None:
        self.all_model_checkpoint_paths = paths
        self.model_checkpoint_path = paths[-1] if paths else ""


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: Any = None) -> CheckpointState | None:
    """Which checkpoints a directory has; None if it has none."""
    found = read_state(os.fspath(checkpoint_dir))
    return CheckpointState(found) if found else None


class ExponentialMovingAverage:
    """Averages of variables in which older values count less and less."""

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._updates, self._zero, self._name = decay, num_updates, zero_debias, name
        self._averages: dict[Any, Variable] = {}
        self._count = 0

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def apply(self, var_list: Any = None) -> None:
        """Take in the present values."""
        decay = float(self._decay)
        if self._updates is not None:
            n = float(self._updates)
            decay = min(decay, (1 + n) / (10 + n))
        self._count += 1
        for v in var_list or []:
            key = v.ref()
            average = self._averages.get(key)
            if average is None:
                average = self._averages[key] = Variable(np.zeros_like(v.array) if self._zero else v.array, trainable=False)
                if not self._zero:
                    continue
            average.assign_sub(S.multiply(1 - decay, S.subtract(average, v)))

    def average(self, var: Any) -> Any:
        """The average of a variable."""
        found = self._averages.get(var.ref())
        if found is None or not self._zero:
            return found
        return S.divide(found, 1 - float(self._decay) ** self._count)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
