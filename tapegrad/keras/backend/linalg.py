"""Keras's linear algebra, where NumPy's functions have arguments or results of their own."""

from __future__ import annotations

from typing import Any

import numpy
from keras.src import tree
from keras.src.backend import standardize_dtype
from keras.src.backend.common import dtypes

import tapegrad as tg
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.numpy_compositions import COMPOSITIONS
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded
from tapegrad.registry.space import F

__all__ = [
    "cholesky_inverse",
    "eig",
    "eigh",
    "jvp",
    "lstsq",
    "lu_factor",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "solve_triangular",
    "svd",
]


def eig(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a square matrix."""
    return tuple(tg.linalg.eig(convert_to_tensor(a)))  # type: ignore[return-value]


def eigh(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    return tuple(tg.linalg.eigh(convert_to_tensor(a)))  # type: ignore[return-value]


def qr(x: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """An orthonormal and an upper triangular factor."""
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}"
        )
    return tuple(tg.linalg.qr(convert_to_tensor(x), mode=mode))  # type: ignore[return-value]


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition, or the singular values alone."""
    x = convert_to_tensor(x)
    return tuple(tg.linalg.svd(x, full_matrices=full_matrices)) if compute_uv else tg.linalg.svdvals(x)


def lu_factor(a: Any) -> tuple[Any, Any]:
    """The LU factors in one matrix, and the pivots; of values that no tape records, for tapegrad has no derivative of it."""
    a = convert_to_tensor(a)
    if is_recorded(a.node):
        raise NotImplementedError("lu_factor of values that a tape records: tapegrad has no derivative of it; use solve")
    from scipy import linalg

    values = convert_to_numpy(a)
    *batch, m, n = values.shape
    if not batch:
        lu, pivots = linalg.lu_factor(values)
    else:
        flat = [linalg.lu_factor(v) for v in values.reshape(-1, m, n)]
        lu = numpy.stack([f for f, _ in flat]).reshape(values.shape)
        pivots = numpy.stack([p for _, p in flat]).reshape(*batch, min(m, n))
    return asarray(lu), asarray(numpy.asarray(pivots, numpy.int32))


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """The solution of a triangular system."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if b.ndim == a.ndim - 1:
        return F.squeeze(tg.linalg.solve_triangular(a, F.expand_dims(b, axis=-1), lower=lower), -1)
    return tg.linalg.solve_triangular(a, b, lower=lower)


def cholesky_inverse(a: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose Cholesky factor is given."""
    a = convert_to_tensor(a)
    return tg.linalg.cholesky_solve(a, F.eye(a.shape[-1], dtype=a.dtype), upper=upper)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    """The least-squares solution, of least norm."""
    return tg.linalg.lstsq(convert_to_tensor(a), convert_to_tensor(b), rtol=rcond)


def matrix_rank(x: Any, tol: float | None = None) -> Any:
    """The number of singular values above `tol`."""
    x = convert_to_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"Expected input to have rank >= 2. Received input with shape {x.shape}.")
    if tol is None:
        return F.astype(tg.linalg.matrix_rank(x), numpy.int32)
    return F.sum(F.astype(F.greater(tg.linalg.svdvals(x), convert_to_tensor(tol, x.dtype)), numpy.int32), axis=-1)


def pinv(x: Any, rcond: float | None = None) -> Any:
    """The pseudo-inverse."""
    return tg.linalg.pinv(convert_to_tensor(x), rtol=rcond)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002  Keras's name
    """A norm of vectors or of matrices."""
    x = convert_to_tensor(x)
    if x.array.dtype.kind in "biu":
        x = F.astype(x, dtypes.result_type(standardize_dtype(x.dtype), "float32"))
    rank = x.ndim if axis is None else len(axis) if isinstance(axis, list | tuple) else 1
    if rank == 1 and isinstance(ord, str):
        raise ValueError(f"Invalid norm order for vectors. Received: ord={ord!r}")
    if rank == 2 and ord is not None and ord not in ("fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf):
        raise ValueError(f"Invalid norm order for matrices. Received: ord={ord!r}")
    return COMPOSITIONS["norm"](x, ord=ord, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of a function and its derivative along tangents."""
    xs = [convert_to_tensor(x) for x in primals]
    ts = [convert_to_tensor(t) for t in tangents]
    with tg.ForwardAccumulator(xs, ts) as accumulator:
        given = fun(*xs)
    value, *aux = given if has_aux else (given,)
    return (value, tree.map_structure(lambda y: accumulator.jvp(y, unconnected_gradients="zero"), value), *aux)


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
