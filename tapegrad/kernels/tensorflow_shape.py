"""TensorFlow kernels that make arrays and move elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, made, wrapped
from tapegrad.kernels.tensorflow_basics import conj, less_equal, where
from tapegrad.kernels.tensorflow_calls import INT64, constant, ints, number, scalar
from tapegrad.kernels.tensorflow_lengths import Size, is_static, shape_tensor
from tapegrad.kernels.tensorflow_promotion import asarray, common, converted

_FILL, _RANGE = calls.growing("Fill", 0), calls.op("Range")
_RESHAPE, _BROADCAST, _TRANSPOSE = calls.two("Reshape"), calls.growing("BroadcastTo", 1), calls.two("Transpose")
_REVERSE, _ROLL = calls.two("ReverseV2"), calls.op("Roll")
_ADD, _EQUAL = calls.two("AddV2"), calls.two("Equal")
_CONCAT, _PACK = calls.op("ConcatV2"), calls.op("Pack")
_BAND, _DIAG_PART, _DIAG = calls.op("MatrixBandPart"), calls.op("MatrixDiagPartV3"), calls.op("MatrixDiagV3")


def _sizes(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if hasattr(shape, "__iter__") else (shape,)


# -- new arrays ------------------------------------------------------------------------------------------
def full(shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    shape = _sizes(shape)
    value = asarray(fill_value)
    value = converted(value, np.dtype(dtype)) if dtype is not None else value
    return made(_FILL(shape_tensor(shape), value.bare), value.dtype, shape)


def zeros(shape: Any, *, dtype: Any = calls.F64) -> Any:
    return _filled(_sizes(shape), 0, np.dtype(dtype))


def ones(shape: Any, *, dtype: Any = calls.F64) -> Any:
    return _filled(_sizes(shape), 1, np.dtype(dtype))


def _filled(shape: tuple[Any, ...], value: int, dtype: Any) -> Any:
    """One number of 0 axes is a constant that is there already: the cotangent of most losses."""
    number = scalar(value, dtype)
    return made(_FILL(shape_tensor(shape), number) if shape else number, dtype, shape)


def zeros_beside(x: Any, dtype: Any) -> Any:
    """Zeros in the shape of `x`, where that is."""
    return zeros(x.shape, dtype=dtype)


def ones_beside(x: Any, dtype: Any) -> Any:
    """Ones in the shape of `x`, where that is."""
    return ones(x.shape, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """Numbers are counted on the host, as NumPy counts them, unless one is known to the graph alone."""
    if stop is None:
        start, stop = 0, start
    if any(type(v) in (Size, TFArray) for v in (start, stop, step)):
        bounds = [asarray(v) for v in (start, stop, step)]
        d = np.dtype(dtype) if dtype is not None else bounds[1].dtype
        w = d if d.kind in "f" or d in (calls.INT32, INT64) else INT64
        y = made(_RANGE(*(converted(v, w).bare for v in bounds)), w)
        return converted(y, d)
    return wrapped(constant(np.arange(start, stop, step, dtype=dtype)))


def linspace(start: Any, stop: Any, num: int, *, dtype: Any = None, endpoint: bool = True) -> Any:
    return wrapped(constant(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)))


def eye(n_rows: Any, n_cols: Any = None, *, k: int = 0, dtype: Any = None) -> Any:
    n_cols = n_rows if n_cols is None else n_cols
    if type(n_rows) is Size or type(n_cols) is Size:
        rows = _RESHAPE(arange(n_rows, dtype=INT64).bare, ints((-1, 1)))
        on = _EQUAL(_ADD(rows, scalar(k, INT64)), arange(n_cols, dtype=INT64).bare)
        return converted(made(on, calls.BOOL, (n_rows, n_cols)), np.dtype(dtype or calls.F64))
    return wrapped(constant(np.eye(n_rows, n_cols, k=k, dtype=dtype)))


# -- shapes ----------------------------------------------------------------------------------------------
def reshape(x: Any, shape: Any, *, copy: bool | None = None) -> Any:
    x = asarray(x)
    shape = _sizes(shape)
    computed = sum(1 for n in shape if type(n) is not Size and n == -1)
    if computed > 1:
        raise ValueError("can only specify one unknown dimension")
    return made(_RESHAPE(x.bare, shape_tensor(shape)), x.dtype, None if computed or is_static(shape) else shape)


def broadcast_to(x: Any, shape: Any) -> Any:
    x = asarray(x)
    shape = _sizes(shape)
    if is_static(shape) and x._shape == shape:
        return x
    if len(x.shape) > len(shape):
        raise ValueError(f"cannot broadcast shape {x.shape} to {shape}")
    return made(_BROADCAST(x.bare, shape_tensor(shape)), x.dtype, shape)


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them for None.  Raises as NumPy does."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    axes = np.lib.array_utils.normalize_axis_tuple(axis, rank)
    return tuple(int(a) for a in axes)


def one_axis(axis: Any, rank: int) -> int:
    """An axis counted from the front."""
    found: int = np.lib.array_utils.normalize_axis_index(axis, rank)
    return found


def transposed(x: Any, axes: tuple[int, ...]) -> Any:
    """The axes in another order."""
    if axes == tuple(range(len(axes))):
        return x
    shape = x._shape
    return made(_TRANSPOSE(x.bare, ints(axes)), x.dtype, None if shape is None else tuple(shape[a] for a in axes))


def permute_dims(x: Any, axes: Any) -> Any:
    x = asarray(x)
    axes = axes_of(tuple(axes), x.ndim)
    if len(axes) != x.ndim:
        raise ValueError("axes don't match array")
    return transposed(x, axes)


def matrix_transpose(x: Any) -> Any:
    x = asarray(x)
    n = x.ndim
    if n < 2:
        raise ValueError(f"matrix transpose with ndim < 2 is undefined, got {n}")
    return transposed(x, (*range(n - 2), n - 1, n - 2))


def matrix_adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    x = asarray(x)
    n = x.ndim
    here, there = axes_of(source, n), axes_of(destination, n)
    if len(here) != len(there):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [a for a in range(n) if a not in here]
    for to, a in sorted(zip(there, here, strict=True)):
        order.insert(to, a)
    return transposed(x, tuple(order))


def expand_dims(x: Any, *, axis: Any = 0) -> Any:
    x = asarray(x)
    axes = _sizes(axis)
    n = x.ndim + len(axes)
    places = axes_of(axes, n)
    left = iter(x.shape)
    shape = tuple(1 if i in places else next(left) for i in range(n))
    return made(_RESHAPE(x.bare, shape_tensor(shape)), x.dtype, shape)


def squeeze(x: Any, axis: Any) -> Any:
    x = asarray(x)
    axes = axes_of(axis, x.ndim)
    if any(type(x.shape[a]) is not Size and x.shape[a] != 1 for a in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    return made(_RESHAPE(x.bare, shape_tensor(shape)), x.dtype, shape)


def flip(x: Any, *, axis: Any = None) -> Any:
    x = asarray(x)
    axes = axes_of(axis, x.ndim)
    return made(_REVERSE(x.bare, ints(axes)), x.dtype, x._shape) if axes else x


def roll(x: Any, shift: Any, *, axis: Any = None) -> Any:
    x = asarray(x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    axes, shifts = _sizes(axis), _sizes(shift)
    pairs = np.broadcast(axes, shifts)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    if 0 in x.shape:
        return x
    both = [(one_axis(int(a), x.ndim), int(s)) for a, s in pairs]
    return made(_ROLL(x.bare, ints(tuple(s for _, s in both)), ints(tuple(a for a, _ in both))), x.dtype, x._shape)


def _alike(arrays: Any) -> tuple[list[Any], Any]:
    """Arrays of one dtype, and that."""
    xs = [asarray(a) for a in arrays]
    d = xs[0].dtype
    for x in xs[1:]:
        d = common(d, x.dtype)
    return [converted(x, d) for x in xs], d


def concat(arrays: Any, *, axis: int | None = 0) -> Any:
    xs, d = _alike(arrays)
    if axis is None:
        xs, axis = [reshape(x, (-1,)) for x in xs], 0
    n = xs[0].ndim
    if n == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = one_axis(axis, n)
    rest = [tuple(k for i, k in enumerate(x.shape) if i != axis) for x in xs]
    if any(len(r) != len(rest[0]) or any(a != b for a, b in zip(r, rest[0], strict=True) if _both_known(a, b)) for r in rest):
        raise ValueError(f"all lengths but those along axis {axis} must match, got shapes {', '.join(str(x.shape) for x in xs)}")
    if len(xs) == 1:
        return xs[0]
    return made(_CONCAT([x.bare for x in xs], number(axis)), d)


def _both_known(a: Any, b: Any) -> bool:
    return Size not in (type(a), type(b))


def stack(arrays: Any, *, axis: int = 0) -> Any:
    xs, d = _alike(arrays)
    axis = one_axis(axis, xs[0].ndim + 1)
    return made(_PACK([x.bare for x in xs], axis=axis), d)


# -- diagonals and triangles -----------------------------------------------------------------------------
def _triangle(x: Any, k: int, *, lower: bool) -> Any:
    x = asarray(x)
    n, m = x.shape[-2:]
    if (k >= 0) if lower else (k <= 0):
        if 0 in (n, m):
            return x
        most = m if lower else n  # TensorFlow refuses a band that is wider than the matrix
        width = int(math.fabs(k)) if type(most) is Size else min(int(math.fabs(k)), most)
        below, above = (-1, width) if lower else (width, -1)
        return made(_BAND(x.bare, scalar(below, INT64), scalar(above, INT64)), x.dtype, x._shape)
    rows, columns = expand_dims(arange(0, n, dtype=INT64), axis=1), arange(0, m, dtype=INT64)
    kept = less_equal(columns - rows, k) if lower else less_equal(k, columns - rows)
    return where(kept, x, made(scalar(0, x.dtype), x.dtype, ()))


def tril(x: Any, *, k: int = 0) -> Any:
    return _triangle(x, k, lower=True)


def triu(x: Any, *, k: int = 0) -> Any:
    return _triangle(x, k, lower=False)


def diagonal(x: Any, *, offset: int = 0) -> Any:
    x = asarray(x)
    n, m = x.shape[-2:]
    if (type(m) is not Size and offset > 0 and offset >= m) or (type(n) is not Size and offset < 0 and -offset >= n) or 0 in (n, m):
        return zeros((*x.shape[:-2], 0), dtype=x.dtype)
    return made(_DIAG_PART(x.bare, number(offset), scalar(0, x.dtype), align="RIGHT_LEFT"), x.dtype)


def put_diagonal(x: Any, *, offset: int = 0, shape: Any = None) -> Any:
    x = asarray(x)
    if shape is None:
        shape = (x.shape[-1] + math.trunc(math.fabs(offset)),) * 2
    if 0 in x.shape:
        return zeros((*x.shape[:-1], *shape), dtype=x.dtype)
    rows, columns = (made(n.bare, calls.INT32).bare if type(n) is Size else number(n) for n in shape)
    return made(_DIAG(x.bare, number(offset), rows, columns, scalar(0, x.dtype), align="RIGHT_LEFT"), x.dtype)
