"""What poolings ask of their windows and images, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from tapegrad.kernels.remembered import remembered
from tapegrad.torch._dtypes import SCALAR_TYPES


def per_axis(name: str, what: str, v: Any, n: int) -> Any:
    """A parameter for each axis."""
    if isinstance(v, (int, float)):
        return (v,) * n
    found = tuple(v)
    if len(found) == 1:
        return found * n
    if len(found) != n:
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {n} ints, but got {found}")
    return found


def check_not_empty(name: str, n: int, x: Any, *, channels: bool = True) -> None:
    """Refuse images of which an axis is empty, unless it is that of the batch, or of channels where these may be none."""
    _check_lengths(name, n, tuple(x.array.shape), channels)


@remembered
def _check_lengths(name: str, n: int, shape: tuple[int, ...], channels: bool) -> None:
    if 0 in shape[-n - channels :]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got: {list(shape)}"
        )


def check_windows(name: str, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    """Refuse windows that can't be laid, and those of which none fits."""
    _check_laid(name, tuple(x.array.shape), window, stride, padding, dilation, ceil_mode)


@remembered
def _check_laid(name: str, shape: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    n = len(window)
    if any(k <= 0 for k in window):
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got {window}")
    if any(s == 0 for s in stride):
        raise RuntimeError(f"{name}: stride should not be zero")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"{name}: dilation should be greater than zero, but got {dilation}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {padding[0]}")
    if any(p > k // 2 for p, k in zip(padding, window, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={padding[0]}, kernel_size={window[0]} and "
            f"dilation={dilation[0]}"
        )
    _check_lengths(name, n, shape, True)
    spatial = shape[-n:]
    room = [m + 2 * p - d * (k - 1) - 1 for m, p, d, k in zip(spatial, padding, dilation, window, strict=True)]
    found = [(-(-r // s) if ceil_mode else r // s) + 1 for r, s in zip(room, stride, strict=True)]
    if any(r < 0 and k < 1 for r, k in zip(room, found, strict=True)):
        given, made = ("x".join(map(str, (shape[-n - 1], *v))) for v in (spatial, found))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")


def check_convolution(n: int, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    """Refuse kernels that can't be moved, and groups and biases that don't belong to them."""
    if len(weight) != n + 2:
        raise RuntimeError(f"Expected {n + 2}-dimensional weight for {n + 2}-dimensional input, but got weight of size {list(weight)}")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if not isinstance(padding, str) and any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if weight[0] < groups or weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size {list(weight)} "
            "instead"
        )
    if bias is not None and tuple(bias.array.shape) != (weight[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight)}, expected bias to be 1-dimensional with {weight[0]} elements, but got bias of size "
            f"{list(bias.array.shape)} instead"
        )


def check_floats(name: str, x: Any) -> None:
    """Refuse integers, of which there is no mean."""
    if x.array.dtype.kind in "biu":
        raise RuntimeError(f'"{name}" not implemented for \'{SCALAR_TYPES[x.dtype]}\'')


def adaptive_size(size: Any, spatial: Any) -> Any:
    """How many windows there are along each axis."""
    sizes = (size,) * len(spatial) if size is None or isinstance(size, int) else tuple(size)
    if len(sizes) != len(spatial):
        raise RuntimeError(f"output_size must have {len(spatial)} elements, but got {sizes}")
    if any(k is not None and k < 0 for k in sizes):
        raise RuntimeError(f"elements of output_size must be greater than or equal to 0, but got {sizes}")
    return tuple(m if k is None else int(k) for k, m in zip(sizes, spatial, strict=True))


def unpooled_size(spatial: Any, window: Any, stride: Any, padding: Any, wanted: Any) -> Any:
    """The size of what values are put back into: the one that is wanted, if a pooling could have had it."""
    n = len(window)
    usual = [(m - 1) * s - 2 * p + k for m, s, p, k in zip(spatial, stride, padding, window, strict=True)]
    if wanted is None:
        return tuple(usual)
    size = tuple(int(k) for k in wanted)
    if len(size) == n + 2:
        size = size[2:]
    if len(size) != n:
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'")
    for i, (k, m, s) in enumerate(zip(size, usual, stride, strict=True)):
        if not m - s < k < m + s:
            raise ValueError(f"invalid output_size \"{size}\" (dim {i} must be between {m - s} and {m + s})")
    return size
