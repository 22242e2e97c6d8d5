"""What looks like writing into a tensor: a new value is computed, and the tensor object takes it as its own.

What was recorded before refers to raw values and nodes, never to the object, so it is untouched; what comes after
sees the new value with its history, the write among it.  Views made earlier keep the old values.  As a source of a
gradient, a tensor that was watched means the value that was watched: elements overwritten since have gradient zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.recorder import refcount
from tapegrad.core.tensor import Tensor
from tapegrad.core.watching import rebound
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.kernels.batched import is_batched_index
from tapegrad.ops.convert import asarray
from tapegrad.registry.op import OPS
from tapegrad.registry.space import SCALARS, F

if TYPE_CHECKING:
    from collections.abc import Callable

#: Kinds of dtypes, in the order in which values pass without losing what they are.
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def rebind(x: Tensor, y: Tensor) -> None:
    """Let `x` be what `y` is."""
    x.array, x.node, x.like = y.array, rebound(y.node, x.node), None


def fitting(x: Tensor, value: Any, what: str) -> Tensor:
    """A value in the dtype of `x`, refused where it would lose its fraction, its imaginary part or its derivative."""
    if type(value) in SCALARS and _RANKS[np.dtype(type(value)).kind] <= _RANKS[x.dtype.kind]:
        return asarray(x.dtype.type(value))  # refuses an integer that does not fit
    v = asarray(value)
    if v.dtype == x.dtype:
        return v
    if _RANKS[v.dtype.kind] > _RANKS[x.dtype.kind]:
        raise DTypeError(
            f"{what}: expected a value that {x.dtype} can hold, got {v.dtype}; "
            f"write tapegrad.astype(value, ...), or make x of dtype {np.result_type(x.dtype, v.dtype)}"
        )
    return F.astype(v, x.dtype)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Overwrite elements: their derivative is zero from here on, the value's share is its own.

    Where an index picks an element more than once, the last value stays, and it alone has a derivative.
    """
    v = fitting(x, value, "x[index] = value")
    if is_batched_index(index):
        from tapegrad.ops import picking

        rebind(x, picking.put(x, v, index))
        return
    if x.node is None and v.node is None and is_alone(x):
        try:
            x.array[index] = v.array
        except (ValueError, IndexError):
            rebind(x, OPS["put"].entry(x, v, index))  # says what is wrong
        return
    rebind(x, OPS["put"].entry(x, v, index))


def in_place(name: str) -> Callable[[Tensor, Any], Tensor]:
    """The operator that leaves its result in its left operand, whose shape and dtype do not change."""
    op = OPS[name].entry

    def apply(self: Tensor, other: Any) -> Tensor:
        y = op(self, other)
        if y.shape != self.shape:
            raise ShapeError(f"{name} in place: expected a result of shape {self.shape}, got {y.shape}")
        rebind(self, fitting(self, y, f"{name} in place"))
        return self

    return apply


# -- writing where nobody can tell ---------------------------------------------------------------------
def is_alone(x: Tensor) -> bool:
    """Whether nothing but this tensor refers to its raw array, so that writing into it cannot be noticed."""
    raw = x.array
    return type(raw) is np.ndarray and raw.flags.owndata and raw.flags.writeable and refcount(raw) <= _ALONE


def _count_when_alone() -> int:
    """What `getrefcount` answers in `is_alone` for an array that only the tensor refers to."""
    holder = Tensor()
    holder.array = np.zeros(1)
    raw = holder.array
    return refcount(raw)


_ALONE = _count_when_alone()

__all__ = ["fitting", "in_place", "is_alone", "rebind", "setitem"]
