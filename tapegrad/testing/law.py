"""What a law is: a check of a `Case` that raises `LawError`, entered into a table; and how results are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.numeric import eps_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.registry.op import Op
    from tapegrad.testing.case import Case

    Check = Callable[[Case], None]
    Condition = Callable[[Op], bool]


class LawError(AssertionError):
    """An op breaks a law."""


class Unresolved(Exception):
    """Neither kept nor broken can be said for these arguments: draw others."""


@final
class Law:
    """One law: its name, its check, and which ops it is for.

    With `complex`, it is for complex arguments too.
    """

    __slots__ = ("applies", "check", "complex", "name")

    def __init__(self, check: Check, applies: Condition, complex: bool) -> None:
        self.name = check.__name__
        self.check = check
        self.applies = applies
        self.complex = complex

    def __call__(self, case: Case) -> None:
        """Raise LawError unless the law holds, whatever goes wrong; Unresolved if that cannot be said."""
        try:
            self.check(case)
        except (LawError, Unresolved) as found:
            found.add_note(f"{self.name} of {case!r}, from {case.draw!r}")
            raise
        except Exception as error:
            raise LawError(f"{type(error).__name__}: {error}\n{self.name} of {case!r}, from {case.draw!r}") from error

    def takes_complex(self, op: Op) -> bool:
        """Whether complex arguments are drawn for this op too: not for steps, most of which have no order there."""
        return self.complex and not op.real and op.kind != "constant"

    def __repr__(self) -> str:
        return f"<law {self.name}>"


LAWS: dict[str, Law] = {}


def law(applies: Condition, *, complex: bool = True) -> Callable[[Check], Check]:
    """Enter a check into the table.  With `complex`, it is for complex arguments too, where the op takes them."""

    def enter(check: Check) -> Check:
        LAWS[check.__name__] = Law(check, applies, complex)
        return check

    return enter


def testable(op: Op) -> bool:
    """Whether arguments can be drawn: only what stands for itself inside a batch says where else it is tested."""
    return not isinstance(op.laws, str)


def differentiable(op: Op) -> bool:
    return testable(op) and op.kind != "constant"


# -- comparing ---------------------------------------------------------------------------------------
def eps_of(*groups: Sequence[Any]) -> float:
    """The coarsest rounding among floating arrays."""
    return max((eps_in(x.dtype) for group in groups for x in group if x is not None), default=0.0)


def wide(x: Any) -> Any:
    """In double precision."""
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def difference(a: Any, b: Any, scale: float = 0.0) -> float:
    """The largest difference of two arrays, relative to their largest element or `scale`; NaN is equal to NaN."""
    if (a is None) != (b is None):
        return np.inf
    if a is None:
        return 0.0
    if np.shape(a) != np.shape(b):
        return np.inf
    x, y = wide(a), wide(b)
    if not x.size:
        return 0.0
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        d = np.where(same, 0.0, np.abs(x - y))
        finite = np.abs(y)[np.isfinite(y)]
    largest = float(np.max(d))
    return largest / max(scale, float(np.max(finite, initial=0.0)), 1e-300) if largest else 0.0


def same(found: Sequence[Any], expected: Sequence[Any], rtol: float, what: str, *, scale: float = 0.0) -> None:
    """Refuse lists of arrays that differ by more than `rtol` of their largest elements, or of `scale` if that is more."""
    if len(found) != len(expected):
        raise LawError(f"{what}: {len(found)} arrays, expected {len(expected)}")
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        d = difference(a, b, scale)
        if not d <= rtol:
            raise LawError(
                f"{what} [{i}]: differs by {d:.1e} (allowed {rtol:.1e})\n  got      {_brief(a)}\n  expected {_brief(b)}"
            )


def _brief(x: Any) -> str:
    return (
        "None"
        if x is None
        else f"{x.dtype} {np.shape(x)} {np.array2string(np.asarray(x), threshold=12, separator=', ')}"
    )


def largest(xs: Sequence[Any]) -> float:
    """The largest absolute value in a list of arrays."""
    return max((float(np.max(np.abs(wide(x)), initial=0.0)) for x in xs if x is not None), default=0.0)


def fits(found: Sequence[Any], like: Sequence[Any], what: str) -> None:
    """Refuse arrays that have another shape or dtype than those of `like`; None is allowed."""
    for i, (c, x) in enumerate(zip(found, like, strict=True)):
        if c is not None and (c.shape != np.shape(x) or c.dtype != x.dtype):
            raise LawError(f"{what} [{i}]: is {c.dtype} {c.shape}, expected {x.dtype} {np.shape(x)}")
