"""The NumPy kernels: functions of the array API on raw arrays, with NumPy 2's promotion.

What NumPy does as the array API asks is taken as it is; the rest is built here.  Arguments may be read-only and of any
layout; results never share memory with what a caller may write to, except as views of their arguments.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import numpy as np
from numpy import abs as abs  # noqa: PLC0414
from numpy import (  # noqa: F401  re-exported: these are kernels
    acos,
    acosh,
    add,
    arange,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    copysign,
    cos,
    cosh,
    divide,
    empty,
    equal,
    exp,
    floor,
    fmod,
    full,
    greater,
    greater_equal,
    hypot,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    linspace,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    moveaxis,
    multiply,
    negative,
    nextafter,
    not_equal,
    ones,
    positive,
    reciprocal,
    repeat,
    roll,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tril,
    triu,
    trunc,
    zeros,
)
from numpy import round as round  # noqa: PLC0414

from tapegrad.kernels import numpy_heap as _heap  # noqa: F401  for what it does
from tapegrad.kernels.numpy_activation import (  # noqa: F401  kernels too
    expit,
    huber,
    relu,
    relu_grad,
    sigmoid,
    sigmoid_grad,
    square_grad,
    step,
    tanh_grad,
)
from tapegrad.kernels.numpy_bounds import at_least, at_most, between, finite_or, own_number  # noqa: F401  kernels too
from tapegrad.kernels.numpy_division import floor_divide, remainder  # noqa: F401  kernels too
from tapegrad.kernels.numpy_fft import (  # noqa: F401  kernels too
    dft,
    fft_frequencies,
    inverse_dft,
    inverse_real_dft,
    real_dft,
    rfft_frequencies,
)
from tapegrad.kernels.numpy_linalg import (  # noqa: F401  kernels too
    around_zero,
    cholesky,
    cofactor,
    cofactor_along,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    inv_or_inf,
    matrix_exp,
    matrix_exp_along,
    matrix_rank,
    pinv,
    power_norm,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from tapegrad.kernels.numpy_powers import pow  # noqa: F401  a kernel too
from tapegrad.kernels.numpy_products import (  # noqa: F401  kernels too
    adjoint_matmul,
    contract,
    inner,
    matmul,
    matmul_adjoint,
    matrix_adjoint,
    matrix_transpose,
)
from tapegrad.kernels.numpy_running import (  # noqa: F401  kernels too
    cumulative_prod,
    cumulative_prod_grad_quickly,
    cumulative_sum,
    others_quickly,
    prod,
)
from tapegrad.kernels.numpy_scatter import (  # noqa: F401  kernels too
    is_basic,
    last_picks,
    put,
    put_add,
    put_along_axis_add,
    rows_add,
    take_add,
)
from tapegrad.kernels.numpy_shape import (  # noqa: F401  kernels too
    broadcast_to,
    concat,
    diagonal,
    expand_dims,
    eye,
    flip,
    getitem,
    ones_beside,
    parts,
    permute_dims,
    put_diagonal,
    reshape,
    squeeze,
    stack,
    take,
    take_along_axis,
    zeros_beside,
)
from tapegrad.kernels.numpy_special_cases import expm1, tanh  # noqa: F401  kernels too
from tapegrad.kernels.numpy_sums import (  # noqa: F401  kernels too
    HALVES,
    cross_entropy,
    cross_entropy_grad,
    cross_entropy_keeping,
    divided_last,
    log_softmax,
    logaddexp,
    logsumexp,
    logsumexp_keeping,
    shares,
    softmax,
    softplus,
    sum,
    sum_to,
)
from tapegrad.kernels.numpy_where import where  # noqa: F401  a kernel too

_np: Any = np  # whose type hints know `keepdims` as True and as False, but not as a bool
#: Kernels of modules that are imported when one of them is first asked for: together they take as long as a tenth of the package.
_LATER = {
    "numpy_conv": "conv conv_input_grad conv_kernel_grad fold unfold",
    "numpy_norm": "standardize standardize_cotangent",
    "numpy_padding": "pad_by_own pad_by_own_add",
    "numpy_pool": "window_argmax window_max window_put window_spread window_sum window_take",
    "numpy_recurrent": "lstm lstm_cotangent",
    "numpy_special": """
        bessel_i bessel_j bessel_k bessel_y beta betainc betaln dawsn digamma entr erf erfc erfcinv erfcx erfinv
        expi fresnel_cos fresnel_sin gamma gammainc gammaincc gammaln scaled_bessel_k spence
        i0 i0e i1 i1e kl_div log_ndtr logit ndtr ndtri normal_hazard polygamma polygamma_gap rel_entr scaled_bessel_slope
        scaled_erfc_integral sinc sinc_derivative xlog1py xlogy zeta
    """,
}
_MODULES = {name: module for module, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(importlib.import_module(f"tapegrad.kernels.{module}"), name)
    return found


# -- dtypes ------------------------------------------------------------------------------------------
def astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    """Values as another dtype; complex values are not made real silently (take `real` first)."""
    return x.astype(dtype, copy=copy) if x.dtype != dtype or copy else x


def cast(x: Any, dtype: Any) -> Any:
    """Values in another floating dtype; the real part where it is real and they are complex."""
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    return x.astype(dtype)


def sign(x: Any) -> Any:
    return np.sign(x)


def share(x1: Any, x2: Any) -> Any:
    """1 where x1 > x2, 0.5 where they are equal, 0 elsewhere."""
    plain = type(x2) in (int, float) and type(x1) is np.ndarray and x1.dtype.kind == "f"  # as in maximum(x, 0)
    dtype = x1.dtype if plain else np.result_type(x1, x2)
    larger = np.greater(x1, x2).astype(dtype)
    ties = np.equal(x1, x2)
    return larger + ties.astype(dtype) * dtype.type(0.5) if np.count_nonzero(ties) else larger


def truth(condition: Any, x1: Any, x2: Any) -> Any:
    y = condition.astype(np.result_type(x1, x2))
    shape = np.broadcast_shapes(y.shape, np.shape(x1), np.shape(x2))
    return y if y.shape == shape else np.broadcast_to(y, shape)


def conj(x: Any) -> Any:
    """The complex conjugate; a real array is given back as it is."""
    if type(x) in (int, float, complex):
        return x.conjugate()
    return x.conj() if x.dtype.kind == "c" else x


def real(x: Any) -> Any:
    return x.real


def imag(x: Any) -> Any:
    return x.imag if x.dtype.kind == "c" else np.zeros(x.shape, x.dtype)


def mul_zero(g: Any, partial: Any) -> Any:
    """`g * partial`, and zero wherever `g` is zero, whatever `partial` is there."""
    c = g * partial
    if type(partial) is np.ndarray and partial.size << 4 < c.size and np.isfinite(partial).all():
        return c
    return np.where(g == 0, np.zeros((), c.dtype), c) if _has_nan(c) else c


def mul_zeros(x1: Any, x2: Any) -> Any:
    """`x1 * x2`, and zero wherever either is zero."""
    c = x1 * x2
    return np.where((x1 == 0) | (x2 == 0), np.zeros((), c.dtype), c) if _has_nan(c) else c


def _has_nan(c: Any) -> bool:
    """Whether a product holds a NaN: the only trace that a zero times an infinity leaves.

    The sum of squares shows whether there is one, as the minimum does, in half the time.
    """
    trace = np.vdot(c, c) if c.dtype.char in _BLAS else c.min() if c.size else 0.0
    return math.isnan(trace.real)


#: What BLAS computes with.
_BLAS = frozenset("fdFD")


# -- reductions --------------------------------------------------------------------------------------
def max(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def all(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _np.logical_and.reduce(x, axis=axis, keepdims=keepdims)


def any(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _np.logical_or.reduce(x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.count_nonzero(x, axis=axis, keepdims=keepdims)


def argmax(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmin(x, axis=axis, keepdims=keepdims)


@functools.lru_cache
def _least_norm(dtype: Any) -> Any:
    """Norms from here on come of squares that have all their digits."""
    return np.sqrt(np.finfo(dtype).tiny) * 8


def norm2(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """sqrt(sum(abs(x)**2)), scaled by the largest element where squares would overflow or vanish."""
    if x.dtype.itemsize == 2 and x.dtype.name in HALVES:
        return norm2(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype)
    if axis is None and not keepdims and x.dtype.char in "fd" and x.size <= 4096 and x.flags.c_contiguous:
        flat = x.reshape(-1)  # 4 us, where the way below takes 20
        with np.errstate(over="ignore", under="ignore"):
            y = np.sqrt(flat.dot(flat))
        if _least_norm(x.dtype) <= y < np.inf:
            return y
    with np.errstate(over="ignore", under="ignore"):
        y = np.sqrt(_squares(x, axis))
    bad = ~np.isfinite(y) | (y < _least_norm(y.dtype))
    if bad.any():
        size = np.abs(x)
        m = _np.maximum.reduce(size, axis=axis, keepdims=True, initial=0)
        m = np.where((m == 0) | ~np.isfinite(m), np.ones((), m.dtype), m)
        y = np.where(bad, m * np.sqrt(sum((size / m) ** 2, axis=axis, keepdims=True)), y)
    return y if keepdims else np.squeeze(y, axis if axis is not None else tuple(range(x.ndim)))[()]


def _squares(x: Any, axis: Any) -> Any:
    """The sum of squares of absolute values over axes, which are kept; of rows without a copy of the whole."""
    if type(axis) is int and x.dtype.char in "fd" and axis in (-1, x.ndim - 1) and 16 <= x.shape[-1] <= 4096:
        return np.vecdot(x, x)[..., None]
    size = x if x.dtype.kind == "f" else np.abs(x)
    return sum(size * size, axis=axis, keepdims=True)


# -- sorting -----------------------------------------------------------------------------------------
def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    n = x.shape[axis]
    return np.flip(n - 1 - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)


def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    y = np.sort(x, axis=axis, stable=stable)
    return np.flip(y, axis) if descending else y


def unique_index(x: Any) -> Any:
    """Of the distinct elements, rising: where each first stands, which of them each element is, how many are equal."""
    _, indices, inverse, counts = np.unique(
        x.reshape(-1), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return indices, inverse.reshape(x.shape), counts


def nonzero(x: Any) -> Any:
    if not x.shape:
        raise ValueError("expected x.ndim >= 1, got 0; write nonzero(reshape(x, (1,)))")
    return np.nonzero(x)


def insertion_index(x1: Any, x2: Any, side: Any) -> Any:
    return np.searchsorted(x1, x2, side=side)
