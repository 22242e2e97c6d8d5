"""`tf.sparse`: products, sums and other functions of the values, whose derivatives are those of the ops on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.registry.places import has_values
from tapegrad.tf import segments  # noqa: F401  it exports the reductions of segments
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.errors import NotDenseError, invalid
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.gathering import gather
from tapegrad.tf.nn_functions import embedding_lookup
from tapegrad.tf.products import matmul as dense_matmul
from tapegrad.tf.sparse_ops import fill_empty_rows, reshape, retain
from tapegrad.tf.sparse_tensor import SparseTensor, placed, sparse_of
from tapegrad.tf.style import S, mismatch
from tapegrad.tf.tensor import Tensor

_largest = EXPORTS["math.unsorted_segment_max"]


@export("sparse.map_values")
def map_values(op: Any, *args: Any, **kwargs: Any) -> SparseTensor:
    """A function of the values alone; among its arguments are sparse tensors with the same places."""
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not given:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = given[0]
    for other in given[1:]:
        if other.lengths != first.lengths or not np.array_equal(other.places, first.places):
            raise invalid(None, "tf.sparse.map_values: all sparse arguments must have the same indices and dense_shape")
    values = [x.values if isinstance(x, SparseTensor) else x for x in args]
    return first.with_values(op(*values, **{k: x.values if isinstance(x, SparseTensor) else x for k, x in kwargs.items()}))


@export("sparse.sparse_dense_matmul")
def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix (n, k) and a dense one (k, m), or of a dense and a sparse one: the work is by what is there."""
    if isinstance(b, SparseTensor) and not isinstance(sp_a, SparseTensor):  # (a b)^H = b^H a^H
        return S.conj(S.matrix_transpose(sparse_dense_matmul(b, convert(sp_a), not adjoint_b, not adjoint_a)))
    if not isinstance(sp_a, SparseTensor):
        found: Tensor = dense_matmul(sp_a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)
        return found
    if len(sp_a.lengths) != 2:
        raise invalid("SparseTensorDenseMatMul", f"Tensor 'a_shape' must have 2 elements: sp_a has shape {list(sp_a.lengths)}")
    y = convert(b)
    if y.array.ndim != 2:
        raise invalid("SparseTensorDenseMatMul", f"Tensor 'b' is not a matrix: it has shape {list(y.array.shape)}")
    values = sp_a.values
    if y.array.dtype != values.array.dtype:
        raise mismatch("SparseTensorDenseMatMul", 3, values.array.dtype, y.array.dtype)
    if adjoint_b:
        y = S.conj(S.matrix_transpose(y))
    n, k = sp_a.lengths
    if has_values(sp_a.indices.array):
        sp_a.numbers()
    rows, columns = (S.getitem(sp_a.indices, (slice(None), axis)) for axis in (0, 1))
    if adjoint_a:
        rows, columns, n, k, values = columns, rows, k, n, S.conj(values)
    if y.array.shape[0] != k:
        raise invalid(
            "SparseTensorDenseMatMul",
            f"Cannot multiply A and B because inner dimension does not match: {k} vs. {y.array.shape[0]}.  Did you forget a transpose?",
        )
    products = S.multiply(S.reshape(values, (-1, 1)), S.take(y, columns, axis=0))
    return S.take_add(products, rows, shape=(n, y.array.shape[1]), axis=0)


def _axes(x: SparseTensor, axis: Any) -> list[int]:
    rank = len(x.lengths)
    if axis is None:
        return list(range(rank))
    given = [int(k) for k in np.atleast_1d(host(axis))]
    if any(not -rank <= k < rank for k in given):
        raise invalid("SparseReduce", f"Invalid reduction dimension {given}, for input with {rank} dimensions.")
    return sorted({k % rank for k in given})


