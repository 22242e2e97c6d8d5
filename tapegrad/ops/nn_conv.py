"""Convolution and its two transposes: a family that is closed under differentiation.

All three come from one form that is linear in an image x, a kernel k and an output g,

    T(x, k, g) = sum over n, p, i, c, o of x[n, s p + d i - lo, c] k[i, c, o] g[n, p, o]

with stride s, dilation d and padding lo: each is the derivative of T for one of the three, given the other two.  (Windows
as matrices: K. Chellapilla, S. Puri, P. Simard, "High performance convolutional neural networks for document processing",
2006, section 3.)  Parameters are spelled out here, one for each axis; `tapegrad.nn` takes them as users write them.
"""

from __future__ import annotations

from typing import Any

from tapegrad.kernels.numpy_conv import output_size
from tapegrad.registry import multilinear
from tapegrad.registry.batch_rules import full_batch


def _conj(F: Any, x: Any) -> Any:
    return F.conj(x) if x.dtype.kind == "c" else x


# -- arguments for the laws --------------------------------------------------------------------------------
def _drawn(draw: Any) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Parameters, and the shapes of image, kernel and output."""
    rank = draw.choice(1, 1, 2, 2, 3)
    groups = draw.choice(1, 1, 2)
    window = tuple(draw.choice(1, 2, 3) for _ in range(rank))
    stride = tuple(draw.choice(1, 1, 2, 3) for _ in range(rank))
    dilation = tuple(draw.choice(1, 1, 2) for _ in range(rank))
    padding = tuple((draw.choice(0, 1), draw.choice(0, 1, 2)) for _ in range(rank))
    size = tuple(d * (k - 1) + 1 + draw.choice(0, 1, 2) for k, d in zip(window, dilation, strict=True))
    inner, outer = draw.choice(1, 2), groups * draw.choice(1, 2)
    n = draw.size("n")
    out = output_size(size, window, stride, padding, dilation)
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return params, (n, *size, groups * inner), (*window, inner, outer), (n, *out, outer)


def _image_and_kernel(draw: Any) -> Any:
    params, x, kernel, _ = _drawn(draw)
    return draw.filled(x), draw.filled(kernel), params


def _output_and_kernel(draw: Any) -> Any:
    params, x, kernel, g = _drawn(draw)
    return draw.filled(g), draw.filled(kernel), {"size": x[1:-1], **params}


def _image_and_output(draw: Any) -> Any:
    params, x, kernel, g = _drawn(draw)
    return draw.filled(x), draw.filled(g), {"size": kernel[:-2], **params}


# -- the ops -----------------------------------------------------------------------------------------------
@multilinear(laws=_image_and_kernel, public=False)
def conv(xp: Any, x: Any, kernel: Any, /, *, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The products of a kernel with the windows of an image, (N, *S, C), (*K, C / groups, O) -> (N, *P, O)."""
    return xp.conv(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups)


