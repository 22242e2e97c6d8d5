"""Sparse tensors: coordinates and values, which every op takes as the dense tensor that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._tensor import STYLE, Tensor, wrap


class Sparse(Tensor):
    """A tensor of which only some elements, or slices, are there; the rest is zero.

    A derivative reaches the values that it was made of, by whatever is computed with it; a sparse tensor itself is no leaf.

    A gradient of some rows of a table on other kernels than NumPy's stays there, in `_rows`: sums of such gradients, and the steps
    of optimizers, bring nothing to the host.
    """

    __slots__ = ("_coalesced", "_dense", "_places", "_rows", "_size", "_source", "_there")

    _coalesced: bool
    _dense: Any
    _places: Any
    _rows: Rows | None
    _size: tuple[int, ...]
    #: The elements as they were given, where a derivative reaches them.
    _source: Any
    _there: Any

    @property
    def _ids(self) -> Any:
        """Where the elements are, (axes, n), an array of NumPy's."""
        if self._places is None:
            assert self._rows is not None
            self._places = np.asarray(self._rows.index)[None].astype(np.int64)
        return self._places

    @property
    def _vals(self) -> Any:
        """The elements, (n, ...), an array of NumPy's."""
        if self._there is None:
            assert self._rows is not None
            self._there = np.asarray(self._rows.g)
        return self._there

    @property
    def array(self) -> Any:
        """The dense array."""
        if self._dense is None and self._rows is not None:
            self._dense = self._rows.dense()
        if self._dense is None:
            made = np.zeros(self._size, self._vals.dtype)
            np.add.at(made, tuple(self._ids), self._vals)
            self._dense = made
        return self._dense

    @property
    def node(self) -> None:  # type: ignore[override]
        """Nothing is recorded of it."""
        return None

    @property
    def like(self) -> Any:
        """It shares no shape with anything, whatever an op notes of it."""
        return None

    @like.setter
    def like(self, _: Any) -> None:
        return

    def read(self) -> tuple[Any, Any]:
        if self._source is not None:
            dense: tuple[Any, Any] = self.to_dense().read()
            return dense
        return self.array, None

    @property
    def shape(self) -> Any:
        """The length of each axis of the whole."""
        from tapegrad.torch._size import Size

        return Size(self._size)

    @property
    def dtype(self) -> Any:
        """The kind of number."""
        from tapegrad.torch._dtypes import dtype_of

        return dtype_of(self._vals.dtype if self._rows is None else self._rows.dtype)

    is_sparse = True

    @property
    def requires_grad(self) -> bool:
        """Whether it was made of values that a derivative reaches."""
        return self._source is not None

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Refused, unless its values require a gradient: those it is made of can be asked to, it cannot."""
        if requires_grad and self._source is None:
            raise NotImplementedError(
                "requires_grad_(): a sparse tensor has no gradient of its own here; let its values require one before "
                "torch.sparse_coo_tensor(indices, values, size) is made of them, or use x.to_dense().requires_grad_()"
            )
        return self

    def indices(self) -> Any:
        """Where the elements are, (axes, n)."""
        if not self._coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return self._indices()

    def values(self) -> Any:
        """The elements."""
        if not self._coalesced:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self._values()

    def _indices(self) -> Any:
        return wrap(self._ids if self._rows is None else self._rows.index.astype(np.int64)[None])

    def _values(self) -> Any:
        if self._source is not None:
            return self._source
        return wrap(self._vals if self._rows is None else self._rows.g)

    def _nnz(self) -> int:
        return int(self._ids.shape[1] if self._rows is None else self._rows.index.shape[0])

    def is_coalesced(self) -> bool:
        """Whether each place is there once, in order."""
        return bool(self._coalesced)

    def sparse_dim(self) -> int:
        """The number of axes with coordinates."""
        return int(self._ids.shape[0]) if self._rows is None else 1

    def dense_dim(self) -> int:
        """The number of axes of the values' slices."""
        return int(self._vals.ndim - 1) if self._rows is None else len(self._rows.g.shape) - 1

    def coalesce(self) -> Any:
        """The same with each place once, in order: what was there several times is added up."""
        if self._coalesced:
            return self
        if self._rows is not None:
            return _of_rows(self._rows.coalesced(), coalesced=True)
        lead = self._size[: len(self._ids)]
        flat = np.ravel_multi_index(tuple(self._ids), lead) if self._ids.size else np.zeros(0, np.int64)
        places, inverse = np.unique(flat, return_inverse=True)
        values = np.zeros((len(places), *self._vals.shape[1:]), self._vals.dtype)
        np.add.at(values, inverse.reshape(-1), self._vals)
        ids = np.stack(np.unravel_index(places, lead)).astype(np.int64) if len(lead) else self._ids
        source = None if self._source is None else STYLE.put_add(self._source, (inverse.reshape(-1),), values.shape)
        return sparse(ids, values, self._size, coalesced=True, source=source)

    def to_dense(self, dtype: Any = None, **_: Any) -> Any:
        """The whole, as an ordinary tensor."""
        if self._source is not None:
            y = STYLE.put_add(self._source, tuple(self._ids), self._size)
        else:
            y = wrap(self.array.copy() if self._rows is None else self.array)
        return y if dtype is None else y.to(dtype)

    def to_sparse(self, *_: Any) -> Any:
        """The tensor itself."""
        return self

    def clone(self, **_: Any) -> Any:
        """A copy."""
        if self._rows is not None:  # of arrays that nobody can write to
            return _of_rows(self._rows, coalesced=self._coalesced)
        return sparse(self._ids.copy(), self._vals.copy(), self._size, coalesced=self._coalesced, source=self._source)

    def detach(self) -> Any:
        """The tensor without a history; itself, if it has none."""
        return self if self._source is None else sparse(self._ids, self._vals, self._size, coalesced=self._coalesced)

    def __neg__(self) -> Any:
        if self._rows is not None:
            return _of_rows(self._rows.scaled(-1), coalesced=self._coalesced)
        source = None if self._source is None else STYLE.negative(self._source)
        return sparse(self._ids, -self._vals, self._size, coalesced=self._coalesced, source=source)

    def __repr__(self) -> str:
        end = f", dtype={self.dtype}" if self._vals.dtype not in (np.float32, np.int64, np.bool_) else ""
        ids, values = (repr(wrap(a)).replace("\n", "\n      " + " " * k) for a, k in ((self._ids, 8), (self._vals, 7)))
        return (
            f"tensor(indices={ids},\n       values={values},\n       size={tuple(self._size)}, nnz={self._nnz()}{end}, "
            "layout=torch.sparse_coo)"
        )

    __str__ = __repr__


