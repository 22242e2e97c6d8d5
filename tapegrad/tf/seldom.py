"""Functions that few programs name: each is written in others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf import elementwise, products  # noqa: F401  they export what has another name here
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.fingerprints import fingerprint as _farmhash
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

for _old, _new in {"eig": "linalg.eig", "eigvals": "linalg.eigvals", "nn.space_to_batch": "space_to_batch"}.items():
    if _new in EXPORTS:
        EXPORTS[_old] = EXPORTS[_new]


@export("math.lbeta")
def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log(|Beta(x)|) of the last axis: the sum of the logarithms of the gamma function less that of the sum."""
    x = convert(x)
    return S.subtract(S.sum(S.gammaln(x), axis=-1), S.gammaln(S.sum(x, axis=-1)))


# -- transforms of several axes ---------------------------------------------------------------------------------
def _axes(x: Tensor, fft_length: Any, axes: Any, *, last_halved: bool = False) -> tuple[tuple[int, ...], Any]:
    rank = len(x.array.shape)
    found = tuple(range(rank)) if axes is None else tuple(int(a) for a in host(axes))
    lengths = None if fft_length is None else tuple(int(n) for n in host(fft_length))
    return found, lengths


@export("signal.fftnd", "fftnd")
def fftnd(input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: Any = None, name: str | None = None) -> Tensor:
    """Fourier's transform over some axes."""
    x = convert(input_tensor)
    found, lengths = _axes(x, fft_length, axes)
    return S.fftn(x, s=lengths, axes=found, norm=norm or "backward")


@export("signal.ifftnd", "ifftnd")
def ifftnd(input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: Any = None, name: str | None = None) -> Tensor:
    """Fourier's transform back over some axes."""
    x = convert(input_tensor)
    found, lengths = _axes(x, fft_length, axes)
    return S.ifftn(x, s=lengths, axes=found, norm=norm or "backward")


@export("signal.rfftnd", "rfftnd")
def rfftnd(input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: Any = None, name: str | None = None) -> Tensor:
    """Fourier's transform of real numbers over some axes; of the last, what is not the mirror of the rest."""
    x = convert(input_tensor)
    found, lengths = _axes(x, fft_length, axes)
    return S.rfftn(x, s=lengths, axes=found, norm=norm or "backward")


@export("signal.irfftnd", "irfftnd")
def irfftnd(input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: Any = None, name: str | None = None) -> Tensor:
    """Fourier's transform back to real numbers over some axes."""
    x = convert(input_tensor)
    found, lengths = _axes(x, fft_length, axes)
    return S.irfftn(x, s=lengths, axes=found, norm=norm or "backward")


# -- derivatives of convolutions by name -------------------------------------------------------------------------
def _pulled(f: Any, like: Any, dtype: Any, g: Any) -> Tensor:
    """The derivative of a linear function at g."""
    from tapegrad.tf.tape import GradientTape

    x = fresh(np.zeros([int(n) for n in host(like)], dtype))
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found: Tensor = tape.gradient(y, x, output_gradients=convert(g))
    return found


def _depthwise(x: Any, w: Any, strides: Any, padding: Any, data_format: str, dilations: Any) -> Any:
    """The convolution, with a dilation for each axis of the array instead of the two of an image."""
    inner = list(dilations)[1:3] if data_format == "NHWC" else list(dilations)[2:4]
    return EXPORTS["nn.depthwise_conv2d"](x, w, strides, padding, data_format, inner)


@export("nn.depthwise_conv2d_backprop_input")
def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The derivative of a depthwise convolution with respect to its input."""
    w = convert(filter)
    return _pulled(lambda x: _depthwise(x, w, strides, padding, data_format, dilations), input_sizes, w.array.dtype, out_backprop)


@export("nn.depthwise_conv2d_backprop_filter")
def depthwise_conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The derivative of a depthwise convolution with respect to its filter."""
    x = convert(input)
    return _pulled(lambda w: _depthwise(x, w, strides, padding, data_format, dilations), filter_sizes, x.array.dtype, out_backprop)


# -- normalisation, dropout ----------------------------------------------------------------------------------------
@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: Any,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: Any,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """Batch normalisation by means and variances that are given, scaled by gamma only if asked for."""
    scale = gamma if scale_after_normalization else None
    found: Tensor = EXPORTS["nn.batch_normalization"](input, mean, variance, beta, scale, variance_epsilon)
    return found


@export("nn.experimental.general_dropout")
def general_dropout(x: Any, rate: Any, uniform_sampler: Any, noise_shape: Any = None, name: str | None = None) -> Tensor:
    """Dropout by numbers from 0 to 1 that `uniform_sampler(shape=..., dtype=...)` draws."""
    from tapegrad.tf.nn_functions import _dropped

    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform_sampler(shape=shape, dtype=convert(x).dtype))


