"""Streams and events: TensorFlow keeps a GPU's work in one order, so a stream has nothing to arrange, and an event waits."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from tapegrad.torch import _devices


def synchronize(device: Any = None) -> None:
    """Wait until all GPUs have done what they were given."""
    _devices.name_of("cuda")
    import tensorflow as tf

    tf.test.experimental.sync_devices()


class Event:
    """A moment in a GPU's work; to record it waits for that work, so times are right and recording is no longer free."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        _devices.name_of("cuda")
        self._timed = enable_timing
        self._at: float | None = None

    def record(self, stream: Any = None) -> None:
        """Let it be now."""
        synchronize()
        self._at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from here to another event."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3

    def query(self) -> bool:
        """Whether the work before it is done: it is."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before it, which is done."""

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for it; there is one order of work."""


class Stream:
    """A line of work on a GPU; there is one."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        _devices.name_of("cuda" if device is None else device)
        self.priority = priority

    def synchronize(self) -> None:
        """Wait until its work is done."""
        synchronize()

    def query(self) -> bool:
        """Whether its work is done, which this waits for."""
        synchronize()
        return True

    def wait_stream(self, stream: Any) -> None:
        """Let it wait for another; there is one order of work."""

    def wait_event(self, event: Any) -> None:
        """Let it wait for an event; there is one order of work."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event at this moment of its work."""
        found = Event() if event is None else event
        found.record(self)
        return found


def current_stream(device: Any = None) -> Stream:
    """The one line of work."""
    return Stream()


default_stream = current_stream


def stream(stream: Any) -> contextlib.AbstractContextManager[None]:
    """A context in which work goes to a stream; there is one."""
    if stream is not None:
        _devices.name_of("cuda")
    return contextlib.nullcontext()