@multilinear(laws=_output_and_kernel, public=False)
def conv_input_grad(
    xp: Any, v: Any, kernel: Any, /, *, size: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The transpose of `conv` in its image, (N, *P, O), (*K, C / groups, O) -> (N, *size, C): a transposed convolution."""
    return xp.conv_input_grad(
        v, kernel, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@multilinear(laws=_image_and_output, public=False)
def conv_kernel_grad(
    xp: Any, x: Any, v: Any, /, *, size: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The transpose of `conv` in its kernel, (N, *S, C), (N, *P, O) -> (*size, C / groups, O)."""
    return xp.conv_kernel_grad(x, v, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _to_output(F: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return F.conv(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _to_image(F: Any, g: Any, kernel: Any, x: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    size = x.shape[1:-1]
    return F.conv_input_grad(g, kernel, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)


def _to_kernel(F: Any, x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    size = kernel.shape[:-2]
    return F.conv_kernel_grad(x, g, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)


conv.adjoint(
    x=lambda F, g, x, kernel, stride, padding, dilation, groups: _to_image(
        F, g, _conj(F, kernel), x, stride, padding, dilation, groups
    ),
    kernel=lambda F, g, x, kernel, stride, padding, dilation, groups: _to_kernel(
        F, _conj(F, x), g, kernel, stride, padding, dilation, groups
    ),
)
# In the next two the cotangent stands for the image and for the kernel.
conv_input_grad.adjoint(
    v=lambda F, g, kernel, stride, padding, dilation, groups: _to_output(
        F, g, _conj(F, kernel), stride, padding, dilation, groups
    ),
    kernel=lambda F, g, v, kernel, stride, padding, dilation, groups: _to_kernel(
        F, g, _conj(F, v), kernel, stride, padding, dilation, groups
    ),
)
conv_kernel_grad.adjoint(
    x=lambda F, g, x, v, stride, padding, dilation, groups: _to_image(
        F, _conj(F, v), g, x, stride, padding, dilation, groups
    ),
    v=lambda F, g, x, stride, padding, dilation, groups: _to_output(
        F, _conj(F, x), g, stride, padding, dilation, groups
    ),
)


# -- batches -------------------------------------------------------------------------------------------------
# What differs between the items of a batch becomes more images, more output channels, or groups.
def _as_images(F: Any, a: Any) -> Any:
    return F.reshape(a, (a.shape[0] * a.shape[1], *a.shape[2:]))


def _from_images(F: Any, y: Any, like: Any) -> Any:
    return F.reshape(y, (*like.shape[:2], *y.shape[1:]))


def _as_channels(F: Any, a: Any, groups: int) -> Any:
    """(B, ..., groups * C) as (..., groups * B * C)."""
    n, *rest, c = a.shape
    a = F.reshape(a, (n, *rest, groups, c // groups))
    return F.reshape(F.moveaxis(a, 0, -2), (*rest, n * c))


def _from_channels(F: Any, y: Any, groups: int, n: int, c: int) -> Any:
    """(..., groups * B * C) as (B, ..., groups * C)."""
    rest = y.shape[:-1]
    y = F.moveaxis(F.reshape(y, (*rest, groups, n, c // groups)), -2, 0)
    return F.reshape(y, (n, *rest, c))


@conv.batch
def _conv_batch(F: Any, has: Any, x: Any, kernel: Any, *, groups: int, **params: Any) -> Any:
    if not has[1]:
        return _from_images(F, F.conv(_as_images(F, x), kernel, groups=groups, **params), x)
    n, c = kernel.shape[0], kernel.shape[-1]
    if not has[0]:
        y = F.conv(x, _as_channels(F, kernel, groups), groups=groups, **params)
        return _from_channels(F, y, groups, n, c)
    y = F.conv(_as_channels(F, x, 1), _as_channels(F, kernel, 1), groups=max(n, 1) * groups, **params)
    return _from_channels(F, y, 1, n, c)


@conv_input_grad.batch
def _conv_input_grad_batch(F: Any, has: Any, v: Any, kernel: Any, *, groups: int, **params: Any) -> Any:
    if not has[1]:
        return _from_images(F, F.conv_input_grad(_as_images(F, v), kernel, groups=groups, **params), v)
    v, kernel = full_batch(F, has, (v, kernel))
    n = v.shape[0]
    v = _as_channels(F, v, 1)
    x = F.conv_input_grad(v, _as_channels(F, kernel, 1), groups=max(n, 1) * groups, **params)
    return _from_channels(F, x, 1, n, kernel.shape[-2] * groups)


@conv_kernel_grad.batch
def _conv_kernel_grad_batch(F: Any, has: Any, x: Any, v: Any, *, groups: int, **params: Any) -> Any:
    if not has[0]:
        kernel = F.conv_kernel_grad(x, _as_channels(F, v, groups), groups=groups, **params)
        return _from_channels(F, kernel, groups, v.shape[0], v.shape[-1])
    x, v = full_batch(F, has, (x, v))
    n, c = v.shape[0], v.shape[-1]
    kernel = F.conv_kernel_grad(_as_channels(F, x, 1), _as_channels(F, v, 1), groups=max(n, 1) * groups, **params)
    return _from_channels(F, kernel, 1, n, c)