def _reduced(x: SparseTensor, axis: Any, keepdims: Any, sparse: bool, how: Any) -> Any:
    """Values that share their place along the axes that stay, put together by `how(rows, groups, count)`."""
    gone = _axes(x, axis)
    stay = [k for k in range(len(x.lengths)) if k not in gone]
    left = [x.lengths[k] for k in stay]
    x.numbers()
    numbers = np.ravel_multi_index(tuple(x.places[:, stay].T), left) if stay else np.zeros(len(x.places), np.int64)
    found, group = np.unique(numbers, return_inverse=True)
    values = how(x.values, group.reshape(-1), len(found))
    shape = [1 if k in gone else n for k, n in enumerate(x.lengths)] if keepdims else left
    if sparse:
        return placed(np.stack(np.unravel_index(found, shape), 1) if shape else np.zeros((len(found), 0)), values, shape)
    whole = S.take_add(values, fresh(found), shape=(int(np.prod(left, dtype=np.int64)),), axis=0)
    return S.reshape(whole, tuple(shape))


@export("sparse.reduce_sum")
def reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: Any = None, output_is_sparse: bool = False, name: str | None = None
) -> Any:
    """The sum of the values along axes, as a dense tensor or, if asked for, a sparse one."""
    x = sparse_of(sp_input, "tf.sparse.reduce_sum")
    return _reduced(x, axis, keepdims, output_is_sparse, lambda v, group, n: S.take_add(v, fresh(group), shape=(n,), axis=0))


@export("sparse.reduce_max")
def reduce_max(
    sp_input: Any, axis: Any = None, keepdims: Any = None, output_is_sparse: bool = False, name: str | None = None
) -> Any:
    """The largest of the values that are there along axes; 0 where there are none."""
    x = sparse_of(sp_input, "tf.sparse.reduce_max")
    return _reduced(x, axis, keepdims, output_is_sparse, lambda v, group, n: _largest(v, fresh(group), n))


@export("sparse.softmax")
def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax of each row's values that are there: what is not there counts as minus infinity."""
    x = sparse_of(sp_input, "tf.sparse.softmax")
    if len(x.lengths) < 2:
        raise invalid("SparseSoftmax", f"Input should have rank >= 2, but received shape {list(x.lengths)}")
    x.numbers()
    numbers = np.ravel_multi_index(tuple(x.places[:, :-1].T), x.lengths[:-1])
    found, group = np.unique(numbers, return_inverse=True)
    at, n = fresh(group.reshape(-1)), len(found)
    highest = fresh(host(_largest(fresh(host(x.values)), at, n)))  # a shift: the result does not depend on it
    e = S.exp(S.subtract(x.values, S.take(highest, at, axis=0)))
    return x.with_values(S.divide(e, S.take(S.take_add(e, at, shape=(n,), axis=0), at, axis=0)))


def _united(a: SparseTensor, b: SparseTensor, name: str) -> tuple[Any, Tensor, Tensor]:
    """Every place of one of two, and the values of each there."""
    if a.lengths != b.lengths:
        raise invalid(name, f"Operands' shapes do not match: got {list(a.lengths)} for a and {list(b.lengths)} for b")
    if a.values.array.dtype != b.values.array.dtype:
        raise mismatch(name, 3, a.values.array.dtype, b.values.array.dtype)
    first, second = a.numbers(), b.numbers()
    found = np.union1d(first, second)
    places = np.stack(np.unravel_index(found, a.lengths), 1) if a.lengths else np.zeros((len(found), 0), np.int64)
    one, two = (
        S.take_add(x.values, fresh(np.searchsorted(found, n)), shape=(len(found),), axis=0) for x, n in ((a, first), (b, second))
    )
    return places, one, two


