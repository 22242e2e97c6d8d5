"""`tf.summary`: event files that TensorBoard reads."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

import numpy as np

from tapegrad.events import EventFile, file
from tapegrad.events.wire import field
from tapegrad.tf import pictures, records
from tapegrad.tf.convert import convert, host
from tapegrad.tf.export import Namespace, missing
from tapegrad.tf.tensor import Tensor


class _State(threading.local):
    """The writers that are open in this thread, the step, and whether anything is written."""

    def __init__(self) -> None:
        self.writers: list[Any] = []
        self.step: Any = None
        self.on: list[Any] = [True]


_state = _State()


class SummaryWriter:
    """Writes events to a file in a directory, which is made with the first event."""

    def __init__(self, logdir: str, suffix: str) -> None:
        self._logdir = logdir
        self._suffix = suffix
        self._file: EventFile | None = None
        self._closed = False

    def _opened(self) -> EventFile:
        if self._closed:
            raise RuntimeError(f"SummaryWriter for {self._logdir!r} is already closed")
        if self._file is None:
            self._file = EventFile(self._logdir, self._suffix)
        return self._file

    def _write(self, step: int, value: bytes) -> None:
        self._opened().write(step, value)

    def as_default(self, step: Any = None) -> Any:
        """A context in which summaries go to this writer."""
        return _Default(self, step)

    def set_as_default(self, step: Any = None) -> None:
        """Let summaries go to this writer from now on."""
        _state.writers[:] = [self]
        if step is not None:
            _state.step = step

    def init(self) -> None:
        """Make the file."""
        self._opened()

    def flush(self) -> None:
        """Write out what is buffered."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._closed = True


class _Silent(SummaryWriter):
    """Writes nothing."""

    def __init__(self) -> None:
        super().__init__("", "")

    def _write(self, step: int, value: bytes) -> None:
        return None


class _Default:
    """The context of `as_default`; a writer may also be entered itself."""

    def __init__(self, writer: SummaryWriter, step: Any) -> None:
        self._writer, self._step = writer, step

    def __enter__(self) -> SummaryWriter:
        _state.writers.append(self._writer)
        self._before = _state.step
        if self._step is not None:
            _state.step = self._step
        return self._writer

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _state.writers.pop()
        _state.step = self._before
        self._writer.flush()


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
    **words: Any,
) -> SummaryWriter:
    """A writer of event files in a directory."""
    found = convert(logdir).numpy() if isinstance(logdir, Tensor) else os.fspath(logdir)
    return SummaryWriter(found.decode() if isinstance(found, bytes) else found, filename_suffix or ".v2")


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing."""
    return _Silent()


def flush(writer: Any = None, name: str | None = None) -> None:
    """Write out what a writer, or the present one, has buffered."""
    for w in [writer] if writer is not None else _state.writers[-1:]:
        w.flush()


def _number(step: Any) -> int:
    if step is None:
        step = _state.step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()"
        )
    return int(convert(step).array)


def should_record_summaries() -> bool:
    """Whether there is a writer, and recording is on."""
    on = _state.on[-1]
    return bool(_state.writers) and bool(on() if callable(on) else on)


class record_if:
    """A context in which summaries are written only where a condition holds."""

    def __init__(self, condition: Any) -> None:
        self._condition = condition

    def __enter__(self) -> None:
        _state.on.append(self._condition)

    def __exit__(self, *error: object) -> None:
        _state.on.pop()


def _put(name: str, raw: Any, plugin: str, step: Any, content: bytes = b"", description: Any = None) -> bool:
    """Write one value; whether it was written."""
    if not should_record_summaries():
        return False
    from tapegrad.tf.names import scoped

    value = file.value(
        scoped(name), field(8, records.tensor_bytes(raw)), plugin=plugin, data=content, description=description
    )
    _state.writers[-1]._write(_number(step), value)
    return True


def scalar(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write a number."""
    raw = host(data)
    if raw.shape:
        raise ValueError(f"tf.summary.scalar: expected a scalar, got shape {raw.shape}")
    return _put(name, raw.astype(np.float32), "scalars", step, description=description)


def text(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write text."""
    return _put(name, convert(data).array, "text", step, description=description)


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> bool:
    """Write a tensor, for the plugin that its metadata name."""
    about = getattr(metadata, "plugin_data", None)
    plugin, content = ("", b"") if about is None else (about.plugin_name, about.content)
    return _put(tag, convert(tensor).array, plugin, step, content)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: Any = None) -> bool:
    """Write images (n, height, width, channels): floats of [0, 1], or uint8."""
    if not should_record_summaries():
        return False
    raw = host(data)
    if raw.ndim != 4:
        raise ValueError(f"tf.summary.image: expected a batch of images with 4 axes, got shape {raw.shape}")
    pixels = raw if raw.dtype == np.uint8 else np.clip(raw.astype(np.float64) * 255.5, 0, 255).astype(np.uint8)
    files = [str(raw.shape[2]).encode(), str(raw.shape[1]).encode(), *map(pictures.encode_png, pixels[:max_outputs])]
    found = np.empty(len(files), object)
    found[:] = files
    return _put(name, found, "images", step, description=description)


def histogram(name: str, data: Any, step: Any = None, buckets: Any = None, description: Any = None) -> bool:
    """Write how values are spread over buckets."""
    if not should_record_summaries():
        return False
    raw = np.asarray(convert(data).array, np.float64).ravel()
    n = int(buckets or 30)
    if not raw.size:
        found = np.zeros((n, 3))
    elif raw.min() == raw.max():
        found = np.zeros((n, 3))
        found[:, :2] = raw[0]
        found[-1, 2] = raw.size
    else:
        count, edges = np.histogram(raw, n)
        found = np.stack([edges[:-1], edges[1:], count], axis=1)
    return _put(name, found, "histograms", step, description=description)


def audio(*args: Any, **words: Any) -> bool:
    """Raises NotImplementedError."""
    raise NotImplementedError("tf.summary.audio: tapegrad writes scalars, text, images, histograms and tensors")


def graph(graph_data: Any = None) -> None:
    """Accepted: there is no graph to write."""


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: Any = None) -> None:
    """Accepted: functions run at once, so there is no graph to trace."""


def trace_export(name: str, step: Any = None, profiler_outdir: Any = None) -> None:
    """Accepted: there is no graph to write."""


def trace_off() -> None:
    """Accepted."""


def _set_step(step: Any) -> None:
    _state.step = step


experimental = Namespace("tapegrad.tf.summary.experimental", "`tf.summary.experimental`.")
vars(experimental).update(set_step=_set_step, get_step=lambda: _state.step)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
