"""NumPy's functions with those of their options that ours of the same meaning do not have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError, DTypeError
from tapegrad.numpy_compositions import COMPOSITIONS, public, read, values_of
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# -- spread ----------------------------------------------------------------------------------------------
def _spread(name: str) -> Callable[..., Any]:
    """Our variance or deviation; of chosen elements, or about a mean that is given, from the distances."""

    def run(
        x: Any, /, *, axis: Any = None, correction: float = 0, keepdims: bool = False, where: Any = True, mean: Any = None
    ) -> Any:
        x = read(x)
        if where is True and mean is None:
            return public(name)(x, axis=axis, correction=correction, keepdims=keepdims)
        chosen = np.broadcast_to(values_of(where), x.shape)
        kept = np.sum(chosen, axis=axis, keepdims=True)
        real = np.finfo(np.result_type(x.dtype, np.float16)).dtype
        if mean is None:
            mean = F.sum(F.where(read(chosen), x, 0), axis=axis, keepdims=True) / read(kept.astype(real))
        distances = F.where(read(chosen), x - mean, 0)
        count = read(np.maximum((kept if keepdims else np.sum(chosen, axis=axis)) - correction, 0).astype(real))
        if name == "std":
            return public("linalg.vector_norm")(distances, axis=axis, keepdims=keepdims) / F.sqrt(count)
        return F.sum(F.real(distances * F.conj(distances)), axis=axis, keepdims=keepdims) / count

    return run


def _average(x: Any, /, *, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    x = read(x)
    if weights is None:
        y = F.mean(x, axis=axis, keepdims=keepdims)
        total: Any = np.asarray(x.size / max(y.size, 1), y.dtype)
        return (y, F.broadcast_to(read(total), y.shape)) if returned else y
    w = read(weights)
    if w.ndim != x.ndim:
        if w.ndim != 1 or not isinstance(axis, int):
            raise ArgumentError(f"np.average(weights=...): expected weights like x, or along one axis, got {w.shape}")
        w = F.reshape(w, tuple(-1 if i == axis % x.ndim else 1 for i in range(x.ndim)))
    w = F.broadcast_to(w, x.shape)
    total = F.sum(w, axis=axis, keepdims=keepdims)
    y = F.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (y, total) if returned else y


# -- order and shape -------------------------------------------------------------------------------------
def _reshape(x: Any, /, shape: Any, *, order: str = "C", copy: bool | None = None) -> Any:
    """In the order "F" the first axis goes fastest: what the transpose has in the usual one."""
    if order == "F":
        shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        return _reversed(F.reshape(_reversed(read(x)), shape[::-1]))
    if order not in ("C", "A", "K"):
        raise ArgumentError(f'np.reshape(order=...): expected "C", "F" or "A", got {order!r}')
    return public("reshape")(read(x), shape, copy=copy)


def _reversed(x: Any) -> Any:
    return F.permute_dims(x, tuple(range(x.ndim))[::-1])


def _ravel(x: Any, /, *, order: str = "C") -> Any:
    return _reshape(x, (-1,), order=order)


def _concatenate(arrays: Sequence[Any], /, *, axis: int | None = 0, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [read(x) for x in arrays]
    if dtype is None:
        return public("concat")(parts, axis=axis)
    for x in parts:
        if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]  # NumPy says which words there are
            raise DTypeError(f"np.concatenate(dtype={dtype!r}, casting={casting!r}): expected arrays that this rule casts, got {x.dtype}")
    return public("concat")([F.astype(x, np.dtype(dtype)) for x in parts], axis=axis)


def _size(x: Any, /, *, axis: Any = None) -> int:
    shape = read(x).shape
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[a] for a in axes)


def _trace(x: Any, /, *, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    y = COMPOSITIONS["diagonal"](read(x), offset=offset, axis1=axis1, axis2=axis2)
    return F.sum(y, axis=-1, dtype=None if dtype is None else np.dtype(dtype))


def _apply_over_axes(function: Any, x: Any, axes: Any, /) -> Any:
    """The function along one axis after the other; an axis that it takes away is put back with length 1."""
    x = read(x)
    for axis in [int(a) for a in np.atleast_1d(axes)]:
        y = read(function(x, axis if axis >= 0 else axis + x.ndim))
        if y.ndim not in (x.ndim, x.ndim - 1):
            raise ArgumentError(f"np.apply_over_axes: expected a function that keeps the axis or takes it away, got shape {tuple(y.shape)}")
        x = y if y.ndim == x.ndim else F.expand_dims(y, axis=axis if axis >= 0 else axis + x.ndim)
    return x


# -- choosing and sorting --------------------------------------------------------------------------------
def _take(x: Any, indices: Any, /, *, axis: int | None = None, mode: str = "raise") -> Any:
    x = read(x)
    if mode == "raise":
        return F.take(x, indices, axis=axis)
    places, n = values_of(indices), x.size if axis is None else x.shape[axis]
    if mode not in ("wrap", "clip"):
        raise ArgumentError(f'np.take(mode=...): expected "raise", "wrap" or "clip", got {mode!r}')
    return F.take(x, places % n if mode == "wrap" else np.clip(places, 0, n - 1), axis=axis)


def _sorted(name: str) -> Callable[..., Any]:
    def run(x: Any, /, *, axis: int | None = -1, stable: Any = None) -> Any:
        x = read(x)
        return getattr(F, name)(F.reshape(x, (-1,)), axis=0) if axis is None else getattr(F, name)(x, axis=axis)

    return run


def _unique(
    x: Any,
    /,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002  NumPy's name
) -> Any:
    """The first of equal elements, or of equal parts along an axis, sorted."""
    x = read(x)
    words: dict[str, Any] = {"axis": axis, "equal_nan": equal_nan}
    _, first, inverse, counts = np.unique(values_of(x), return_index=True, return_inverse=True, return_counts=True, **words)
    found = F.take(x if axis is not None else F.reshape(x, (-1,)), first, axis=axis or 0)
    asked = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    more = [read(v) for v, wanted in asked if wanted]
    return (found, *more) if more else found


def _real_if_close(x: Any, /, *, tol: float = 100) -> Any:
    x = read(x)
    if x.dtype.kind != "c":
        return x
    limit = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    return F.real(x) if bool((np.abs(values_of(x).imag) < limit).all()) else x


# -- linear algebra --------------------------------------------------------------------------------------
def _einsum(*operands: Any, optimize: Any = None, **words: Any) -> Any:
    """How a product of many is taken apart is the kernels' matter."""
    refused = [f"{k}={v!r}" for k, v in words.items() if v is not None and (k, v) not in (("order", "K"), ("casting", "safe"))]
    if refused:
        raise ArgumentError(f"np.einsum: no argument {refused[0]} for tensors; write tapegrad.astype for another dtype")
    return public("einsum")(*operands)