@export("sparse.add")
def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two of which one at least is sparse; of two sparse ones, without sums whose size is below a threshold."""
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        places, one, two = _united(a, b, "SparseAdd")
        total = S.add(one, two)
        there = np.abs(np.asarray(total.array)) >= host(threshold)
        return placed(places[there], S.getitem(total, there), a.lengths)
    sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
    y = convert(dense, sparse.values.array.dtype, prefer=True)
    if tuple(y.array.shape) != sparse.lengths:
        raise invalid("SparseTensorDenseAdd", f"a has shape {list(sparse.lengths)} and b {list(y.array.shape)}: they must be the same")
    sparse.numbers()
    return S.add(y, S.put_add(sparse.values, index=tuple(sparse.places.T), shape=sparse.lengths))


def _pairwise(name: str, op: Any) -> None:
    @export(f"sparse.{name}")
    def choose(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
        a, b = sparse_of(sp_a, f"tf.sparse.{name}"), sparse_of(sp_b, f"tf.sparse.{name}")
        places, one, two = _united(a, b, "SparseSparse" + op.__name__.capitalize())
        return placed(places, op(one, two), a.lengths)

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = f"The {name} of two at each place that one of them has; the other is 0 there."


_pairwise("maximum", S.maximum)
_pairwise("minimum", S.minimum)


# -- rows of a table, put together -----------------------------------------------------------------------
def _by_rows(kind: str) -> None:
    reduce = EXPORTS[f"math.unsorted_segment_{kind}"]

    @export(f"sparse.segment_{kind}")
    def segment(
        data: Any,
        indices: Any,
        segment_ids: Any,
        num_segments: Any = None,
        name: str | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        ids = host(segment_ids)
        if ids.size and (ids[0] < 0 or np.diff(ids).min(initial=0) < 0):
            raise invalid("SparseSegmentReduction", "segment ids are not increasing")
        count = (int(ids[-1]) + 1 if ids.size else 0) if num_segments is None else int(num_segments)
        found: Tensor = reduce(gather(data, indices), ids, count)
        return found

    segment.__name__ = segment.__qualname__ = f"segment_{kind}"
    segment.__doc__ = f"The {kind} of the rows of `data` with these numbers, of each segment; segments come in rising order."


for _kind in ("sum", "mean", "sqrt_n"):
    _by_rows(_kind)


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of ids the sum, the mean or the sum over the root of squared weights of the table's rows at them."""
    if hasattr(sp_ids, "row_splits"):
        raise NotDenseError("the rows of a ragged tensor are looked up as such")
    x = sparse_of(sp_ids, "tf.nn.embedding_lookup_sparse")
    how = combiner or "mean"
    if how not in ("sum", "mean", "sqrtn"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    rows = embedding_lookup(params, x.values, max_norm=max_norm)
    ids = x.places[:, 0]
    n = int(ids[-1]) + 1 if len(ids) else 0
    at = fresh(ids)
    if sp_weights is None:
        weights = fresh(np.ones(len(ids), rows.array.dtype))
    else:
        given = sparse_of(sp_weights, "tf.nn.embedding_lookup_sparse")
        weights = convert(cast(given.values, rows.dtype))
    rows = S.multiply(rows, S.reshape(weights, (-1,) + (1,) * (rows.array.ndim - 1)))
    total = S.take_add(rows, at, shape=(n, *rows.array.shape[1:]), axis=0)
    if how == "sum":
        return total
    size = S.take_add(weights if how == "mean" else S.square(weights), at, shape=(n,), axis=0)
    size = S.reshape(size if how == "mean" else S.sqrt(size), (-1,) + (1,) * (rows.array.ndim - 1))
    there = S.not_equal(size, rows.array.dtype.type(0))
    return S.where(there, S.divide(total, S.where(there, size, rows.array.dtype.type(1))), rows.array.dtype.type(0))


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: Any = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """The same for rows that may be empty or have ids below 0, which do not count; weights that are not above 0 do not either.

    An empty row is that of `default_id`, or 0 without one.
    """
    x = sparse_of(sparse_ids, "tf.nn.safe_embedding_lookup_sparse")
    weights = None if sparse_weights is None else sparse_of(sparse_weights, "tf.nn.safe_embedding_lookup_sparse")
    front = x.lengths[:-1]
    flat = (int(np.prod(front, dtype=np.int64)), x.lengths[-1])
    kept = host(x.values) >= 0
    if weights is not None and combiner != "sum":
        kept &= host(weights.values) > 0
    ids, weights = (None if v is None else retain(reshape(v, flat), kept) for v in (x, weights))
    ids, empty = fill_empty_rows(ids, default_id or 0)
    if weights is not None:
        weights, _ = fill_empty_rows(weights, 1.0)
    found = embedding_lookup_sparse(embedding_weights, ids, weights, combiner, max_norm)
    if default_id is None:
        hidden = S.reshape(empty, (-1,) + (1,) * (found.array.ndim - 1))
        found = S.where(hidden, found.array.dtype.type(0), found)
    return S.reshape(found, (*front, *found.array.shape[1:]))
