"""The TensorFlow kernels: the functions of `tapegrad.kernels.numpy` on TensorFlow's tensors, with NumPy's promotion and edge values.

Their arrays are `TFArray`, a tensor of TensorFlow's seen as NumPy sees arrays.  Nothing travels to the host in a kernel.
What is counted, or drawn from tables, where all arguments are Python's (`arange`, the places of an index of NumPy's
arrays) is computed on the host and moves to the device.
"""

from __future__ import annotations

from typing import Any

from tapegrad.kernels import tensorflow_calls as _calls
from tapegrad.kernels import tensorflow_devices as _devices
from tapegrad.kernels import tensorflow_operators as _operators  # noqa: F401  gives arrays their operators
from tapegrad.kernels.tensorflow_activation import relu, relu_grad, sigmoid_grad, softplus, step, tanh_grad  # noqa: F401
from tapegrad.kernels.tensorflow_arithmetic import (  # noqa: F401
    abs,
    add,
    between,
    divide,
    maximum,
    minimum,
    mul_zero,
    mul_zeros,
    multiply,
    negative,
    own_number,
    positive,
    pow,
    reciprocal,
    share,
    sign,
    square,
    subtract,
)
from tapegrad.kernels.tensorflow_array import TFArray as _TFArray
from tapegrad.kernels.tensorflow_basics import (  # noqa: F401  re-exported: these are kernels
    astype,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    conj,
    equal,
    greater,
    greater_equal,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    real,
    truth,
    where,
)
from tapegrad.kernels.tensorflow_basics import cast_to as cast  # noqa: F401
from tapegrad.kernels.tensorflow_bessel import (  # noqa: F401
    bessel_i,
    bessel_j,
    bessel_k,
    bessel_y,
    dawsn,
    expi,
    fresnel_cos,
    fresnel_sin,
    i0,
    i0e,
    i1,
    i1e,
    scaled_bessel_k,
    scaled_bessel_slope,
    spence,
)
from tapegrad.kernels.tensorflow_conv import conv, conv_input_grad, conv_kernel_grad, fold, unfold  # noqa: F401
from tapegrad.kernels.tensorflow_entropy import entr, kl_div, rel_entr, xlog1py, xlogy  # noqa: F401
from tapegrad.kernels.tensorflow_error import (  # noqa: F401
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfinv,
    expit,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    normal_hazard,
    scaled_erfc_integral,
)
from tapegrad.kernels.tensorflow_fft import (  # noqa: F401
    dft,
    fft_frequencies,
    inverse_dft,
    inverse_real_dft,
    real_dft,
    rfft_frequencies,
)
from tapegrad.kernels.tensorflow_functions import (  # noqa: F401
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from tapegrad.kernels.tensorflow_gamma import (  # noqa: F401
    beta,
    betainc,
    betaln,
    digamma,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    polygamma,
    polygamma_gap,
    zeta,
)
from tapegrad.kernels.tensorflow_linalg import (  # noqa: F401
    around_zero,
    cholesky,
    cofactor,
    cofactor_along,
    contract,
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
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from tapegrad.kernels.tensorflow_pick import getitem, nonzero, parts, take, take_along_axis  # noqa: F401
from tapegrad.kernels.tensorflow_pool import (  # noqa: F401
    window_argmax,
    window_max,
    window_put,
    window_spread,
    window_sum,
    window_take,
)
from tapegrad.kernels.tensorflow_products import adjoint_matmul, inner, matmul, matmul_adjoint  # noqa: F401
from tapegrad.kernels.tensorflow_rounding import (  # noqa: F401
    ceil,
    copysign,
    floor,
    floor_divide,
    fmod,
    nextafter,
    remainder,
    round,
    signbit,
    trunc,
)
from tapegrad.kernels.tensorflow_scatter import (  # noqa: F401
    last_picks,
    put,
    put_add,
    put_along_axis_add,
    rows_add,
    scattered,
    take_add,
)
from tapegrad.kernels.tensorflow_shape import (  # noqa: F401
    arange,
    broadcast_to,
    concat,
    diagonal,
    expand_dims,
    eye,
    flip,
    full,
    linspace,
    matrix_adjoint,
    matrix_transpose,
    moveaxis,
    ones,
    ones_beside,
    permute_dims,
    put_diagonal,
    reshape,
    roll,
    squeeze,
    stack,
    tril,
    triu,
    zeros,
    zeros_beside,
)
from tapegrad.kernels.tensorflow_sinc import sinc, sinc_derivative  # noqa: F401
from tapegrad.kernels.tensorflow_softmax import (  # noqa: F401
    cross_entropy,
    cross_entropy_grad,
    cross_entropy_keeping,
    log_softmax,
    logsumexp,
    logsumexp_keeping,
    shares,
    softmax,
)
from tapegrad.kernels.tensorflow_sort import argsort, insertion_index, repeat, unique_index  # noqa: F401
from tapegrad.kernels.tensorflow_stored import rows_added  # noqa: F401
from tapegrad.kernels.tensorflow_sums import (  # noqa: F401
    all,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    max,
    min,
    norm2,
    power_norm,
    prod,
    sum,
    sum_to,
)
from tapegrad.kernels.tensorflow_sums import any_ as any  # noqa: F401

if _calls.MANY:  # each kernel where its arguments are
    globals().update({n: _devices.staying(f) for n, f in [*globals().items()] if n[0] != "_" and callable(f)})


def _kernel(name: str) -> Any:
    return globals()[name]


_TFArray.kernel = staticmethod(_kernel)
