"""Words for arguments: what is drawn for each, and what stays as it is.

>>> from tapegrad.testing.words import array, word_for
>>> array("b", "n", lo=0)
array('b', 'n', lo=0)
>>> word_for(("b", 3), "x")
array('b', 3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

Dim = str | int


@final
@dataclass(frozen=True, eq=False)
class Word:
    """What an argument looks like.

    * `dims`: its lengths, by name or number; None for any shape.
    * `lo`, `hi`: where its elements lie, ends included.
    * `kind`: "array", "psd", "indices" (below `bound`), "strategy" (of Hypothesis, in `source`).
    """

    dims: tuple[Dim, ...] | None = None
    lo: float = -math.inf
    hi: float = math.inf
    dtype: Any = np.float64
    kind: str = "array"
    bound: Dim = 0
    base: Any = None
    source: Any = None
    fixed: bool = False
    pool: list[Any] = field(default_factory=list)

    @property
    def active(self) -> bool:
        """Whether the argument is differentiated."""
        return not self.fixed and np.dtype(self.dtype).kind in "fcV"

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """The lengths of its dimensions, if it has names for them."""
        return tuple(sizes[d] if isinstance(d, str) else d for d in self.dims or ())

    def __repr__(self) -> str:
        dims = [repr(d) for d in self.dims or ()]
        if self.kind == "indices":
            dims.insert(0, repr(self.bound))
        if self.lo > -math.inf:
            dims.append(f"lo={self.lo:g}")
        if self.hi < math.inf:
            dims.append(f"hi={self.hi:g}")
        if self.kind == "array" and np.dtype(self.dtype) != np.float64:
            dims.append(f"dtype={np.dtype(self.dtype).name!r}")
        return f"{self.kind}({', '.join(dims)})"


@final
class Fixed:
    """An argument that is given as it is, and never differentiated."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"fixed({self.value!r})"


def array(
    *dims: Dim,
    lo: float = -math.inf,
    hi: float = math.inf,
    dtype: Any = None,
    complex: bool = False,
    fixed: bool = False,
) -> Word:
    """An array with these dimensions, by name or number; of any shape if there are none.

    * `lo`, `hi`: where its elements lie; where nobody says, where the function is finite.
    * `dtype`, `complex`: double precision, real, where nobody says.
    * `fixed`: drawn, but not differentiated.

    >>> array("b", 3, lo=0, hi=1)
    array('b', 3, lo=0, hi=1)
    """
    _check_dims("array", dims)
    if not lo < hi:
        raise ArgumentError(f"array(lo=..., hi=...): expected lo < hi, got {lo} and {hi}")
    chosen = dtype_named(dtype if dtype is not None else np.complex128 if complex else np.float64)
    return Word(dims or None, lo, hi, chosen, fixed=fixed or chosen.kind in "iub")


def dtype_named(given: Any) -> Any:
    """NumPy's dtype of a name or a class; bfloat16 too, which `ml_dtypes` has."""
    if str(given).rpartition(".")[2] == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(given)
    except TypeError:
        raise ArgumentError(
            f"array(dtype={given!r}): expected a dtype by its name, such as 'float32', 'float16' or 'bfloat16'"
        ) from None


def broadcast(*, lo: float = -math.inf, hi: float = math.inf, complex: bool = False) -> Word:
    """An array of any shape that broadcasts with the others."""
    return array(lo=lo, hi=hi, complex=complex)


def like(x: Any, *, lo: float = -math.inf, hi: float = math.inf) -> Word:
    """Arrays of the shape and dtype of an example, which is itself the first of them.

    >>> like(np.zeros((2, 3)))
    array(2, 3)
    """
    x = np.asarray(x)
    return Word(x.shape or (), lo, hi, x.dtype, base=x, fixed=x.dtype.kind not in "fcV")


def psd(*dims: Dim, complex: bool = False) -> Word:
    """Symmetric (if complex, Hermitian) positive definite matrices: ``psd("b", "n")`` has the shape (b, n, n)."""
    if not dims:
        raise ArgumentError('psd(): expected the name of a size, psd("n")')
    _check_dims("psd", dims)
    return Word((*dims, dims[-1]), dtype=np.dtype(np.complex128 if complex else np.float64), kind="psd")


def indices(bound: Dim, *dims: Dim) -> Word:
    """Integers from 0 up to a size, of the shape `dims`: ``indices("n", "k")`` are k row numbers of an array of n rows."""
    _check_dims("indices", (bound, *dims))
    return Word(dims, dtype=np.dtype(np.int64), kind="indices", bound=bound, fixed=True)


def fixed(value: Any) -> Fixed:
    """An argument that is given as it is: an axis, a flag, an array that is not differentiated."""
    return Fixed(value)


def _check_dims(word: str, dims: Sequence[Any]) -> None:
    for d in dims:
        good = isinstance(d, str) or (isinstance(d, int) and not isinstance(d, bool) and d >= 0)
        if not good:
            raise ArgumentError(f"{word}({d!r}): a dimension is a name, such as 'n', or a length, such as 3; got {d!r}")
        if isinstance(d, str) and not d.isidentifier():
            raise ArgumentError(f"{word}({d!r}): the name of a dimension is one word; write {word}({_split(d)})")


def _split(text: str) -> str:
    return ", ".join(repr(part) for part in text.replace(",", " ").split()) or "'n'"


def word_for(given: Any, name: str) -> Any:
    """The word that a user's shorthand stands for: a tuple of dimensions, an example, a strategy; else `Fixed`."""
    if isinstance(given, Word | Fixed):
        return given
    if isinstance(given, str):
        raise ArgumentError(
            f"{name}={given!r}: the shape of an argument is a tuple; write {name}=({_split(given)},), or fixed(...)"
        )
    if (
        isinstance(given, tuple)
        and all(isinstance(d, str | int) for d in given)
        and (not given or any(isinstance(d, str) for d in given))
    ):
        _check_dims(name, given)
        return array(*given) if given else Word(())
    if isinstance(given, tuple) and all(type(d) is int for d in given):
        _check_dims(name, given)
        return array(*given)
    if isinstance(given, np.ndarray | np.generic):
        return like(given) if np.asarray(given).dtype.kind in "fcV" else Fixed(given)
    if type(given).__module__.startswith("hypothesis."):
        return Word(kind="strategy", source=given)
    return Fixed(given)
