"""`torch.profiler`: `autograd.profiler` with a schedule of steps."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tapegrad.torch._missing import refusing
from tapegrad.torch.autograd.profiler import profile as _profile
from tapegrad.torch.autograd.profiler import record_function

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """Where what is measured runs."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What is done at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps are recorded: after `wait` and `warmup` steps, `active` ones; `repeat` times, or always for 0."""

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        turn, at = divmod(step, wait + warmup + active)
        if (repeat and turn >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """A handler that writes each recording into a folder, as a trace that Chrome and TensorBoard show."""
    import os
    import time

    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or os.getpid()}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile(_profile):
    """What runs inside, measured; with a schedule, in the steps that it says, each ended by `step()`."""

    def __init__(
        self, *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None, **words: Any
    ) -> None:
        self._words = {k: v for k, v in words.items() if k in ("record_shapes", "with_stack", "profile_memory")}
        super().__init__(**self._words)
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._on = False

    def _wanted(self) -> bool:
        action = ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)
        return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def start(self) -> None:
        """Begin."""
        if self._wanted() and not self._on:
            super().__init__(**self._words)  # each recording is one of its own
            super().__enter__()
            self._on = True

    def stop(self) -> None:
        """End, and hand over what was recorded."""
        if self._on:
            super().__exit__(None, None, None)
            self._on = False
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def step(self) -> None:
        """End a step."""
        last = self.schedule is not None and self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        if last or (self._on and not self._wanted()):
            self.stop()
        self.start()


__getattr__ = refusing(globals())
