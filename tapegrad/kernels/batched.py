"""A raw array with a batch axis that the program does not see: what `vmap` and batched cotangents compute with."""

from __future__ import annotations

import operator as operators
from typing import TYPE_CHECKING, Any, final

from numpy import asarray, ndarray, zeros

from tapegrad.errors import BatchedValueError

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Level(int):
    """The number of a batch, which tells nested ones apart: those inside others have higher ones.

    * `size`: how many items it has.
    * `name`: of the function that is mapped over it, for messages; empty where rows of a Jacobian are batched.
    * `randomness`: what random functions do inside: "error", "different" or "same".
    """

    size: int
    name: str
    randomness: str


@final
class Batched:
    """Many arrays of one shape, stacked along the first axis of `value`; shape and rank are those of one.

    A value of a lower level, or a plain array, is the same for all of this batch; so is a batch of length 1.

    * `diagonal`: of a batch whose item i is zero but at its own i-th element, as in what seeds a Jacobian, an array of one
      item's shape with those elements; else None.  Its `value` is made only for who asks.
    """

    __slots__ = ("diagonal", "level", "value")
    __array_ufunc__ = None  # an operator of NumPy's array leaves the work to this class

    #: Gives the function of this name on batched values; set where batching is defined.
    function: Callable[[str], Callable[..., Any]]

    def __init__(self, value: Any, level: Level) -> None:
        self.value = value
        self.level = level
        self.diagonal: ndarray[Any, Any] | None = None

    @classmethod
    def of_diagonal(cls, diagonal: ndarray[Any, Any], level: Level) -> Batched:
        """As many items as `diagonal` has elements, each zero but for one of these."""
        made = cls.__new__(cls)
        made.diagonal = diagonal
        made.level = level
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "value" or self.diagonal is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        elements = self.diagonal
        n = elements.size
        rows = zeros((n, n), elements.dtype)
        rows.reshape(-1)[:: n + 1] = elements.reshape(-1)
        self.value = rows.reshape(n, *elements.shape)
        return self.value

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.value.shape[1:] if self.diagonal is None else self.diagonal.shape
        return found

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def dtype(self) -> Any:
        return (self.value if self.diagonal is None else self.diagonal).dtype

    def __getitem__(self, index: Any) -> Any:
        return Batched.function("getitem")(self, index)

    def refused(self, what: str, instead: str) -> BatchedValueError:
        """The error for a use of the batch as if it were one array; `instead` says what to write."""
        level = self.level
        if level.name:
            where = f"inside vmap({level.name}) it has a value for each of {level.size} items"
        else:
            where = f"where rows of a Jacobian are computed together it has a value for each of {level.size}"
        return BatchedValueError(f"{what}: {where}, {self.dtype} {self.shape} each; {instead}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self.refused("x.numpy()", "compute with functions of tapegrad, and look at values outside")

    def __bool__(self) -> bool:
        raise self.refused("bool(x)", "write tapegrad.where(x, a, b) in place of `a if x else b`")

    def __index__(self) -> int:
        raise self.refused(
            "int(x)", "index with the tensor itself, or write tapegrad.take(a, x); it can't be the bound of a slice or a range"
        )

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        raise self.refused("float(x)", "compute with the tensor itself")

    def __repr__(self) -> str:
        return f"Batched({self.value!r}, level={self.level})"


def _computed(name: str, symbol: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflection: NumPy's own where ranks cannot disagree, else the batched function."""

    def operator(self: Batched, other: Any) -> Any:
        if type(other) is ndarray and self.diagonal is None and type(self.value) is ndarray and other.ndim < self.value.ndim:
            return Batched(symbol(self.value, other), self.level)
        return Batched.function(name)(self, other)

    def reflected(self: Batched, other: Any) -> Any:
        if type(other) is ndarray and self.diagonal is None and type(self.value) is ndarray and other.ndim < self.value.ndim:
            return Batched(symbol(other, self.value), self.level)
        return Batched.function(name)(other, self)

    return operator, reflected


def _called(name: str) -> Callable[..., Any]:
    return lambda self, *other: Batched.function(name)(self, *other)


for _name, _function, _symbol in (
    ("add", "add", operators.add),
    ("sub", "subtract", operators.sub),
    ("mul", "multiply", operators.mul),
    ("truediv", "divide", operators.truediv),
):
    for _place, _made in zip(("__{}__", "__r{}__"), _computed(_function, _symbol), strict=True):
        setattr(Batched, _place.format(_name), _made)
for _name, _function in {
    "pow": "pow",
    "mod": "remainder",
    "floordiv": "floor_divide",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
}.items():
    setattr(Batched, f"__{_name}__", _called(_function))
    setattr(Batched, f"__r{_name}__", lambda self, other, name=_function: Batched.function(name)(other, self))
for _name, _function in {
    "neg": "negative",
    "abs": "abs",
    "invert": "bitwise_invert",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}.items():
    setattr(Batched, f"__{_name}__", _called(_function))
Batched.__hash__ = object.__hash__  # type: ignore[method-assign]


def innermost(raw: Any) -> Any:
    """What a batch lies in, of all levels; any other raw value as it is."""
    while type(raw) is Batched:
        raw = raw.value
    return raw


def values_of(raw: Any) -> ndarray[Any, Any]:
    """All values of a raw array, for a look at them: of a batch those of every item."""
    return asarray(innermost(raw))


def is_batched_index(index: Any) -> bool:
    """Whether a part of an index differs within a batch."""
    if type(index) is tuple:
        return any(type(i) is Batched for i in index)
    return type(index) is Batched
