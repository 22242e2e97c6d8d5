"""How long a statement takes: `Timer`, and the `Measurement` that it gives."""

from __future__ import annotations

import statistics
import timeit
from dataclasses import dataclass, field
from typing import Any

from tapegrad.torch import _arrays

__all__ = ["Measurement", "Timer"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@dataclass
class Measurement:
    """What runs of a statement took: `raw_times` in seconds, each for `number_per_run` executions."""

    number_per_run: int
    raw_times: list[float]
    stmt: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: int = 1
    metadata: dict[Any, Any] = field(default_factory=dict)

    @property
    def times(self) -> list[float]:
        """Seconds for one execution, by run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quartile of `times`."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    def __repr__(self) -> str:
        scale, unit = next((u for u in _UNITS if self.median >= u[0]), _UNITS[-1])
        name = ": ".join(part for part in (self.label or self.stmt, self.sub_label) if part)
        runs = len(self.raw_times)
        lines = [f"<{__name__}.Measurement object at {id(self):#x}>", name, *([self.description] if self.description else [])]
        lines.append(f"  {'Median: ' if runs > 1 else ''}{self.median / scale:.2f} {unit}")
        if runs > 1:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        each = f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''} per measurement"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {runs} measurement{'s' if runs > 1 else ''}, {each}, {threads}")
        return "\n".join(lines)


class Timer:
    """Times a statement, which is given as text, as `timeit.Timer` does; it is run once before, to warm up."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Any = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError("Timer(language): tapegrad compiles no C++; write the statement in Python")
        names = {"torch": _arrays.facade(), **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._words: dict[str, Any] = {
            "stmt": stmt, "label": label, "sub_label": sub_label, "description": description, "num_threads": num_threads,
        }  # fmt: skip

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of this many executions."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], **self._words)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Runs of as many executions as the clock asks for, until they have taken `min_run_time` seconds."""
        number = 1
        while self._timer.timeit(number) < min_run_time / 1000 and number < 1 << 40:
            number *= 10
        times: list[float] = []
        while not times or sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, **self._words)