# -- patches of volumes ----------------------------------------------------------------------------------------------
@export("extract_volume_patches")
def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None) -> Tensor:
    """Windows of a volume ``(n, depth, height, width, c)``, each laid flat in the last axis."""
    x = convert(input)
    if x.array.ndim != 5 or len(ksizes) != 5 or len(strides) != 5:
        raise invalid("ExtractVolumePatches", f"input, ksizes and strides are of 5 axes, got {x.array.ndim}, {len(ksizes)}, {len(strides)}")
    if padding not in ("SAME", "VALID"):
        raise invalid("ExtractVolumePatches", f"padding is 'SAME' or 'VALID', got {padding!r}")
    sizes, steps = [int(k) for k in ksizes[1:4]], [int(s) for s in strides[1:4]]
    index: list[Any] = []
    for axis, (k, s) in enumerate(zip(sizes, steps, strict=True), 1):
        n = x.array.shape[axis]
        count = -(-n // s) if padding == "SAME" else max(0, (n - k) // s + 1)
        before = max(0, (count - 1) * s + k - n) // 2 if padding == "SAME" else 0
        index.append(np.arange(count)[:, None] * s + np.arange(k) - before)
    x = S.pad(x, tuple((0, 0) if a in (0, 4) else _margins(index[a - 1], x.array.shape[a]) for a in range(5)))
    for axis, places in enumerate(index):
        low = max(0, -int(places.min(initial=0)))
        x = S.take(x, fresh((places + low).reshape(-1).astype(np.int64)), axis=1 + axis)
    n, *_, c = x.array.shape
    counts = [p.shape[0] for p in index]
    grid = [v for pair in zip(counts, sizes, strict=True) for v in pair]
    x = S.permute_dims(S.reshape(x, (n, *grid, c)), (0, 1, 3, 5, 2, 4, 6, 7))
    return S.reshape(x, (n, *counts, int(np.prod(sizes)) * c))


def _margins(places: Any, n: int) -> tuple[int, int]:
    return max(0, -int(places.min(initial=0))), max(0, int(places.max(initial=0)) - n + 1)


# -- fingerprints and shuffles ---------------------------------------------------------------------------------------
@export("fingerprint")
def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Eight bytes for each row, from all its bytes."""
    if method != "farmhash64":
        raise invalid("Fingerprint", f"Unsupported fingerprint method: {method}")
    raw = host(data)
    if not raw.ndim:
        raise invalid("Fingerprint", "Data must have rank >= 1")
    if raw.dtype.kind == "O" and raw.ndim > 1:  # several texts in a row: the bytes of their own fingerprints
        rows = [np.array([_farmhash(v) for v in row.reshape(-1)], "<u8").tobytes() for row in raw]
    else:
        rows = [v if raw.dtype.kind == "O" else v.tobytes() for v in raw]
    found = np.array([_farmhash(v) for v in rows], "<u8")
    return fresh(found.view(np.uint8).reshape(len(rows), 8))


@export("random.experimental.get_global_generator")
def _global_generator() -> Any:
    """The generator of `tf.random.get_global_generator`."""
    return EXPORTS["random.get_global_generator"]()


# -- systems -----------------------------------------------------------------------------------------------------------
class Conjugate(NamedTuple):
    """How far `conjugate_gradient` has come."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


@export("linalg.experimental.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> Conjugate:
    """The solution of A x = rhs for a linear operator that is self-adjoint and positive definite, by conjugate gradients."""
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    b = convert(rhs) if hasattr(rhs, "dtype") else convert(rhs, np.dtype(operator.dtype.as_numpy_dtype))
    x = S.zeros_like(b) if x is None else convert(x)
    apply = (lambda v: v) if preconditioner is None else preconditioner.matvec
    r = S.subtract(b, operator.matvec(x))
    p = z = apply(r)

    def dot(a: Tensor, c: Tensor) -> Tensor:
        return S.sum(S.multiply(S.conj(a) if a.array.dtype.kind == "c" else a, c), axis=-1)

    gamma, i = dot(r, z), 0
    limit = float(tol) * np.linalg.norm(host(b), axis=-1)
    while i < max_iter and np.any(np.linalg.norm(host(r), axis=-1) > limit):
        z = operator.matvec(p)
        alpha = S.divide(gamma, dot(p, z))[..., None]
        x, r = S.add(x, S.multiply(alpha, p)), S.subtract(r, S.multiply(alpha, z))
        z = apply(r)
        before, gamma = gamma, dot(r, z)
        p = S.add(z, S.multiply(S.divide(gamma, before)[..., None], p))
        i += 1
    return Conjugate(i, x, r, p, gamma)


@export("linalg.banded_triangular_solve")
def banded_triangular_solve(bands: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The solution of a triangular system that is given by its diagonals: the main one first if `lower`, else last."""
    from tapegrad.tf.diagonals import diag

    x = convert(bands)
    k, n = x.array.shape[-2:]
    if not 1 <= k <= n:
        raise InvalidArgumentError(None, None, f"banded_triangular_solve: expected 1 to {n} bands, got {k}")
    whole = None
    for row in range(k):
        offset = -row if lower else k - 1 - row
        part = x[..., row, -offset:] if lower else x[..., row, : n - offset]
        made = diag(part, k=offset)
        whole = made if whole is None else S.add(whole, made)
    found: Tensor = products.triangular_solve(whole, rhs, lower=lower, adjoint=adjoint)
    return found


@export("sparse.sampled_addmm")
def sampled_addmm(
    indices: Any, values: Any, dense_shape: Any, mat1: Any, mat2: Any, beta: Any = 1.0, alpha: Any = 1.0, output_type: Any = np.float32
) -> Any:
    """alpha * mat1 @ mat2 at some places, plus beta * values: no product is computed elsewhere."""
    from tapegrad.tf.dtypes import numpy_dtype

    d: Any = numpy_dtype(output_type)
    where, a, b = host(indices).astype(np.int64), cast(convert(mat1), d), cast(convert(mat2), d)
    batch, (rows, columns) = tuple(where[..., k] for k in range(where.shape[-1] - 2)), (where[..., -2], where[..., -1])
    if where.ndim == 3 and a.array.ndim == 3 and not batch:  # places for each matrix of a batch
        batch = (np.arange(where.shape[0])[:, None],)
    dots = S.sum(S.multiply(S.getitem(a, (*batch, rows)), S.getitem(S.matrix_transpose(b), (*batch, columns))), axis=-1)
    y = S.add(S.multiply(dots, d.type(alpha)), S.multiply(cast(convert(values), d), d.type(beta)))
    return fresh(host(indices)), y, fresh(host(dense_shape))
