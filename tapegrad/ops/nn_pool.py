"""Pooling: what is largest in a window, and sums over windows, each with its transpose."""

from __future__ import annotations

from typing import Any

from tapegrad.kernels.numpy_conv import output_size
from tapegrad.registry import composite, constant, linear, no_derivative, primitive
from tapegrad.registry.batch_rules import full_batch


def _drawn(draw: Any, *, dilated: bool = True) -> Any:
    """Parameters, and the shapes of input and output."""
    rank = draw.choice(1, 2, 2, 3)
    window = tuple(draw.choice(1, 2, 3) for _ in range(rank))
    stride = tuple(draw.choice(1, 2, 3) for _ in range(rank))
    dilation = tuple(draw.choice(1, 1, 2) if dilated else 1 for _ in range(rank))
    padding = tuple((draw.choice(0, 0, 1), draw.choice(0, 1)) if k > 1 else (0, 0) for k in window)
    size = tuple(d * (k - 1) + 1 + draw.choice(0, 1, 2) for k, d in zip(window, dilation, strict=True))
    n, c = draw.size("n"), draw.choice(1, 2)
    params = {"window": window, "stride": stride, "padding": padding, "dilation": dilation}
    out = output_size(size, window, stride, padding, dilation)
    return params, (n, *size, c), (n, *out, c)


def _input(draw: Any) -> Any:
    params, x, _ = _drawn(draw)
    return draw.filled(x, distinct=True), params


def _chosen(draw: Any, values: str) -> Any:
    """Values, and an input with its largest elements."""
    from tapegrad.kernels.numpy_pool import window_max

    params, x, y = _drawn(draw)
    v = draw.filled(y if values == "output" else x)
    x = draw.integers(*x)  # that has no derivative: it only says what is picked
    return v, x, window_max(x, **params), params


# -- the largest element ---------------------------------------------------------------------------------------
@primitive(real=True, laws=_input, public=False)
def window_max(xp: Any, x: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The largest element of each window, (N, *S, C) -> (N, *P, C); of several the first has the derivative.

    The first in row-major order, as in the frameworks that have an index; NaN counts as larger than all numbers.
    """
    return xp.window_max(x, window=window, stride=stride, padding=padding, dilation=dilation)


@linear(laws=lambda draw: _chosen(draw, "output"), public=False)
def window_put(
    xp: Any, v: Any, x: Any, top: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    """Zeros like `x`, with `v` added where `x` first has the largest element `top` of each window."""
    return xp.window_put(v, x, top, window=window, stride=stride, padding=padding, dilation=dilation)


@linear(laws=lambda draw: _chosen(draw, "input"), public=False)
def window_take(
    xp: Any, v: Any, x: Any, top: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    """The element of `v` where `x` first has the largest element `top` of each window: the transpose of `window_put`."""
    return xp.window_take(v, x, top, window=window, stride=stride, padding=padding, dilation=dilation)


@constant(laws=lambda draw: _chosen(draw, "input")[1:], public=False)
def window_argmax(xp: Any, x: Any, top: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Where in the flattened spatial axes of `x` the first largest element `top` of each window lies."""
    return xp.window_argmax(x, top, window=window, stride=stride, padding=padding, dilation=dilation)


def _put(F: Any, g: Any, x: Any, y: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return F.window_put(g, x, y, window=window, stride=stride, padding=padding, dilation=dilation)


def _take(F: Any, g: Any, x: Any, y: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return F.window_take(g, x, y, window=window, stride=stride, padding=padding, dilation=dilation)


window_max.pullback(x=_put)
window_max.pushforward(x=_take)
window_put.adjoint(
    v=lambda F, g, x, top, window, stride, padding, dilation: _take(F, g, x, top, window, stride, padding, dilation),
    x=no_derivative,
    top=no_derivative,
)
window_take.adjoint(
    v=lambda F, g, x, top, window, stride, padding, dilation: _put(F, g, x, top, window, stride, padding, dilation),
    x=no_derivative,
    top=no_derivative,
)


# -- sums ------------------------------------------------------------------------------------------------------
@linear(laws=lambda draw: _summed(draw, "input"), public=False)
def window_sum(xp: Any, x: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The sum over each window, (N, *S, C) -> (N, *P, C)."""
    return xp.window_sum(x, window=window, stride=stride, padding=padding, dilation=dilation)


@linear(laws=lambda draw: _summed(draw, "output"), public=False)
def window_spread(
    xp: Any, v: Any, /, *, size: Any, window: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    """Each element added to all places of its window, (N, *P, C) -> (N, *size, C): the transpose of `window_sum`."""
    return xp.window_spread(v, size=size, window=window, stride=stride, padding=padding, dilation=dilation)


def _summed(draw: Any, side: str) -> Any:
    params, x, y = _drawn(draw)
    if side == "input":
        return draw.filled(x), params
    return draw.filled(y), {"size": x[1:-1], **params}


window_sum.adjoint(
    x=lambda F, g, x, window, stride, padding, dilation: F.window_spread(
        g, size=x.shape[1:-1], window=window, stride=stride, padding=padding, dilation=dilation
    )
)
window_spread.adjoint(
    v=lambda F, g, window, stride, padding, dilation: F.window_sum(
        g, window=window, stride=stride, padding=padding, dilation=dilation
    )
)


# -- windows of uneven length ------------------------------------------------------------------------------------
def bins(n: int, out: int) -> list[tuple[int, int]]:
    """The bounds of `out` windows that cover n elements evenly: floor(i n / out), ceil((i + 1) n / out)."""
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _adaptive(draw: Any) -> Any:
    rank = draw.choice(1, 2)
    size = tuple(draw.choice(1, 3, 4, 5) for _ in range(rank))
    x = draw.filled((draw.size("n"), *size, 2), distinct=True)
    return x, {"size": tuple(draw.choice(1, 2, 3) for _ in range(rank))}


@composite(laws=_adaptive, public=False)
def adaptive_mean(F: Any, x: Any, /, *, size: Any) -> Any:
    """The mean over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C)."""
    for axis, out in enumerate(size, 1):
        parts = [
            F.mean(F.getitem(x, (slice(None),) * axis + (slice(a, b),)), axis=axis, keepdims=True)
            for a, b in bins(x.shape[axis], out)
        ]
        x = F.concat(parts, axis=axis)
    return x


@composite(real=True, laws=_adaptive, public=False)
def adaptive_max(F: Any, x: Any, /, *, size: Any) -> Any:
    """The largest over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C).

    Of several the one that is first along the last spatial axis has the derivative.
    """
    for axis in range(len(size), 0, -1):
        parts = []
        for a, b in bins(x.shape[axis], size[axis - 1]):
            part = F.getitem(x, (slice(None),) * axis + (slice(a, b),))
            first = F.argmax(part, axis=axis, keepdims=True)
            parts.append(F.take_along_axis(part, first, axis=axis))
        x = F.concat(parts, axis=axis)
    return x


# -- batches -----------------------------------------------------------------------------------------------------
def _over_images(name: str) -> Any:
    """What differs between the items of a batch becomes more images."""

    def rule(F: Any, has: Any, *arrays: Any, **params: Any) -> Any:
        full = full_batch(F, has, arrays)
        flat = [F.reshape(a, (a.shape[0] * a.shape[1], *a.shape[2:])) for a in full]
        y = getattr(F, name)(*flat, **params)
        return F.reshape(y, (*full[0].shape[:2], *y.shape[1:]))

    return rule


for _op in (window_max, window_put, window_take, window_argmax, window_sum, window_spread):
    _op.batch(_over_images(_op.name))
