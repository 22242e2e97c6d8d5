"""Sums that are put off until they are read, and what is summed in one go then.

Cotangents of an array that is used often (the weights of a recurrent network, a variable in a loop) come one by one.  Added up
as they come, each costs an op of TensorFlow's, and so does the product or the reduction that it is made by.  Put off, they
are few: measured for a chain of 8x8, the sums alone are a third of the time of a sweep, and their products a quarter.

A summand is a bare tensor, or one of the classes here.  Small ones alone are put off, for they are held until then, and so
many as fit into `_ROOM` (measured for 198 summands of 8x8: 200 us where all wait, 430 us where 32 do).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

from tapegrad.kernels import tensorflow_calls as calls

if TYPE_CHECKING:
    from collections.abc import Callable

_ADD_N, _CONCAT, _PACK = calls.one("AddN"), calls.op("ConcatV2"), calls.op("Pack")
_MUL, _MATMUL, _SUM = calls.two("Mul"), calls.op("MatMul"), calls.op("Sum")
#: Elements of the largest array that is put off; of all summands of one sum together; and the most summands of one.
_SMALL, _ROOM, _MOST = 65536, 2**21, 256
#: So many products are worth being put side by side: below that their copies cost what they save.
_WORTH = 4


_KNOWN: dict[tuple[Any, ...], int] = {}


def most(shape: tuple[Any, ...]) -> int:
    """How many arrays of this shape may wait to be added up; 0 where none may."""
    found = _KNOWN.get(shape)
    if found is None:
        size = math.prod(shape)
        if type(size) is not int:  # a length is not known yet; it belongs to a graph, which must not be kept
            return 0
        if len(_KNOWN) >= 4096:
            _KNOWN.clear()
        found = _KNOWN[shape] = min(_MOST, _ROOM // max(size, 1)) if size <= _SMALL and not calls.MANY else 0
    return found


def most_of(*shapes: tuple[Any, ...]) -> int:
    """How many may wait of what holds arrays of these shapes; 0 where none may."""
    return min(map(most, shapes))


@final
class Piece:
    """What lies between two places along one axis, where all else is zero."""

    __slots__ = ("axis", "bare", "otherwise", "start", "stop")

    def __init__(self, axis: int, start: int, stop: int, bare: Any, otherwise: Callable[[], Any]) -> None:
        self.axis = axis
        self.start = start
        self.stop = stop
        self.bare = bare
        self.otherwise = otherwise  # the whole array, with zeros

    @staticmethod
    def total(pieces: list[Piece], shape: tuple[Any, ...]) -> list[Any]:
        """Pieces that lie side by side and leave no gap are put together."""
        pieces.sort(key=lambda p: p.start)
        axis = pieces[0].axis
        ends = [0, *(p.stop for p in pieces)]
        fit = all(p.axis == axis and p.start == end for p, end in zip(pieces, ends, strict=False))
        if fit and ends[-1] == shape[axis] and len(pieces) > 1:
            return [_CONCAT([p.bare for p in pieces], calls.number(axis))]
        return [p.otherwise() for p in pieces]


@final
class Product:
    """Two arrays of the shape of the sum, multiplied element by element."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right

    @staticmethod
    def total(products: list[Product], shape: tuple[Any, ...]) -> list[Any]:
        """Many are multiplied side by side, and added up along a new first axis."""
        if len(products) < _WORTH:
            return [_MUL(p.left, p.right) for p in products]
        left, right = (_PACK(side, axis=0) for side in ([p.left for p in products], [p.right for p in products]))
        return [_SUM(_MUL(left, right), calls.number(0), keep_dims=False)]


@final
class MatrixProduct:
    """The transpose of one matrix times another: (n, k), (n, m) -> (k, m)."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right

    @staticmethod
    def total(products: list[MatrixProduct], shape: tuple[Any, ...]) -> list[Any]:
        """A sum of such products is one product of longer matrices."""
        if len(products) < _WORTH:
            return [_MATMUL(p.left, p.right, transpose_a=True, transpose_b=False) for p in products]
        first = calls.number(0)
        left, right = (_CONCAT(side, first) for side in ([p.left for p in products], [p.right for p in products]))
        return [_MATMUL(left, right, transpose_a=True, transpose_b=False)]


@final
class Reduced:
    """The sum of an array over its first axes."""

    __slots__ = ("bare", "whole")

    def __init__(self, bare: Any, whole: tuple[Any, ...]) -> None:
        self.bare = bare
        self.whole = whole  # its shape

    @staticmethod
    def total(summands: list[Reduced], shape: tuple[Any, ...]) -> list[Any]:
        """Arrays of one shape are added up first, and reduced then."""
        by_shape: dict[Any, list[Any]] = {}
        for s in summands:
            by_shape.setdefault(s.whole, []).append(s.bare)
        return [
            _SUM(same[0] if len(same) == 1 else _ADD_N(same), calls.ints(tuple(range(len(whole) - len(shape)))), keep_dims=False)
            for whole, same in by_shape.items()
        ]


_KINDS = (Piece, Product, MatrixProduct, Reduced)


def total(summands: list[Any], shape: tuple[Any, ...]) -> Any:
    """The bare tensor of a sum that has been put off."""
    known: list[Any] = []
    kinds: dict[Any, list[Any]] = {}
    for s in summands:
        if type(s) in _KINDS:
            kinds.setdefault(type(s), []).append(s)
        else:
            known.append(s)
    for kind, same in kinds.items():
        known += kind.total(same, shape)
    return known[0] if len(known) == 1 else _ADD_N(known)
