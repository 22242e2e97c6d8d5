"""NumPy's functions of rows of numbers: spaced numbers, sets, polynomials, angles that are unwrapped, functions along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.numpy_compositions import public, read, values_of
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# -- numbers between two ends ----------------------------------------------------------------------------
def _linspace(
    start: Any, stop: Any, /, *, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """The weights of both ends are NumPy's numbers between 0 and 1."""
    a, b = read(start), read(stop)
    kind = np.result_type(a.dtype, b.dtype, np.float64(0) if "f" != a.dtype.kind != "c" and "f" != b.dtype.kind != "c" else 0.0)
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = (F.broadcast_to(F.astype(v, kind), shape) for v in (a, b))
    part = np.linspace(0.0, 1.0, num, endpoint=endpoint).astype(a.real.dtype if kind.kind == "c" else kind)
    part = read(part.reshape(-1, *(1,) * len(shape)))
    y = a + (b - a) * part
    if endpoint and num > 1:  # rounding does not move the end
        y = F.concat([y[:-1], F.expand_dims(b, axis=0)], axis=0)
    y = F.moveaxis(y if dtype is None else F.astype(y, np.dtype(dtype)), 0, axis)
    parts = num - 1 if endpoint else num
    return (y, (b - a) / parts if parts > 0 else (b - a) * math.nan) if retstep else y


