"""Sorting, and the largest elements of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import cast, convert, fresh, integer
from tapegrad.tf.dtypes import int64, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor


@export("math.top_k", "nn.top_k")
def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = np.int32, name: str | None = None) -> Any:
    """The k largest elements of the last axis and their indices, the first of equal ones first."""
    x = _ordered(input)
    k = integer(k)
    if k < 0:
        raise invalid("TopKV2", f"Need k >= 0, got {k}")
    if not x.array.shape or k > x.array.shape[-1]:
        raise invalid("TopKV2", f"input must have at least k columns. Had {x.shape}, needed {k}")
    order = S.getitem(S.argsort(x, axis=-1, descending=True), (..., slice(0, k)))
    return TopK(S.take_along_axis(x, order, axis=-1), cast(order, index_type))


def _approximate(operand: Any, k: int, axis: int, toward: Any) -> TopK:
    x = convert(operand)
    if not -x.array.ndim <= axis < x.array.ndim:
        raise invalid("ApproxTopK", f"reduction_dimension {axis} is out of range for shape {shape_text(x.array)}")
    if not 0 <= k <= x.array.shape[axis]:
        raise invalid("ApproxTopK", f"expected 0 <= k <= {x.array.shape[axis]}, the length of axis {axis}, got {k}")
    values, indices = top_k(toward(S.moveaxis(x, axis, -1)), k)
    return TopK(S.moveaxis(toward(values), -1, axis), S.moveaxis(indices, -1, axis))


@export("math.approx_max_k", "nn.approx_max_k")
def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """The k largest elements along an axis and their indices: exact here, as TensorFlow's are on a CPU."""
    return _approximate(operand, int(k), int(reduction_dimension), S.positive)


@export("math.approx_min_k", "nn.approx_min_k")
def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """The k smallest elements along an axis and their indices: exact here, as TensorFlow's are on a CPU."""
    return _approximate(operand, int(k), int(reduction_dimension), S.negative)


@export("math.in_top_k", "nn.in_top_k")
def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether the prediction for each target is among the k largest of its row."""
    scores, rows = convert(predictions), cast(convert(targets), int64)
    own = S.take_along_axis(scores, S.expand_dims(rows, axis=-1), axis=1)
    above = S.sum(S.convert(S.greater(scores, own), np.dtype(np.int32)), axis=1, dtype=np.dtype(np.int32))
    return S.logical_and(S.less(above, integer(k)), S.isfinite(S.squeeze(own, (1,))))


@export("sort")
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements along an axis in order."""
    x = _ordered(values)
    return S.sort(x, axis=_sorted_axis(x, axis), descending=_descending(direction))


def _ordered(values: Any) -> Tensor:
    """A tensor of real numbers, which have an order."""
    x = convert(values)
    if x.array.dtype.kind not in "iufV":
        raise not_allowed("TopKV2", x.array.dtype)
    return x


def _sorted_axis(x: Tensor, axis: Any) -> int:
    rank = x.array.ndim
    place = integer(axis)
    if not -rank <= place < rank:
        raise invalid(None, f"sort: axis {place} of shape {shape_text(x.array)}: slice index {place} out of bounds")
    return place


@export("argsort")
def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None) -> Tensor:
    """The indices that put the elements along an axis in order."""
    x = _ordered(values)
    return cast(S.argsort(x, axis=_sorted_axis(x, axis), descending=_descending(direction)), np.int32)


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of ASCENDING or DESCENDING. Received: direction={direction}")
    return direction == "DESCENDING"


@export("searchsorted")
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = np.int32, name: str | None = None
) -> Tensor:
    """Where values would go in sorted rows."""
    a, b = pair(sorted_sequence, values)
    mismatch_in("UpperBound" if side == "right" else "LowerBound", [a, b])
    if a.array.dtype.kind == "b":
        raise not_allowed("LowerBound", a.array.dtype)
    rows, wanted = np.asarray(a.array), np.asarray(b.array)
    if not wanted.size:
        return fresh(np.zeros(wanted.shape, numpy_dtype(out_type)))
    flat, found = rows.reshape(-1 if rows.size else wanted.size // wanted.shape[-1], rows.shape[-1]), wanted.reshape(-1, wanted.shape[-1])
    made_rows = [np.searchsorted(r, v, side=side) for r, v in zip(flat, found, strict=True)]  # type: ignore[call-overload]
    return fresh(np.reshape(made_rows, wanted.shape).astype(numpy_dtype(out_type)))


class TopK(tuple[Tensor, Tensor]):
    """Values and indices."""

    __slots__ = ()
    _fields = ("values", "indices")

    def __new__(cls, values: Any, indices: Any) -> TopK:
        return tuple.__new__(cls, (values, indices))

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where they were."""
        return self[1]

    def __repr__(self) -> str:
        return f"TopKV2(values={self[0]!r}, indices={self[1]!r})"
