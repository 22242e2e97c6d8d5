"""Lengths of axes that only a running graph knows, and shapes that have some among them."""

from __future__ import annotations

import sys
from typing import Any, final

import tensorflow as tf

from tapegrad.errors import OpenLengthError
from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_calls import EAGER, F64, cast, scalar

_SHAPE = calls.op("Shape")
_PACK = calls.op("Pack")
_SLICE = calls.op("StridedSlice")


@final
class Size:
    """The length of an axis of a symbolic tensor, as an integer that the graph computes; arithmetic makes others.

    It is equal to itself; of two lengths that may be equal nothing is known while the graph is built.  A program that asks is
    told so by OpenLengthError; tapegrad's own modules, to which `==` means "is known to be equal", get False.
    """

    __slots__ = ("bare",)

    def __init__(self, bare: Any) -> None:
        self.bare = bare  # 0-d, int32

    def __index__(self) -> int:
        raise OpenLengthError(
            "a length is not known while tf.function traces the program (its dimension is None), and is wanted as a Python "
            "integer here; give it in the input_signature of tf.function, or the `shapes` of tapegrad.function"
        )

    __int__ = __float__ = __index__

    def __repr__(self) -> str:
        return "?"

    __hash__ = object.__hash__


@final
class Ratio:
    """A Python float that only the running graph knows: what a `Size` is divided by, or multiplied with."""

    __slots__ = ("bare",)

    def __init__(self, bare: Any) -> None:
        self.bare = bare  # 0-d, float64

    def __neg__(self) -> Ratio:
        return Ratio(_NEGATIVE(self.bare))

    def __abs__(self) -> Ratio:
        return Ratio(_ABS(self.bare))

    def __repr__(self) -> str:
        return "?"

    __hash__ = object.__hash__


_NEGATIVE, _ABS = calls.one("Neg"), calls.one("Abs")
#: Numbers of the running graph; they are weak, as Python's are.
SYMBOLIC = frozenset([Size, Ratio])


def _between_numbers(name: str, *, integral: bool) -> Any:
    run = calls.two(name)

    def computed(a: Any, b: Any) -> Any:
        if integral and type(a) in (int, Size) and type(b) in (int, Size):
            return Size(run(_size_bare(a), _size_bare(b)))
        return Ratio(run(_ratio_bare(a), _ratio_bare(b)))

    def operator(self: Any, other: Any) -> Any:
        return computed(self, other) if type(other) in (int, float, Size, Ratio) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return computed(other, self) if type(other) in (int, float) else NotImplemented

    return operator, reflected


for _name, _op in {
    **{"add": "AddV2", "sub": "Sub", "mul": "Mul", "floordiv": "FloorDiv", "mod": "FloorMod"},
    **{"truediv": "RealDiv", "pow": "Pow"},
}.items():
    for _kind in (Size, Ratio):
        for _place, _method in zip(
            ("__{}__", "__r{}__"), _between_numbers(_op, integral=_name not in ("truediv", "pow")), strict=True
        ):
            setattr(_kind, _place.format(_name), _method)


def _unknown(what: str) -> OpenLengthError:
    return OpenLengthError(
        f"a length is {what}, and is not known while tf.function traces the program (its dimension is None); "
        "give it in the input_signature of tf.function, or the `shapes` of tapegrad.function"
    )


def _unordered(self: Any, other: Any) -> Any:
    raise _unknown(f"compared with {other!r}")


def _asked_by_program() -> bool:
    """Whether a comparison stands in a module that is none of tapegrad's; what is generated for ops is in no module."""
    module = sys._getframe(2).f_globals.get("__name__")
    return module is not None and not module.startswith("tapegrad.")


def _equal(self: Any, other: Any) -> Any:
    if self is other:
        return True
    if type(other) in (int, float, Size, Ratio) and _asked_by_program():
        raise _unknown(f"compared with {other!r}")
    return NotImplemented


def _true(self: Any) -> bool:
    if _asked_by_program():
        raise _unknown("asked whether it is 0")
    return True


for _kind in (Size, Ratio):
    for _method_name, _meaning in {
        **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__"), _unordered),
        **{"__eq__": _equal, "__bool__": _true},
    }.items():
        setattr(_kind, _method_name, _meaning)


def _size_bare(n: Any) -> Any:
    return n.bare if type(n) is Size else calls.number(n)


def _ratio_bare(n: Any) -> Any:
    if type(n) is Ratio:
        return n.bare
    return cast(n.bare, F64) if type(n) is Size else scalar(float(n), F64)


def shape_of(bare: Any) -> tuple[Any, ...]:
    if type(bare) is EAGER:
        return bare._shape_tuple()  # a seventh of the time of `tuple(bare.shape)`
    static = bare.shape
    if static.rank is None:
        raise TypeError("expected a symbolic tensor of known rank; give it one with tf.ensure_shape")
    if static.is_fully_defined():
        return tuple(static)
    lengths = _SHAPE(bare, out_type=tf.int32)
    return tuple(Size(_at(lengths, i)) if n is None else n for i, n in enumerate(static))


def _at(lengths: Any, i: int) -> Any:
    return _SLICE(lengths, calls.ints((i,)), calls.ints((i + 1,)), calls.ints((1,)), shrink_axis_mask=1)


def shape_tensor(shape: Any) -> Any:
    """A shape as TensorFlow takes it."""
    for n in shape:
        if type(n) is Size:
            return _PACK([_size_bare(k) for k in shape], axis=0)
    return calls.ints(tuple(map(int, shape)))


def is_static(shape: Any) -> bool:
    """Whether all lengths are known."""
    return all(type(n) is not Size for n in shape)
