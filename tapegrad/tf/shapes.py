"""`tf.TensorShape`: a tuple of lengths, of which some may be unknown."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, final

import numpy as np

from tapegrad.tf.errors import invalid


def _length(d: Any) -> int | None:
    if d is None or type(d) is int:
        if d is not None and d < 0:
            raise ValueError(f"Dimension {d} must be >= 0")
        return d
    if isinstance(d, Dimension):
        return d.value
    try:
        found = d.__index__()
    except AttributeError:
        raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value '{d!r}'") from None
    return _length(int(found))


class Dimension:
    """A length of its own, as TensorFlow 1 had it."""

    def __init__(self, value: Any) -> None:
        self.value = _length(value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dimension) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("an unknown Dimension is no index")
        return self.value

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __reduce__(self) -> Any:
        return Dimension, (self.value,)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be one length."""
        other = as_dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError where both cannot be one length."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """What is known of both; raises ValueError where they differ."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(self.value if other.value is None else other.value)


def as_dimension(x: Any) -> Dimension:
    """A length as one of its own."""
    return x if isinstance(x, Dimension) else Dimension(x)


def _give_operators() -> None:
    """Give `Dimension` arithmetic and comparisons: what is not known of one length is not known of the result."""

    def made(compute: Any, wrap: Any, *, turned: bool = False) -> Any:
        def between(self: Dimension, other: Any) -> Any:
            try:
                x, y = self.value, as_dimension(other).value
            except (TypeError, ValueError):
                return NotImplemented
            if x is None or y is None:
                return wrap(None)
            return wrap(compute(y, x) if turned else compute(x, y))

        return between

    for name in ("add", "sub", "mul", "floordiv", "mod"):
        setattr(Dimension, f"__{name}__", made(getattr(operator, name), Dimension))
        setattr(Dimension, f"__r{name}__", made(getattr(operator, name), Dimension, turned=True))
    for name in ("lt", "le", "gt", "ge"):
        setattr(Dimension, f"__{name}__", made(getattr(operator, name), lambda found: found))


_give_operators()


@final
class TensorShape(tuple[Any, ...]):
    """The lengths of the axes of a tensor: a tuple of integers, with None for unknown ones.

    `TensorShape(None)` has an unknown number of axes.
    """

    _unknown = False

    def __new__(cls, dims: Any) -> TensorShape:
        if type(dims) is cls:
            return dims
        if dims is None:
            made = tuple.__new__(cls, ())
            made._unknown = True
            return made
        if isinstance(dims, (int, np.integer)):
            dims = (dims,)
        if hasattr(dims, "as_list") or not isinstance(dims, Iterable):
            dims = dims.as_list()
        return tuple.__new__(cls, map(_length, dims))

    @property
    def rank(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return None if self._unknown else tuple.__len__(self)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The lengths, each as a `Dimension`."""
        return None if self._unknown else [Dimension(d) for d in tuple.__iter__(self)]

    def as_list(self) -> list[int | None]:
        """The lengths, as a list."""
        if self._unknown:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(tuple.__iter__(self))

    def num_elements(self) -> int | None:
        """The number of elements; None if it is unknown."""
        return math.prod(self) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Whether all lengths are known."""
        return not self._unknown and None not in tuple(self)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether a tensor could have both shapes."""
        other = TensorShape(other)
        if self._unknown or other._unknown:
            return True
        return tuple.__len__(self) == tuple.__len__(other) and all(
            a is None or b is None or a == b for a, b in zip(tuple(self), tuple(other), strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError where no tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every tensor of this shape has the other one too."""
        other = TensorShape(other)
        if other._unknown:
            return True
        return self.rank == other.rank and all(b is None or a == b for a, b in zip(tuple(self), tuple(other), strict=True))

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError where the number of axes is known and another one."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raises ValueError where both numbers of axes are known and differ."""
        other = TensorShape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError where a length is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def with_rank(self, rank: int) -> TensorShape:
        """The shape, if it can have that many axes; raises ValueError otherwise."""
        if self._unknown:
            return TensorShape([None] * rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The shape, if it can have at least that many axes; raises ValueError otherwise."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def merge_with(self, other: Any) -> TensorShape:
        """What is known from both shapes; raises ValueError where they contradict each other."""
        other = TensorShape(other)
        if self._unknown:
            return other
        if other._unknown:
            return self
        self.assert_is_compatible_with(other)
        return TensorShape([b if a is None else a for a, b in zip(tuple(self), tuple(other), strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """The axes of this shape and then those of another."""
        other = TensorShape(other)
        if self._unknown or other._unknown:
            return TensorShape(None)
        return TensorShape((*self, *other))

    def most_specific_common_supertype(self, others: Any) -> TensorShape:
        """What all these shapes have in common."""
        shapes = [self, *map(TensorShape, others)]
        if any(s.rank != self.rank for s in shapes) or self._unknown:
            return TensorShape(None)
        return TensorShape([ds[0] if len(set(ds)) == 1 else None for ds in zip(*shapes, strict=True)])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The shape that has this one and another: unknown where they differ."""
        return self.most_specific_common_supertype([other])

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if self._unknown:
            return TensorShape(None) if isinstance(key, slice) else None
        found = tuple.__getitem__(self, key)
        return tuple.__new__(TensorShape, found) if isinstance(key, slice) else found

    def __len__(self) -> int:
        if self._unknown:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return tuple.__len__(self)

    def __bool__(self) -> bool:
        return not self._unknown

    def __eq__(self, other: object) -> bool:
        if type(other) is int:
            other = (other,)
        if not isinstance(other, tuple | list) and other is not None:
            return NotImplemented
        if isinstance(other, TensorShape) and (self._unknown or other._unknown):
            return self._unknown and other._unknown
        if self._unknown or other is None:
            return self._unknown and other is None
        return tuple.__eq__(self, tuple(other))

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __reduce__(self) -> Any:
        return TensorShape, (None if self._unknown else tuple(self),)

    def __str__(self) -> str:
        return "<unknown>" if self._unknown else tuple.__repr__(self)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._unknown else list(self)})"


def shape_of(raw: Any) -> TensorShape:
    """The shape of a raw array, whose lengths need no check."""
    return tuple.__new__(TensorShape, raw.shape)


def lengths(shape: Any) -> tuple[int, ...]:
    """A shape as a user gives it: a list, a tuple, an integer, a tensor of integers, or these nested, as plain integers."""
    if type(shape) is TensorShape:
        if not shape.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
        return tuple(shape)
    if shape is None or (isinstance(shape, list | tuple) and None in shape):
        raise ValueError(
            "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor: "
            f"a shape has a number for each axis, got {shape!r}"
        )
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if hasattr(shape, "numpy"):
        shape = shape.numpy()
    if isinstance(shape, np.ndarray | np.generic):
        if shape.ndim > 1:
            raise invalid(None, f"dims must represent a vector, got shape [{','.join(map(str, shape.shape))}]")
        return tuple(int(n) for n in np.atleast_1d(shape))
    try:
        return tuple([n if type(n) is int else int(n) if isinstance(n, np.integer) else n.__index__() for n in shape])
    except (AttributeError, TypeError):
        if isinstance(shape, list | tuple) and (size := np.shape(shape))[1:]:
            raise invalid(None, f"dims must represent a vector, got shape [{','.join(map(str, size))}]") from None
        if isinstance(shape, list | tuple) and any(hasattr(n, "numpy") for n in shape):  # TensorFlow casts what it has to stack
            return tuple(int(n) for n in shape)
        text = f"Cannot convert {shape!r} to a shape: expected integers"
    raise TypeError(text)
