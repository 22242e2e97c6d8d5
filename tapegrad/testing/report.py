"""What a check says: one line if all is well, and else what is wrong, at which smallest input, and what to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import TapegradError
from tapegrad.testing.outcome import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.testing.inputs import Point
    from tapegrad.testing.outcome import Failure


class GradientCheckError(TapegradError, AssertionError):
    """A derivative is wrong; the message is the report, `result` has its parts."""

    def __init__(self, result: Result) -> None:
        super().__init__(str(result))
        self.result = result


@final
class Result:
    """What a check found.

    * `ok`: no property fails; `failure`, `point`: the first that does, at the smallest input found.
    * `checks`, `unresolved`, `refused`: numbers of property checks, of those that nothing could be said of, of inputs
      that the function does not take; `properties`: how often each was looked at.
    * `swept`: number of points of the sweep; `seconds`: processor time.
    """

    def __init__(self, name: str, profile: str, seed: int) -> None:
        self.name = name
        self.profile = profile
        self.seed = seed
        self.properties: dict[str, int] = {}
        self.unresolved = 0
        self.refused = 0
        self.inputs = 0
        self.swept = 0
        self.decided = 0
        self.seconds = 0.0
        self.failure: Failure | None = None
        self.point: Point | None = None
        self.lines: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.mutants: Any = None

    @property
    def ok(self) -> bool:
        return self.failure is None

    @property
    def checks(self) -> int:
        return sum(self.properties.values())

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.failure is None:
            return self._short()
        lines = [("property", self.failure.property), *self.lines]
        width = max(13, *(len(key) + 2 for key, _ in lines))
        first = f"{self.name}: {self.failure.what}"
        body = [f"  {key:{width}}{text}" for key, text in lines]
        return "\n".join([first, *body])

    def _short(self) -> str:
        swept = f" + {self.swept:,} swept points" if self.swept else ""
        text = (
            f"ok: {self.checks:,} checks, {len(self.properties)} properties, {self.inputs} inputs{swept}, "
            f"{self.unresolved} unresolved, {self.seconds * 1e3:.0f} ms"
        )
        return "\n".join([text, *self.notes, *([str(self.mutants)] if self.mutants is not None else [])])


def argument_lines(point: Point, names: Sequence[str], gs: Sequence[Any]) -> list[tuple[str, str]]:
    """The input, and the cotangent."""
    lines = []
    for name, x in zip(names, point.xs, strict=True):
        kind = (
            f"   {x.dtype}, shape {x.shape}"
            if isinstance(x, np.ndarray) and (x.dtype != np.float64 or x.ndim != 1)
            else ""
        )
        lines.append((name, f"{_shown(x)}{kind}"))
    if gs:
        lines.append(("cotangent", ", ".join(_shown(g) for g in gs)))
    return lines


def _shown(x: Any) -> str:
    return f"array({brief(x, digits=12)})" if isinstance(x, np.ndarray) else repr(x)


def reproduction(
    name: str, point: Point, keys: Sequence[str | int], arguments: Sequence[Any], gs: Sequence[Any], rest: str
) -> str:
    """A line that shows the failure in a fresh process."""
    given = [code(a) if isinstance(k, int) else f"{k}={code(a)}" for k, a in zip(keys, arguments, strict=True)]
    if gs:
        made = code(gs[0]) if len(gs) == 1 else f"[{', '.join(map(code, gs))}]"
        given.append(f"cotangent={made}")
    return f"check({', '.join([name, *given])}{rest})"


def code(x: Any) -> str:
    """Python for a value."""
    if isinstance(x, np.ndarray):
        if x.size > 64:
            return f"np.array(...)  # {x.shape}"
        text = np.array2string(x, separator=", ", threshold=10_000, floatmode="unique", max_line_width=10**6).replace(
            "\n", ""
        )
        text = text.replace("nan", "np.nan").replace("inf", "np.inf")
        if x.size == 0:
            return f"np.zeros({x.shape})"
        kind = (
            ""
            if x.dtype in (np.float64, np.complex128, np.int64) and "." in text + "." * (x.dtype.kind == "i")
            else f", {x.dtype.name!r}"
        )
        return f"np.array({text}{kind})"
    if isinstance(x, list | tuple):
        inner = ", ".join(map(code, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {code(v)}" for k, v in x.items()) + "}"
    return repr(x)