def sparse(ids: Any, values: Any, size: Any, *, coalesced: bool = False, source: Any = None) -> Any:
    """A sparse tensor of coordinates (axes, n), values (n, ...) and the shape of the whole."""
    made = object.__new__(Sparse)
    made._places = ids
    made._there = values
    made._rows = None
    made._size = tuple(int(n) for n in size)
    made._coalesced = coalesced
    made._dense = None
    made._source = source
    return made


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A sparse tensor of coordinates (axes, n), values (n, ...) and the shape of the whole."""
    from tapegrad.torch._construct import as_tensor

    if requires_grad:
        raise NotImplementedError("sparse_coo_tensor(requires_grad=True): a sparse tensor is a constant in tapegrad.torch")
    ids = np.asarray(as_tensor(indices).read()[0]).astype(np.int64)
    given = as_tensor(values, dtype=dtype)
    found = np.atleast_1d(np.asarray(given.read()[0]))
    if ids.ndim == 1:
        ids = ids[None]
    if size is None:
        size = (*(ids.max(axis=1) + 1 if ids.size else (0,) * len(ids)), *found.shape[1:])
    size = tuple(int(n) for n in size)
    if ids.shape[1] != found.shape[0]:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({len(ids)}) + dense_dim ({found.ndim - 1}), but got {len(size)}: indices and "
            "values differ in number"
        )
    for axis, n in enumerate(size[: len(ids)]):
        if ids.size and (ids[axis].max() >= n or ids[axis].min() < 0):
            raise RuntimeError(f"size is inconsistent with indices: for dim {axis}, size is {n} but found index {int(ids[axis].max())}")
    source = STYLE.reshape(given, found.shape) if given.requires_grad and is_enabled() else None
    return sparse(ids, found, size, coalesced=bool(is_coalesced), source=source)


def to_sparse(x: Any, sparse_dim: Any = None, **_: Any) -> Any:
    """The elements that are not zero, with their coordinates."""
    raw = np.asarray(x.read()[0])
    n = raw.ndim if sparse_dim is None else sparse_dim
    there = raw != 0 if n == raw.ndim else (raw != 0).any(axis=tuple(range(n, raw.ndim)))
    ids = np.argwhere(there).T
    return sparse(np.ascontiguousarray(ids), raw[tuple(ids)], raw.shape, coalesced=True)


def from_rows(rows: Any) -> Any:
    """A gradient that has a few rows of a table, as a sparse tensor."""
    if not rows.is_memory:
        return _of_rows(rows)
    return sparse(np.asarray(rows.index)[None].astype(np.int64), np.asarray(rows.g), rows.shape)


def _of_rows(rows: Rows, *, coalesced: bool = False) -> Any:
    made = sparse(None, None, rows.shape, coalesced=coalesced)
    made._rows = rows
    return made


def joined(a: Any, b: Any) -> Any:
    """The sum of a sparse tensor and another, sparse or not."""
    if a.requires_grad or b.requires_grad:
        return STYLE.add(a.to_dense(), b.to_dense() if isinstance(b, Sparse) else b)
    if not isinstance(b, Sparse):
        return wrap(a.array + (np.asarray(b.read()[0]) if a._rows is None else b.read()[0]))
    if a._rows is not None and b._rows is not None:
        return _of_rows(a._rows + b._rows)
    return sparse(np.concatenate([a._ids, b._ids], axis=1), np.concatenate([a._vals, b._vals]), a._size)


def mm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse and a dense matrix: row by row of what is there."""
    if not isinstance(mat1, Sparse) or len(mat1._ids) != 2:
        return STYLE.matmul(mat1, mat2)
    i, j = mat1._ids
    rows = STYLE.multiply(STYLE.take(mat2, j, axis=0), STYLE.expand_dims(mat1._values(), axis=1))
    return STYLE.put_add(rows, (i,), (mat1._size[0], *mat2.array.shape[1:]))
