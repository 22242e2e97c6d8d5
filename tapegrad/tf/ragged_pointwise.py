"""Functions of each value, where among the arguments are ragged tensors: dense ones beside them are spread over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

#: Functions of one number that are 0 at 0, which TensorFlow has of sparse tensors too.
_KEEP_ZEROS = frozenset(("abs", "erf", "negative", "sign", "sqrt", "square", "tanh"))


def by_values(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of each value, of the flat values of ragged arguments, in their rows; or of a sparse tensor, if it keeps zeros."""
    sparse = next((x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)), None)
    if sparse is not None:
        if f.__name__ not in _KEEP_ZEROS or any(isinstance(x, core.Tensor | RaggedTensor) for x in args):
            sparse.__tf_tensor__()  # which says what to do
        return sparse.with_values(f(*(x.values if x is sparse else x for x in args), **kwargs))
    first = next(x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor))
    flat = [_beside(x, first) for x in args]
    return first.with_flat_values(f(*flat, **{k: _beside(x, first) for k, x in kwargs.items()}))


def _beside(x: Any, first: RaggedTensor) -> Any:
    """What stands for an argument beside the flat values of the first ragged one."""
    if isinstance(x, RaggedTensor):
        check_rows(first, x)
        return x.flat_values
    if not isinstance(x, core.Tensor | list | tuple | np.ndarray):
        return x
    dense = convert(x, first.dtype.numpy, prefer=True) if isinstance(x, list | tuple) else convert(x)
    return spread(dense, first) if dense.array.ndim else dense


def check_rows(x: RaggedTensor, y: RaggedTensor) -> None:
    """Raise where two ragged tensors do not have the same rows."""
    if x is not y and not (
        x.ragged_rank == y.ragged_rank
        and all(np.array_equal(host(a), host(b)) for a, b in zip(x.nested_row_splits, y.nested_row_splits, strict=True))
    ):
        raise invalid(None, f"Inputs must have identical ragged splits, got rows of {x.shape} and of {y.shape} that differ")


def spread(x: Tensor, rows: RaggedTensor) -> Tensor:
    """The element of a dense tensor, broadcast to the shape of a ragged one, for each flat value of that one."""
    rank, shape = rows.shape.rank or 0, tuple(x.array.shape)
    if len(shape) > rank:
        raise invalid(None, f"Incompatible shapes: a ragged tensor of {rows.shape} and a tensor of {x.shape}, which has more axes")
    shape = (1,) * (rank - len(shape)) + shape
    depth = rows.ragged_rank + 1
    if all(n == 1 for n in shape[:depth]):
        return S.reshape(x, shape[depth:])
    for k, n in enumerate(shape[:depth]):
        lengths = np.asarray([len(rows)]) if not k else np.diff(host(rows.nested_row_splits[k - 1]))
        if n != 1 and (lengths != n).any():
            raise invalid(None, f"Incompatible shapes: a ragged tensor of {rows.shape} and a tensor of {x.shape}, at axis {k}")
    at = tuple(p if n > 1 else np.zeros_like(p) for p, n in zip(places(rows), shape, strict=False))
    found: Tensor = S.getitem(S.reshape(x, shape), at)
    return found


def places(x: RaggedTensor) -> list[Any]:
    """For each flat value its index along each axis down to the innermost ragged one."""
    rows = x._rowids()
    columns = np.arange(len(rows)) - x._splits[rows]
    if not isinstance(x.values, RaggedTensor):
        return [rows, columns]
    first, *rest = places(x.values)
    return [rows[first], columns[first], *rest]
