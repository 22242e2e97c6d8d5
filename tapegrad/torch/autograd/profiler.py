"""`torch.autograd.profiler`: how often each op ran and how long it took.

Nothing is measured while no profiler is in force: one that is listens to Python's own profiling events, and picks the calls of
the facade's functions and ops, which it knows by the names of their code.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
from typing import Any, NamedTuple

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._missing import refusing

_FUNCTION, _OP = "<tapegrad.torch: ", "<tapegrad op "
_ATEN = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg", "concat": "cat", "bitwise_invert": "bitwise_not",
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
    "permute_dims": "permute", "expand_dims": "unsqueeze", "broadcast_to": "expand", "astype": "to", "getitem": "index",
    "put": "index_put_",
}  # fmt: skip
_ACTIVE: list[_Listener] = []
_LOCK = threading.Lock()


class Interval(NamedTuple):
    """From when to when something was, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


class _Times:
    """How long something took, as tables show it."""

    cpu_time: Any
    cpu_time_total: Any
    self_cpu_time_total: Any

    @property
    def cpu_time_str(self) -> str:
        """The mean of a call."""
        return _text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """From beginning to end."""
        return _text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """Without the calls inside."""
        return _text(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call: what it was, when it began and ended, in microseconds."""

    def __init__(self, name: str, start: float, thread: int, parent: FunctionEvent | None, number: int = 0) -> None:
        self.name = self.key = self.trace_name = name
        self.id = number
        self.is_user_annotation = "::" not in name
        self.start = start
        self.end = start
        self.thread = thread
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.count = 1
        self.input_shapes: list[Any] = []
        self.is_async = False

    @property
    def time_range(self) -> Interval:
        """From when to when it ran."""
        return Interval(self.start, self.end)

    @property
    def cpu_time_total(self) -> float:
        """From beginning to end."""
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:
        """The same without the calls inside."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    cpu_time = cpu_time_total
    device_time_total = self_device_time_total = 0.0

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={_text(self.cpu_time_total)} thread={self.thread}>"


def _shapes(frame: Any) -> list[Any]:
    """The shapes of the arguments of a call, in their order; an empty list for what has none."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = frame.f_locals
    return [_shape(given[n]) for n in names if n != "out" and given.get(n) is not None]


def _shape(x: Any) -> list[Any]:
    if isinstance(x, Core):
        return list(x.read()[0].shape)
    if isinstance(x, (list, tuple)) and x and all(isinstance(v, Core) for v in x):
        return [_shape(v) for v in x]
    return []


class _Listener:
    """Collects events of all threads; with the shapes of what they were given, if `shapes`."""

    def __init__(self, shapes: bool = False) -> None:
        self.shapes = shapes
        self.events: list[FunctionEvent] = []
        self.stacks: dict[int, list[tuple[Any, FunctionEvent]]] = {}

    def begin(self, key: Any, name: str, shapes: list[Any] | None = None) -> None:
        thread = threading.get_ident()
        stack = self.stacks.setdefault(thread, [])
        parent = stack[-1][1] if stack else None
        event = FunctionEvent(name, time.perf_counter() * 1e6, thread, parent, len(self.events))
        if shapes is not None:
            event.input_shapes = shapes
        if parent is not None:
            parent.cpu_children.append(event)
        stack.append((key, event))
        self.events.append(event)

    def end(self, key: Any) -> None:
        stack = self.stacks.get(threading.get_ident())
        if stack and stack[-1][0] == key:
            stack.pop()[1].end = time.perf_counter() * 1e6

    def __call__(self, frame: Any, what: str, _: Any) -> None:
        if what not in ("call", "return") or frame.f_code.co_name == "<module>":  # text that is being compiled
            return
        path = frame.f_code.co_filename
        if path.startswith(_FUNCTION):
            name = path[len(_FUNCTION) : -1].rpartition(".")[2]
        elif path.startswith(_OP):
            caller = frame.f_back
            if caller is not None and caller.f_code.co_filename.startswith((_FUNCTION, _OP)):
                return
            name = path[len(_OP) :].partition(" ")[0].rstrip(">")
        else:
            return
        if what == "call":
            self.begin(id(frame), f"aten::{_ATEN.get(name, name)}", _shapes(frame) if self.shapes else None)
        else:
            self.end(id(frame))


def _step(node: Any, g: Any, pull: Any) -> None:
    from tapegrad.torch._node_names import name_of

    listeners = list(_ACTIVE)
    name = name_of(node)
    for listener in listeners:
        listener.begin(id(node), f"autograd::engine::evaluate_function: {name}")
        listener.begin(id(g), name)
    try:
        pull(node, g)
    finally:
        for listener in reversed(listeners):
            listener.end(id(g))
            listener.end(id(node))


def _listen(listener: _Listener, on: bool) -> None:
    from tapegrad.torch import _watching

    with _LOCK:
        if on:
            _ACTIVE.append(listener)
        else:
            _ACTIVE.remove(listener)
        hook = _ACTIVE[-1] if _ACTIVE else None
    sys.setprofile(hook)
    threading.setprofile(hook)
    if _watching.STEP[0] in (None, _step):
        _watching.STEP[0] = _step if hook is not None else None


class record_function:
    """A context, or a decorator, that gives what runs inside a name in the profile."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        for listener in _ACTIVE:
            listener.begin(id(self), self.name)
        return self

    def __exit__(self, *_: object) -> None:
        for listener in _ACTIVE:
            listener.end(id(self))

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            with record_function(self.name):
                return function(*args, **words)

        return wrapped


class FunctionEventAvg(_Times):
    """All calls of one name."""

    def __init__(self, key: str, events: list[FunctionEvent]) -> None:
        self.key = self.name = key
        self.count = len(events)
        self.self_cpu_time_total = sum(e.self_cpu_time_total for e in events)
        self.cpu_time_total = sum(e.cpu_time_total for e in events if not _inside_same(e))
        self.input_shapes: list[Any] = []
        self.is_user_annotation = all(e.is_user_annotation for e in events)
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """The mean of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_text(self.self_cpu_time_total)} cpu_time={_text(self.cpu_time)} "
            f"count={self.count}>"
        )


def _inside_same(event: FunctionEvent) -> bool:
    parent = event.cpu_parent
    while parent is not None:
        if parent.name == event.name:
            return True
        parent = parent.cpu_parent
    return False


def _text(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class EventList(list[Any]):
    """Events, or sums of them, that can be shown as a table."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all."""
        return float(sum(e.self_cpu_time_total for e in self))

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The calls of each name together, or of each name and shapes."""
        groups: dict[Any, list[FunctionEvent]] = {}
        for e in self:
            groups.setdefault((e.key, str(e.input_shapes) if group_by_input_shapes else ""), []).append(e)
        made = EventList()
        for (key, _), events in groups.items():
            made.append(FunctionEventAvg(key, events))
            if group_by_input_shapes:
                made[-1].input_shapes = events[0].input_shapes
        return made

    def total_average(self) -> FunctionEventAvg:
        """All calls together."""
        return FunctionEventAvg("Total", list(self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events, a line for each, the longest first if `sort_by` says so."""
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by.replace("cuda", "device")), reverse=True)
        if row_limit >= 0:
            rows = rows[:row_limit]
        total = sum(e.self_cpu_time_total for e in self) or 1.0
        names: tuple[str, ...] = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
        with_shapes = any(e.input_shapes for e in self)
        if with_shapes:
            names = (*names, "Input Shapes")
        body = [
            (
                e.key if len(e.key) <= max_name_column_width else e.key[: max_name_column_width - 3] + "...",
                f"{100 * e.self_cpu_time_total / total:.2f}%",
                _text(e.self_cpu_time_total),
                f"{100 * e.cpu_time_total / total:.2f}%",
                _text(e.cpu_time_total),
                _text(e.cpu_time_total / e.count),
                str(e.count),
                *([str(e.input_shapes)[:max_shapes_column_width]] if with_shapes else []),
            )
            for e in rows
        ]
        widths = [max(len(r[i]) for r in [names, *body]) + 2 for i in range(len(names))]
        rule = "  ".join("-" * w for w in widths)
        lines = [rule, "  ".join(n.rjust(w) for n, w in zip(names, widths, strict=True)), rule]
        lines += ["  ".join(v.rjust(w) for v, w in zip(r, widths, strict=True)) for r in body]
        head = [header] if header else []
        return "\n".join([*head, *lines, rule, f"Self CPU time total: {_text(total)}", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the format of Chrome's tracing."""
        pid = os.getpid()
        events = [
            {
                "ph": "X", "cat": "cpu_op" if "::" in e.name else "user_annotation", "name": e.name, "pid": pid, "tid": e.thread,
                "ts": e.start, "dur": e.cpu_time_total,
                "args": {"External id": i, "Ev Idx": i, **({"Input Dims": e.input_shapes} if e.input_shapes else {})},
            }
            for i, e in enumerate(self)
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceName": path, "traceEvents": events}, f)

    def __str__(self) -> str:
        return self.table()


class profile:
    """A context that notes each op that runs inside."""

    def __init__(self, enabled: bool = True, **words: Any) -> None:
        self.enabled = enabled
        self.with_stack = bool(words.get("with_stack"))
        self._listener = _Listener(bool(words.get("record_shapes")))
        self.function_events: EventList | None = None
        self.entered = False

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            _listen(self._listener, True)
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            _listen(self._listener, False)
            self.function_events = EventList(self._listener.events)

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **_: Any) -> EventList:
        """The calls of each name together."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def events(self) -> EventList:
        """All calls, in the order in which they began."""
        return self._events()

    def total_average(self) -> FunctionEventAvg:
        """All calls together."""
        return self._events().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **words: Any) -> str:
        """The events, a line for each."""
        return self._events().table(sort_by=sort_by, row_limit=row_limit, **words)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the format of Chrome's tracing."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all that was noted."""
        return self._events().self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    __str__ = __repr__


class emit_nvtx:
    """There is no GPU here to mark ranges on."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        raise RuntimeError("emit_nvtx needs CUDA, which tapegrad's NumPy kernels do not have")


__getattr__ = refusing(globals())

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_nvtx", "profile", "record_function"]
