"""Ops that are constant wherever they are smooth: comparisons, logic, bits, rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.registry import constant

if TYPE_CHECKING:
    from tapegrad.registry import Op


def _one(draw: Any) -> Any:
    return (draw.array("n", "m"),)


def _two(draw: Any) -> Any:
    return draw.array("n", "m"), draw.array("m")


def _int_one(draw: Any) -> Any:
    return (draw.integers("n", "m"),)


def _int_two(draw: Any) -> Any:
    return draw.integers("n", "m"), draw.integers("m", low=0, high=5)


def _unary(name: str, doc: str, laws: Any = _one) -> Op:
    def body(xp: Any, x: Any, /) -> Any:
        return getattr(xp, name)(x)

    return _named(body, name, doc, laws)


def _binary(name: str, doc: str, laws: Any = _two) -> Op:
    def body(xp: Any, x1: Any, x2: Any, /) -> Any:
        return getattr(xp, name)(x1, x2)

    return _named(body, name, doc, laws)


def _named(body: Any, name: str, doc: str, laws: Any) -> Op:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = doc
    found: Op = constant(laws=laws, pointwise=True)(body)
    return found


equal = _binary("equal", "Whether two elements are equal.")
not_equal = _binary("not_equal", "Whether two elements differ.")
less = _binary("less", "Whether the first element is smaller.")
less_equal = _binary("less_equal", "Whether the first element is smaller or equal.")
greater = _binary("greater", "Whether the first element is larger.")
greater_equal = _binary("greater_equal", "Whether the first element is larger or equal.")

isnan = _unary("isnan", "Whether an element is NaN.")
isinf = _unary("isinf", "Whether an element is an infinity.")
isfinite = _unary("isfinite", "Whether an element is neither NaN nor an infinity.")
signbit = _unary("signbit", "Whether an element's sign bit is set, as that of -0.0 is.")

floor = _unary("floor", "The largest integer not above each element.")
ceil = _unary("ceil", "The smallest integer not below each element.")
trunc = _unary("trunc", "Each element without its fraction.")
round = _unary("round", "The nearest integer to each element; halves go to the even one.")
floor_divide = _binary("floor_divide", "The quotient of two elements, rounded down.")

logical_and = _binary("logical_and", "Whether both elements are true.")
logical_or = _binary("logical_or", "Whether one of two elements is true.")
logical_xor = _binary("logical_xor", "Whether exactly one of two elements is true.")
logical_not = _unary("logical_not", "Whether an element is false.")
bitwise_and = _binary("bitwise_and", "The bits that are set in both integers.", _int_two)
bitwise_or = _binary("bitwise_or", "The bits that are set in one of two integers.", _int_two)
bitwise_xor = _binary("bitwise_xor", "The bits that are set in exactly one of two integers.", _int_two)
bitwise_invert = _unary("bitwise_invert", "The bits that are not set in each integer.", _int_one)
bitwise_left_shift = _binary("bitwise_left_shift", "Bits moved up by as many places as the second says.", _int_two)
bitwise_right_shift = _binary("bitwise_right_shift", "Bits moved down by as many places as the second says.", _int_two)
