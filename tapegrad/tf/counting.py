"""How often things occur: `tf.math.bincount`, confusion matrices, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.dtypes import numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = np.int32,
    name: str | None = None,
    axis: Any = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each integer occurs, or the sum of its weights: in all, or with axis=-1 in each row of a matrix.

    With `binary_output`, whether it occurs at all.  Integers of `maxlength` and more are left out.

    >>> import tapegrad.tf as tf
    >>> tf.math.bincount([[1, 2, 2], [0, 0, 3]], axis=-1, minlength=5).numpy().tolist()
    [[0, 1, 2, 0, 0], [2, 0, 0, 1, 0]]
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if binary_output and weights is not None:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if isinstance(arr, RaggedTensor | SparseTensor):
        return _of_rows(arr, weights, minlength, maxlength, dtype, axis, binary_output)
    raw = host(arr)
    raw = raw.astype(np.int32) if raw.dtype.kind not in "iu" else raw
    if axis == -1 and raw.ndim > 2:
        raise invalid("DenseBincount", f"Shape must be at most rank 2 but is rank {raw.ndim}")
    if raw.size and raw.min() < 0:
        raise invalid("DenseBincount", "Input arr must be non-negative!")
    rows = raw if axis == -1 and raw.ndim == 2 else raw.reshape(1, -1)
    n = _number(raw, minlength, maxlength)
    keep = rows < n
    place = (rows + n * np.arange(len(rows))[:, None])[keep]
    shape = (len(rows), n) if rows is raw else (n,)
    if weights is None:
        count = np.bincount(place, minlength=len(rows) * n)
        return fresh((np.minimum(count, 1) if binary_output else count).reshape(shape).astype(numpy_dtype(dtype)))
    w = convert(weights)
    if not w.array.size and raw.size:
        return bincount(arr, None, minlength, maxlength, w.dtype, axis=axis)
    if w.array.shape != raw.shape:
        raise invalid(
            "DenseBincount",
            f"`weights` must be the same shape as `arr` or a length-0 `Tensor`: {shape_text(w.array)} and {shape_text(raw)}",
        )
    picked = S.getitem(S.reshape(w, rows.shape), keep)
    return S.reshape(S.take_add(picked, fresh(place), shape=(len(rows) * n,), axis=0), shape)


def _of_rows(
    arr: Any, weights: Any, minlength: Any, maxlength: Any, dtype: Any, axis: Any, binary_output: bool
) -> Tensor:
    """`bincount` of a ragged or a sparse tensor: of all that is there, or row by row."""
    parts = _values_of(arr)
    heavy = _values_of(weights)
    if axis in (None, 0):
        return bincount(parts, heavy, minlength, maxlength, dtype, binary_output=binary_output)
    values, rows, count = host(parts), _row_numbers(arr), _row_count(arr)
    if values.size and values.min() < 0:
        raise invalid("DenseBincount", "Input arr must be non-negative!")
    n = _number(values, minlength, maxlength)
    keep = values < n
    place = (rows * n + values)[keep]
    if heavy is None:
        found = np.bincount(place, minlength=count * n)
        found = np.minimum(found, 1) if binary_output else found
        return fresh(found.reshape(count, n).astype(numpy_dtype(dtype)))
    picked = S.getitem(convert(heavy), keep)
    return S.reshape(S.take_add(picked, fresh(place), shape=(count * n,), axis=0), (count, n))


def _values_of(x: Any) -> Any:
    """What a ragged or a sparse tensor has; all else as it is."""
    return x.flat_values if isinstance(x, RaggedTensor) else x.values if isinstance(x, SparseTensor) else x


def _row_numbers(x: Any) -> Any:
    return host(x.value_rowids()) if isinstance(x, RaggedTensor) else host(x.indices)[:, 0]


def _row_count(x: Any) -> int:
    return int(host(x.nrows())) if isinstance(x, RaggedTensor) else int(x.lengths[0])


@export("sparse.bincount")
def sparse_bincount(
    values: Any,
    weights: Any = None,
    axis: Any = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each integer occurs, or the sum of its weights, where it occurs: in all, or with axis=-1 in each row.

    >>> import tapegrad.tf as tf
    >>> found = tf.sparse.bincount([[7, 2, 7], [0, 0, 3]], axis=-1)
    >>> found.indices.numpy().tolist(), found.values.numpy().tolist()
    ([[0, 2], [0, 7], [1, 0], [1, 3]], [1, 2, 2, 1])
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if binary_output and weights is not None:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    composite = isinstance(values, RaggedTensor | SparseTensor)
    if composite:
        raw = host(_values_of(values))
        rows, count = _row_numbers(values), _row_count(values)
        heavy = _values_of(weights)
    else:
        whole = host(values)
        count = len(whole) if whole.ndim == 2 else 1
        raw = whole.reshape(-1)
        rows = np.repeat(np.arange(count), raw.size // max(count, 1))
        heavy = weights
        if weights is not None and tuple(convert(weights).array.shape) != whole.shape:
            shapes = f"{shape_text(convert(weights).array)} and {shape_text(whole)}"
            raise invalid("DenseCountSparseOutput", f"Weights and values must have the same shape: {shapes}")
    if raw.size and raw.min() < 0:
        raise invalid("SparseBincount", "Input must be non-negative!")
    flat = axis in (None, 0)
    n = _number(raw, minlength, None) if maxlength is None else int(host(maxlength))
    keep = raw < n
    key = (raw if flat else rows * max(n, 1) + raw)[keep].astype(np.int64)
    places, where, often = np.unique(key, return_inverse=True, return_counts=True)
    if heavy is None:
        found = fresh(np.ones(often.shape, raw.dtype) if binary_output else often.astype(raw.dtype))
    else:
        picked = S.getitem(S.reshape(convert(heavy), raw.shape), keep)
        found = S.take_add(picked, fresh(where.astype(np.int64)), shape=(len(places),), axis=0)
    one_axis = flat or (not composite and whole.ndim == 1)
    indices = places[:, None] if one_axis else np.stack([places // max(n, 1), places % max(n, 1)], 1)
    return SparseTensor(indices, found, [n] if one_axis else [count, n])


def _number(raw: Any, minlength: Any, maxlength: Any) -> int:
    """How many integers are counted."""
    n = max(int(raw.max()) + 1 if raw.size else 0, 0 if minlength is None else int(host(minlength)))
    return n if maxlength is None else min(n, int(host(maxlength)))


@export("math.confusion_matrix")
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = np.int32, name: str | None = None
) -> Tensor:
    """How often each class (row) was predicted as each class (column)."""
    a, b = (host(x) for x in (labels, predictions))
    if a.size != b.size:
        raise invalid("Pack", f"Shapes of all inputs must match: labels {shape_text(a)} and predictions {shape_text(b)}")
    a, b = (x.ravel().astype(np.int64) for x in (a, b))
    for what, x in (("labels", a), ("predictions", b)):
        if x.size and x.min() < 0:
            raise invalid(None, f"`{what}` contains negative values.  \nCondition x >= 0 did not hold element-wise: {x.min()}")
    n = int(num_classes) if num_classes is not None else int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    for what, x in (("labels", a), ("predictions", b)):
        if x.size and x.max() >= n:
            raise invalid(None, f"`{what}` out of bound\nCondition x < y did not hold: {x.max()} for {n} classes")
    found = np.zeros((n, n), numpy_dtype(dtype))
    np.add.at(found, (a, b), 1 if weights is None else host(weights).astype(found.dtype))
    return fresh(found)


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = np.int32, name: str | None = None
) -> Tensor:
    """How many values lie in each of equal bins; those outside count in the outermost."""
    place = host(histogram_fixed_width_bins(values, value_range, nbins)).reshape(-1)
    return cast(fresh(np.bincount(place, minlength=int(nbins))), dtype)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = np.int32, name: str | None = None
) -> Tensor:
    """In which of equal bins each value lies; those outside are in the outermost."""
    low, high = (float(v) for v in host(value_range))
    n = int(nbins)
    if n <= 0:
        raise invalid("HistogramFixedWidth", f"nbins should be a positive number, but got '{n}'")
    if not low < high:
        raise invalid("HistogramFixedWidth", f"value_range should satisfy value_range[0] < value_range[1], got [{low}, {high}]")
    x = host(values).astype(np.float64)
    return fresh(np.clip(np.floor((x - low) / (high - low) * n), 0, n - 1).astype(numpy_dtype(dtype)))
