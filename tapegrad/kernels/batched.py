"""A raw array with a batch axis that the program does not see: what `vmap` and batched cotangents compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Batched:
    """Many arrays of one shape, stacked along the first axis of `value`; shape and rank are those of one.

    `level` tells nested batches apart: a value of a lower level, or a plain array, is the same for all of this batch.
    """

    __slots__ = ("level", "value")
    __array_ufunc__ = None  # an operator of NumPy's array leaves the work to this class

    #: Gives the function of this name on batched values; set where batching is defined.
    function: Callable[[str], Callable[..., Any]]

    def __init__(self, value: Any, level: int) -> None:
        self.value = value
        self.level = level

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.value.shape[1:]
        return found

    @property
    def ndim(self) -> int:
        return len(self.value.shape) - 1

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def __getitem__(self, index: Any) -> Any:
        return Batched.function("getitem")(self, index)

    def __repr__(self) -> str:
        return f"Batched({self.value!r}, level={self.level})"


def _operator(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    if reflected:
        return lambda self, other: Batched.function(name)(other, self)
    return lambda self, *other: Batched.function(name)(self, *other)


for _name, _function in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "pow",
    "mod": "remainder",
    "floordiv": "floor_divide",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
}.items():
    setattr(Batched, f"__{_name}__", _operator(_function))
    setattr(Batched, f"__r{_name}__", _operator(_function, reflected=True))
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
    setattr(Batched, f"__{_name}__", _operator(_function))
Batched.__hash__ = object.__hash__  # type: ignore[method-assign]
