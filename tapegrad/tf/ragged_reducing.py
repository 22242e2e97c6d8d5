"""Reductions of ragged tensors: along rows, across them, and of all values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.dtypes import bool as boolean
from tapegrad.tf.dtypes import int32
from tapegrad.tf.export import EXPORTS
from tapegrad.tf.making import ones_like
from tapegrad.tf.ragged_pointwise import by_values, places
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def reduced(x: Any, how: str, axis: Any = None, keepdims: bool = False) -> Any:
    """What `tf.reduce_...` gives: of all values, of each row, across rows, or inside of the rows' own rows."""
    if not isinstance(x, RaggedTensor):
        return EXPORTS[f"math.reduce_{how}"](x, axis, keepdims)
    if how in _COMPOSED:
        return _COMPOSED[how](x, axis, keepdims)
    if axis is None:
        return EXPORTS[f"math.reduce_{how}"](x.flat_values, None, keepdims)
    axes = _axes(axis, x.shape.rank or 2)
    if how == "mean" and min(axes) < 2:
        count = reduced(by_values(ones_like, x), "sum", axes, keepdims)
        return _divided(reduced(x, "sum", axes, keepdims), count)  # an empty row has no mean: NaN
    found: Any = x
    for place in reversed(axes):
        found = _along(found, how, place, keepdims)
    return found


def _axes(axis: Any, rank: int) -> list[int]:
    """Axes in rising order."""
    given = host(convert(axis)).reshape(-1).tolist()
    for a in given:
        if not -rank <= a < rank:
            raise ValueError(f"axis={a} out of bounds: expected {-rank}<=axis<{rank}")
    return sorted({int(a) % rank for a in given})


def _along(x: Any, how: str, place: int, keepdims: bool) -> Any:
    if not isinstance(x, RaggedTensor):
        return EXPORTS[f"math.reduce_{how}"](x, place, keepdims)
    if place > 1:
        return x.with_values(reduced(x.values, how, place - 1, keepdims))
    if isinstance(x.values, RaggedTensor):
        raise NotImplementedError(
            f"tf.reduce_{how} of a ragged tensor along axis {place}, whose rows have ragged rows themselves: write x.to_tensor(), or "
            "take an inner axis"
        )
    rows = x._rowids()
    ids, count = (rows, len(x)) if place else (np.arange(len(rows)) - x._splits[rows], x._bounds()[1])
    found = EXPORTS[f"math.unsorted_segment_{how}"](x.values, fresh(ids), count)
    return S.expand_dims(found, axis=place) if keepdims else found


def _divided(x: Any, y: Any) -> Any:
    return by_values(S.divide, x, y) if isinstance(x, RaggedTensor) else S.divide(x, y)


def _variance(x: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    mean = reduced(x, "mean", axis, True)
    off = by_values(S.subtract, x, mean) if axis is not None else by_values(S.subtract, x, S.reshape(mean, ()))
    return reduced(by_values(S.square, off), "mean", axis, keepdims)


def _deviation(x: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    found = _variance(x, axis, keepdims)
    return by_values(S.sqrt, found) if isinstance(found, RaggedTensor) else S.sqrt(found)


def _any(x: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    return cast(reduced(cast(x, int32), "sum", axis, keepdims), boolean)


def _all(x: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    return cast(reduced(cast(x, int32), "prod", axis, keepdims), boolean)


def _logsumexp(x: RaggedTensor, axis: Any, keepdims: bool) -> Any:
    if axis is None:
        return EXPORTS["math.reduce_logsumexp"](x.flat_values, None, keepdims)
    most = EXPORTS["stop_gradient"](reduced(x, "max", axis, True))
    most = S.where(S.isfinite(most), most, fresh(np.zeros((), most.array.dtype)[()]))
    total = S.log(reduced(by_values(S.exp, by_values(S.subtract, x, most)), "sum", axis, True))
    found = S.add(total, most)
    return found if keepdims else S.squeeze(found, axis=tuple(_axes(axis, x.shape.rank or 2)))


def softmax(logits: RaggedTensor, axis: Any = -1) -> Any:
    """The softmax of each row."""
    most = EXPORTS["stop_gradient"](reduced(logits, "max", axis, True))
    raised = by_values(S.exp, by_values(S.subtract, logits, most))
    return by_values(S.divide, raised, reduced(raised, "sum", axis, True))


#: Reductions that are made of others.
_COMPOSED: dict[str, Any] = {
    "variance": _variance,
    "std": _deviation,
    "any": _any,
    "all": _all,
    "logsumexp": _logsumexp,
}


def scanned(f: Any, x: RaggedTensor, axis: Any = 0, **words: Any) -> RaggedTensor:
    """A scan along rows or across them: that of the dense tensor, in which what is no value is zero and stands behind."""
    dense: Tensor = f(x.to_tensor(), axis, **words)
    return x.with_flat_values(S.getitem(dense, tuple(places(x))))