def _logspace(start: Any, stop: Any, /, *, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    power = _linspace(start, stop, num=num, endpoint=endpoint)
    y = F.pow(read(base) if hasattr(base, "shape") else base, power)
    return F.moveaxis(y if dtype is None else F.astype(y, np.dtype(dtype)), 0, axis)


def _geomspace(start: Any, stop: Any, /, *, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    a, b = read(start), read(stop)
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        raise ArgumentError(f"np.geomspace: expected real ends for a recorded tensor, got {a.dtype} and {b.dtype}")
    part = _linspace(0.0, 1.0, num=num, endpoint=endpoint)
    part = F.reshape(part, (-1, *(1,) * len(np.broadcast_shapes(a.shape, b.shape))))
    y = a * F.pow(b / a, part)
    return F.moveaxis(y if dtype is None else F.astype(y, np.dtype(dtype)), 0, axis)


def _meshgrid(*arrays: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Each in its own dtype, as NumPy leaves them; sparse ones have length 1 along the axes of others."""
    found = []
    for i, x in enumerate(map(read, arrays)):
        place = 1 - i if indexing == "xy" and i < 2 and len(arrays) > 1 else i
        found.append(F.reshape(x, tuple(-1 if j == place else 1 for j in range(len(arrays)))))
    shape = np.broadcast_shapes(*(x.shape for x in found))
    return found if sparse else [F.broadcast_to(x, shape) for x in found]


# -- sets ------------------------------------------------------------------------------------------------
def _row(x: Any) -> Any:
    return F.reshape(read(x), (-1,))


def _chosen(x: Any, places: Any) -> Any:
    return F.take(x, np.asarray(places, dtype=np.int64), axis=0)


def _union1d(x1: Any, x2: Any, /) -> Any:
    both = F.concat([_row(x1), _row(x2)], axis=0)
    return _chosen(both, np.unique(values_of(both), return_index=True)[1])


def _intersect1d(x1: Any, x2: Any, /, *, assume_unique: bool = False, return_indices: bool = False) -> Any:
    a = F.astype(_row(x1), np.result_type(values_of(x1), values_of(x2)))
    _, i, j = np.intersect1d(values_of(a), values_of(_row(x2)), assume_unique=assume_unique, return_indices=True)
    return (_chosen(a, i), read(i), read(j)) if return_indices else _chosen(a, i)


def _setdiff1d(x1: Any, x2: Any, /, *, assume_unique: bool = False) -> Any:
    a = _row(x1)
    own = np.arange(a.size) if assume_unique else np.unique(values_of(a), return_index=True)[1]
    return _chosen(a, own[~np.isin(values_of(a)[own], values_of(_row(x2)))])


def _setxor1d(x1: Any, x2: Any, /, *, assume_unique: bool = False) -> Any:
    whole = F.concat([_setdiff1d(x1, x2, assume_unique=assume_unique), _setdiff1d(x2, x1, assume_unique=assume_unique)], axis=0)
    return _chosen(whole, np.argsort(values_of(whole), kind="stable"))


def _sort_complex(x: Any, /) -> Any:
    x = read(x)
    places = np.argsort(values_of(x), axis=-1, kind="stable")
    y = F.take_along_axis(x, places, axis=-1)
    return y if y.dtype.kind == "c" else F.astype(y, np.result_type(y.dtype, np.complex64))


def _trim_zeros(x: Any, /, *, trim: str = "fb") -> Any:
    x = read(x)
    if x.ndim != 1:
        raise ShapeError(f"np.trim_zeros(filt): expected one axis, got shape {tuple(x.shape)}")
    found = np.flatnonzero(values_of(x))
    first = int(found[0]) if "f" in trim.lower() and len(found) else 0
    last = int(found[-1]) + 1 if "b" in trim.lower() and len(found) else x.size
    return x[first:last] if len(found) else x[:0]


# -- polynomials, highest power first --------------------------------------------------------------------
def _added(sign: int) -> Callable[..., Any]:
    def run(x1: Any, x2: Any, /) -> Any:
        a, b = (F.reshape(v, (1,)) if v.ndim == 0 else v for v in (read(x1), read(x2)))
        n = max(a.size, b.size)
        a, b = (F.concat([F.zeros((n - v.size,), dtype=v.dtype), v], axis=0) if v.size < n else v for v in (a, b))
        return a + b if sign > 0 else a - b

    return run


def _polymul(x1: Any, x2: Any, /) -> Any:
    a, b = (_trim_zeros(F.reshape(read(v), (-1,)), trim="f") for v in (x1, x2))
    return public("convolve")(a, b)


def _polyder(p: Any, /, *, m: int = 1) -> Any:
    p = read(p)
    for _ in range(m):
        p = p[:-1] * read(np.arange(p.size - 1, 0, -1).astype(p.dtype))
    return p


def _polyint(p: Any, /, *, m: int = 1, k: Any = None) -> Any:
    p = read(p)
    constants = np.zeros(m) if k is None else np.broadcast_to(values_of(k), (m,))
    for i in range(m):
        p = F.concat([p / read(np.arange(p.size, 0, -1).astype(p.dtype)), read(constants[i : i + 1].astype(p.dtype))], axis=0)
    return p


def _poly(x: Any, /) -> Any:
    """The polynomial of these roots; of a matrix, that of its eigenvalues."""
    x = read(x)
    roots = _eigvals(x) if x.ndim == 2 else F.reshape(x, (-1,))
    p = F.ones((1,), dtype=roots.dtype)
    for i in range(roots.size):
        p = F.concat([p, F.zeros((1,), dtype=p.dtype)], axis=0) - F.concat([F.zeros((1,), dtype=p.dtype), p * roots[i]], axis=0)
    return F.real(p) if x.dtype.kind != "c" and p.dtype.kind == "c" else p


def _roots(p: Any, /) -> Any:
    p = _trim_zeros(F.reshape(read(p), (-1,)), trim="f")
    core = _trim_zeros(p, trim="b")
    zeros = F.zeros((p.size - core.size,), dtype=p.dtype)
    n = core.size - 1
    if n < 1:
        return zeros
    companion = F.concat([F.expand_dims(-core[1:] / core[0], axis=0), F.eye(n, dtype=p.dtype)[:-1]], axis=0)
    found = _eigvals(companion)
    return F.concat([found, F.astype(zeros, found.dtype)], axis=0) if zeros.size else found


# -- matrices --------------------------------------------------------------------------------------------
def _narrowed(x: Any, w: Any, *more: Any) -> tuple[Any, ...]:
    """Eigenvalues as NumPy gives them: real ones of a real matrix in its dtype."""
    if x.dtype.kind != "c" and not np.any(values_of(F.imag(w))):
        return tuple(F.real(v) for v in (w, *more))
    return w, *more


def _eigvals(x: Any, /) -> Any:
    return _narrowed(x, public("linalg.eigvals")(x))[0]


def _eig(x: Any, /) -> Any:
    found = public("linalg.eig")(x)
    return type(found)(*_narrowed(x, *found)) if hasattr(found, "_fields") else _narrowed(x, *found)


def _tensorinv(x: Any, /, *, ind: int = 2) -> Any:
    front, back = x.shape[:ind], x.shape[ind:]
    if math.prod(front) != math.prod(back):
        raise ShapeError(f"np.linalg.tensorinv(a, ind={ind}): expected as many elements before that axis as after it, got {tuple(x.shape)}")
    return F.reshape(public("linalg.inv")(F.reshape(x, (math.prod(front), -1))), (*back, *front))


def _tensorsolve(a: Any, b: Any, /, *, axes: Any = None) -> Any:
    a, b = read(a), read(b)
    if axes is not None:
        a = F.moveaxis(a, tuple(axes), tuple(range(a.ndim - len(tuple(axes)), a.ndim)))
    rest = a.shape[b.ndim :]
    if math.prod(rest) != b.size:
        raise ShapeError(f"np.linalg.tensorsolve(a, b): expected a square a, got shapes {tuple(a.shape)} and {tuple(b.shape)}")
    return F.reshape(public("linalg.solve")(F.reshape(a, (b.size, b.size)), F.reshape(b, (-1,))), rest)


# -- functions along an axis, and of parts -----------------------------------------------------------------
def _unwrap(x: Any, /, *, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi) -> Any:
    """What is added is a whole number of periods, so that it has no derivative."""
    x = read(x)
    plain = values_of(x)
    return x + read((np.unwrap(plain, discont=discont, axis=axis, period=period) - plain).astype(x.dtype))


def _apply_along_axis(function: Callable[..., Any], axis: int, x: Any, *args: Any, **words: Any) -> Any:
    x = read(x)
    rows = F.moveaxis(x, axis, -1)
    outer = rows.shape[:-1]
    rows = F.reshape(rows, (math.prod(outer), rows.shape[-1]))
    if not rows.shape[0]:
        raise ShapeError(f"np.apply_along_axis: expected at least one row, got shape {tuple(x.shape)}")
    found = F.stack([read(function(rows[i], *args, **words)) for i in range(rows.shape[0])])
    inner = found.shape[1:]
    found = F.reshape(found, (*outer, *inner))
    place = axis % x.ndim
    order = tuple(range(place)) + tuple(range(len(outer), found.ndim)) + tuple(range(place, len(outer)))
    return F.permute_dims(found, order)


def _piecewise(x: Any, conditions: Any, functions: Sequence[Any], /, *args: Any, **words: Any) -> Any:
    """Each function sees the elements of its part alone, as in NumPy."""
    x = read(x)
    given = [conditions] if not isinstance(conditions, list | tuple) else list(conditions)
    chosen = [np.broadcast_to(values_of(c), x.shape).astype(bool) for c in given]
    if len(functions) == len(chosen) + 1:
        chosen.append(~np.any(chosen, axis=0))
    if len(functions) != len(chosen):
        raise ArgumentError(f"np.piecewise: expected {len(chosen)} or {len(chosen) + 1} functions, got {len(functions)}")
    y = F.zeros(x.shape, dtype=x.dtype)
    for c, f in zip(chosen, functions, strict=True):
        part = f(x[c], *args, **words) if callable(f) else f
        y = F.put(y, F.broadcast_to(F.astype(read(part), x.dtype), (int(c.sum()),)), c)
    return y


def _full_like(x: Any, value: Any, /, *, dtype: Any = None, shape: Any = None, device: Any = None) -> Any:
    x, v = read(x), read(value)
    if not isinstance(value, Tensor):
        found = np.full_like(values_of(x), values_of(v), dtype=dtype, shape=shape)
        return public("asarray")(found, device=device)
    wanted = x.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return F.broadcast_to(F.astype(v, np.dtype(dtype) if dtype is not None else x.dtype), wanted)


ROWS: dict[str, Callable[..., Any]] = {
    "linspace": _linspace,
    "logspace": _logspace,
    "geomspace": _geomspace,
    "meshgrid": _meshgrid,
    "union1d": _union1d,
    "intersect1d": _intersect1d,
    "setdiff1d": _setdiff1d,
    "setxor1d": _setxor1d,
    "sort_complex": _sort_complex,
    "trim_zeros": _trim_zeros,
    "polyadd": _added(1),
    "polysub": _added(-1),
    "polymul": _polymul,
    "polyder": _polyder,
    "polyint": _polyint,
    "poly": _poly,
    "roots": _roots,
    "eig": _eig,
    "eigvals": _eigvals,
    "tensorinv": _tensorinv,
    "tensorsolve": _tensorsolve,
    "unwrap": _unwrap,
    "apply_along_axis": _apply_along_axis,
    "piecewise": _piecewise,
    "full_like": _full_like,
}