def _of_triangle(name: str) -> Callable[..., Any]:
    """Ours reads the lower triangle, which the adjoint has of the upper one."""

    def run(x: Any, /, *, UPLO: str = "L") -> Any:
        if UPLO.upper() not in ("L", "U"):
            raise ArgumentError(f'np.linalg.{name}(UPLO=...): expected "L" or "U", got {UPLO!r}')
        x = read(x)
        return public(f"linalg.{name}")(x if UPLO.upper() == "L" else F.conj(F.matrix_transpose(x)))

    return run


def _svd(x: Any, /, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return public("linalg.svd")(read(x), full_matrices=full_matrices) if compute_uv else public("linalg.svdvals")(read(x))


def _qr(x: Any, /, *, mode: str = "reduced") -> Any:
    if mode == "r":
        return public("linalg.qr")(read(x), mode="reduced")[1]
    return public("linalg.qr")(read(x), mode=mode)


OPTIONS: dict[str, Callable[..., Any]] = {
    "std": _spread("std"),
    "var": _spread("var"),
    "average": _average,
    "reshape": _reshape,
    "ravel": _ravel,
    "concatenate": _concatenate,
    "size": _size,
    "trace": _trace,
    "apply_over_axes": _apply_over_axes,
    "take": _take,
    "sort": _sorted("sort"),
    "argsort": _sorted("argsort"),
    "unique": _unique,
    "real_if_close": _real_if_close,
    "einsum": _einsum,
    "eigh": _of_triangle("eigh"),
    "eigvalsh": _of_triangle("eigvalsh"),
    "svd": _svd,
    "qr": _qr,
}
