"""A file of events."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from typing import Any, final

from tapegrad.events.wire import field, framed

_serial = itertools.count()


def value(
    tag: str, content: bytes, *, plugin: str | None = None, data: bytes = b"", description: str | None = None
) -> bytes:
    """One value of a summary: a tag, what it holds, and the part of TensorBoard that shows it."""
    if plugin is None:
        return field(1, tag) + content
    metadata = field(1, field(1, plugin) + (field(2, data) if data else b""))
    return field(1, tag) + field(9, metadata + (field(3, description) if description else b"")) + content


@final
class EventFile:
    """A new file of events in a directory, which is made with it; several threads may write."""

    __slots__ = ("_every", "_file", "_flushed", "_lock", "path")

    def __init__(self, directory: str, suffix: str = "", *, flush_seconds: float | None = None) -> None:
        os.makedirs(directory, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_serial)}{suffix}"
        self.path = os.path.join(directory, name)
        self._lock = threading.Lock()
        self._every = flush_seconds
        self._flushed = time.monotonic()
        self._file: Any = open(self.path, "wb")  # noqa: SIM115  closed by close()
        self._put(field(3, "brain.Event:2"), None)

    def write(self, step: int, values: bytes, *, seconds: float | None = None) -> None:
        """Write a value of `value` at a step and a time, which is now if it is left out."""
        self._put(field(2, step) + field(5, field(1, values)), seconds)

    def start_again(self, step: int) -> None:
        """Tell that the run starts again at a step: what is there of it, and of later ones, counts no more."""
        self._put(field(2, step) + field(7, field(1, 1)), None)

    def _put(self, event: bytes, seconds: float | None) -> None:
        record = framed(field(1, float(time.time() if seconds is None else seconds)) + event)
        with self._lock:
            if self._file is None:
                raise ValueError(f"the event file {self.path} is closed")
            self._file.write(record)
            if self._every is not None and time.monotonic() - self._flushed > self._every:
                self._flushed = time.monotonic()
                self._file.flush()

    def flush(self) -> None:
        """Write out what is buffered."""
        with self._lock:
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._file.close()
