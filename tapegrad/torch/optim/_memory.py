"""The memory of parameters and of what optimizers keep with them: read, changed in place, put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.node import tick
from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.numpy_scatter import ROW_KERNELS
from tapegrad.torch._inplace import commit
from tapegrad.torch._stale import spoil
from tapegrad.torch._storage import wrote
from tapegrad.torch._tensor import STYLE, Tensor, wrap
from tapegrad.torch._views import store_of


def read(t: Any) -> Any:
    """The bare array of a tensor; a complex one as pairs of real numbers."""
    array = t.array if type(t) is Tensor else t.read()[0]
    if array.dtype.kind != "c":
        return array
    return _as_pairs(np.ascontiguousarray(array) if type(array) is np.ndarray else array)


def opened(t: Any) -> Any:
    """The bare array of a tensor whose memory is to be changed; a complex one as pairs of real numbers."""
    array = t.array if type(t) is Tensor else t.read()[0]
    return array if array.dtype.kind != "c" else _as_pairs(array)


def _as_pairs(a: Any) -> Any:
    if type(a) is not np.ndarray or not a.flags.c_contiguous:
        raise NotImplementedError("optimizers take complex parameters whose memory is contiguous, on NumPy kernels")
    return a.view(a.real.dtype).reshape((*a.shape, 2))


def kept(t: Any, array: Any) -> None:
    """Let a tensor of the state hold this array, which is its own memory where arrays can change."""
    if type(t.array) is not np.ndarray:
        t.array = array


def replaced(p: Any, array: Any) -> None:
    """Let a parameter hold this array, and count one change; the array is its own memory where arrays can change."""
    raw = p.array
    if type(raw) is np.ndarray:
        store = store_of(p)
        wrote(store, raw)
        if store.fresh:
            spoil(store, p)
    else:
        before = tick()
        commit(p, wrap(array), before)


def scalar(value: float) -> Any:
    """A tensor of one number, that can change in place."""
    return wrap(np.array(value, np.float32))


def zeros(p: Any) -> Any:
    """Zeros of a parameter's shape and dtype."""
    array = p.read()[0]
    made = np.zeros(array.shape, array.dtype) if isinstance(array, np.ndarray | np.generic) else array * 0
    return wrap(made)


def copied(g: Any) -> Any:
    """A tensor of a copy of an update."""
    if type(g) is Core:  # a step that is recorded
        made: Any = STYLE.adopt(g)
        made.array = np.array(made.array) if isinstance(made.array, np.ndarray | np.generic) else made.array
        return made
    return wrap(np.array(g) if isinstance(g, np.ndarray | np.generic) else g)


# -- arithmetic into memory that is there already --------------------------------------------------------------
def scratch_of(owner: Any, a: Any) -> Any:
    """Memory like an array's, which the optimizer keeps: new memory for each step costs several times the arithmetic.

    None for small arrays, and where arrays can't change.
    """
    if type(a) is not np.ndarray or a.size < 4096:
        return None
    kept_ = owner.__dict__.setdefault("_scratch", {})
    key = (a.shape, a.dtype)
    found = kept_.get(key)
    if found is None:
        found = kept_[key] = np.empty_like(a)
    return found


_AXPY: dict[Any, Any] = {}


def descended(owner: Any, p: Any, rate: float, g: Any) -> Any:
    """p - rate g; for large arrays in one pass, by the library that SciPy brings."""
    if type(p) is np.ndarray and p.size >= 1 << 14 and p.flags.c_contiguous and g.flags.c_contiguous and p.dtype == g.dtype:
        axpy = _AXPY.get(p.dtype) or _find_axpy(p.dtype)
        if axpy is not None:
            axpy(g.reshape(-1), p.reshape(-1), a=-rate)
            return p
    p -= times(g, rate, scratch_of(owner, p))
    return p


def _find_axpy(dtype: Any) -> Any:
    from scipy.linalg import blas

    _AXPY[np.dtype(np.float32)], _AXPY[np.dtype(np.float64)] = blas.saxpy, blas.daxpy
    return _AXPY.get(dtype)


def minus(a: Any, b: Any, out: Any) -> Any:
    """a - b, in `out` if there is one."""
    return a - b if out is None else np.subtract(a, b, out)


def times(a: Any, b: Any, out: Any) -> Any:
    """a b, in `out` if there is one."""
    return a * b if out is None else np.multiply(a, b, out)


def over(a: Any, b: Any, out: Any) -> Any:
    """a / b, in `out` if there is one."""
    return a / b if out is None else np.divide(a, b, out)


def root(a: Any, out: Any = None) -> Any:
    """The square root of each element, in `out` if there is one."""
    if isinstance(a, np.ndarray | np.generic):
        return np.sqrt(a, out) if out is not None else np.sqrt(a)
    return a**0.5


def larger(a: Any, b: Any) -> Any:
    """The larger of each two elements; in `a` itself, where arrays can change."""
    if type(a) is np.ndarray:
        return np.maximum(a, b, out=a)
    return a + (b > a) * (b - a)


# -- gradients of some rows --------------------------------------------------------------------------------------
def rows(grad: Any) -> tuple[Any, Any]:
    """Which rows a gradient has, each once, and their values: arrays of the kernels that it is on."""
    grad = grad.coalesce()
    if grad._rows is not None:
        return grad._rows.index, grad._rows.g
    return np.asarray(read(grad.indices()))[0], np.asarray(read(grad.values()))


def add_to_rows(a: Any, index: Any, values: Any) -> Any:
    """The array with values added to rows of it, each of which is named once."""
    if type(a) is np.ndarray:
        a[index] += values
        return a
    return ROW_KERNELS[type(a)].rows_added(a, index, values)


def add_rows(p: Any, grad: Any, factor: float) -> Any:
    """A parameter's array plus a gradient of some rows, times a factor."""
    index, values = rows(grad)
    return add_to_rows(p, index, factor * values)


