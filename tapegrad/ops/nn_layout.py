"""Images as users give them: two layouts, and functions for one number of spatial axes."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.ops import nn_windows as _windows
from tapegrad.ops.convert import asarray as _asarray
from tapegrad.registry.misfit import guided
from tapegrad.registry.space import F as _F

#: A function's error for arguments that do not fit says what others' names for them are here.
guided_by_names = guided(
    {
        **dict.fromkeys(("strides", "step"), "stride"),
        **dict.fromkeys(("kernel_size", "ksize", "pool_size"), "window"),
        **dict.fromkeys(("dilation_rate", "dilations"), "dilation"),
        **dict.fromkeys(("weight", "filters"), "kernel"),
        **dict.fromkeys(("output_size",), "size"),
        "data_format": "layout",
        "scale_factor": "scale",
    }
)


def images(op: str, x: Any, layout: str) -> Any:
    """A tensor of images, channels last."""
    x = x if isinstance(x, Tensor) else _asarray(x)
    n = len(x.shape) - 2
    if n < 1:
        raise ShapeError(f"{op}(x): expected images (N, *S, C), got shape {x.shape}")
    if layout == "channels_first":
        return _windows.channels_last(_F, x)
    if layout != "channels_last":
        raise ArgumentError(f'{op}(x): layout is "channels_last" or "channels_first", got {layout!r}')
    return x


def in_layout(y: Any, layout: str) -> Any:
    """A result with channels last in the layout that was asked for."""
    return _windows.channels_first(_F, y) if layout == "channels_first" else y


def of_rank(f: Any, rank: int) -> Any:
    """A function of images, for one number of spatial axes."""
    name = f"{f.__name__}{rank}d"
    shape = f"(N, {', '.join('DHW'[-rank:])}, C)"

    def function(x: Any, *args: Any, **params: Any) -> Any:
        x = x if isinstance(x, Tensor) else _asarray(x)
        if len(x.shape) != rank + 2:
            raise ShapeError(f"{name}(x): expected images {shape}, got shape {x.shape}")
        return f(x, *args, **params)

    function.__name__ = function.__qualname__ = name
    details = (f.__doc__ or "").partition(">>>")[0].rstrip()
    function.__doc__ = f"`{f.__name__}` of images {shape}.\n\n    {details}\n    "
    function.__dict__["__wrapped__"] = f  # whose signature it has
    return function
