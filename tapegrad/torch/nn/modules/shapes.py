"""Pooling, padding, resizing, reshaping and dropout as modules."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn.modules._tables import module_classes
from tapegrad.torch.nn.modules.conv import repeated
from tapegrad.torch.nn.modules.module import Module

_DOC = "The function of this name in `nn.functional`, with its options."


class _DropoutNd(Module):
    """Dropout of single elements or of whole channels."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "p" and not 0 <= value <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {value}")
        super().__setattr__(name, value)


_DROPOUT = {
    f"{name}(p=0.5, inplace=False)": (f"{f}(input, p, self.training, inplace)", "p={p}, inplace={inplace}")
    for name, f in {
        "Dropout": "dropout", "Dropout1d": "dropout1d", "Dropout2d": "dropout2d", "Dropout3d": "dropout3d",
        "AlphaDropout": "alpha_dropout", "FeatureAlphaDropout": "feature_alpha_dropout",
    }.items()
}  # fmt: skip


class _Pool(Module):
    """The stride of a pooling is that of its window if it isn't given."""

    _tuples = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "stride" and value is None:
            value = self.kernel_size
        if self._tuples and name in ("kernel_size", "stride", "padding"):
            value = repeated(value, self._tuples)
        super().__setattr__(name, value)


class _MaxPoolNd(_Pool):
    """The largest of each window."""


class _AvgPoolNd(_Pool):
    """The mean of each window."""


class _MaxUnpoolNd(_Pool):
    """Values put back to where they were the largest."""


class _LPPoolNd(Module):
    """The norm of each window."""


class _AdaptiveMaxPoolNd(Module):
    """The largest of each of as many windows as are asked for."""


class _AdaptiveAvgPoolNd(Module):
    """The mean of each of as many windows as are asked for."""


#: What the poolings of one kind, in all ranks, are instances of.
_POOL_BASES: dict[str, Any] = {
    "MaxPool": _MaxPoolNd, "LPPool": _LPPoolNd, "AdaptiveAvgPool": _AdaptiveAvgPoolNd, "AdaptiveMaxPool": _AdaptiveMaxPoolNd,
    "AvgPool": _AvgPoolNd, "MaxUnpool": _MaxUnpoolNd,
}  # fmt: skip


_KERNEL = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


def _pools(n: int) -> dict[str, tuple[str, str]]:
    return {
        f"MaxPool{n}d(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)": (
            f"max_pool{n}d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)",
            _KERNEL + ", dilation={dilation}, ceil_mode={ceil_mode}",
        ),
        f"LPPool{n}d(norm_type, kernel_size, stride=None, ceil_mode=False)": (
            f"lp_pool{n}d(input, float(norm_type), kernel_size, stride, ceil_mode)",
            "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}",
        ),
        f"AdaptiveAvgPool{n}d(output_size)": (f"adaptive_avg_pool{n}d(input, output_size)", "output_size={output_size}"),
        f"AdaptiveMaxPool{n}d(output_size, return_indices=False)": (
            f"adaptive_max_pool{n}d(input, output_size, return_indices)", "output_size={output_size}"
        ),
    }  # fmt: skip


_AVERAGES = {
    f"AvgPool{n}d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
    + (", divisor_override=None)" if n > 1 else ")"): (
        f"avg_pool{n}d(input, kernel_size, stride, padding, ceil_mode, count_include_pad"
        + (", divisor_override)" if n > 1 else ")"),
        _KERNEL,
    )
    for n in (1, 2, 3)
}
_UNPOOL = {
    f"MaxUnpool{n}d(kernel_size, stride=None, padding=0)": (
        f"max_unpool{n}d(input, indices, kernel_size, stride, padding, output_size)", _KERNEL
    )
    for n in (1, 2, 3)
}  # fmt: skip

_PADS = {
    **{f"ReflectionPad{n}d(padding)": ("pad(input, padding, 'reflect')", "{padding}") for n in (1, 2, 3)},
    **{f"ReplicationPad{n}d(padding)": ("pad(input, padding, 'replicate')", "{padding}") for n in (1, 2, 3)},
    **{f"CircularPad{n}d(padding)": ("pad(input, padding, 'circular')", "{padding}") for n in (1, 2, 3)},
    **{f"ZeroPad{n}d(padding)": ("pad(input, padding, 'constant', 0.0)", "{padding}") for n in (1, 2, 3)},
    **{
        f"ConstantPad{n}d(padding, value)": ("pad(input, padding, 'constant', value)", "padding={padding}, value={value}")
        for n in (1, 2, 3)
    },
}


class _ConstantPadNd(Module):
    """A border of one value."""


class _ReflectionPadNd(Module):
    """A border that mirrors what is inside."""


class _ReplicationPadNd(Module):
    """A border of the outermost values."""


class _CircularPadNd(Module):
    """A border taken from the opposite side."""


_PAD_BASES: dict[str, Any] = {
    "Reflection": _ReflectionPadNd, "Replication": _ReplicationPadNd, "Circular": _CircularPadNd, "Zero": _ConstantPadNd,
    "Constant": _ConstantPadNd,
}  # fmt: skip


def _pad_base(n: int, kind: Any) -> Any:
    class Pad(kind):  # type: ignore[misc]
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, repeated(value, 2 * n) if name == "padding" else value)

    return Pad


_PLAIN = {
    "PixelShuffle(upscale_factor)": ("pixel_shuffle(input, upscale_factor)", "upscale_factor={upscale_factor}"),
    "PixelUnshuffle(downscale_factor)": (
        "pixel_unshuffle(input, downscale_factor)", "downscale_factor={downscale_factor}"
    ),
    "ChannelShuffle(groups)": ("channel_shuffle(input, groups)", "groups={groups}"),
    "LocalResponseNorm(size, alpha=0.0001, beta=0.75, k=1.0)": (
        "local_response_norm(input, size, alpha, beta, k)", "{size}, alpha={alpha}, beta={beta}, k={k}"
    ),
    "Fold(output_size, kernel_size, dilation=1, padding=0, stride=1)": (
        "fold(input, output_size, kernel_size, dilation, padding, stride)",
        "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
    ),
    "Unfold(kernel_size, dilation=1, padding=0, stride=1)": (
        "unfold(input, kernel_size, dilation, padding, stride)",
        "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
    ),
}  # fmt: skip
_MADE: dict[str, Any] = {
    **module_classes(_DROPOUT, _DOC, base=_DropoutNd),
    **module_classes(_PLAIN, _DOC),
}
for _n in (1, 2, 3):
    for _row, _what in {**_pools(_n), **{k: v for k, v in _AVERAGES.items() if k.startswith(f"AvgPool{_n}d")}}.items():
        _base = _POOL_BASES[_row[: _row.index(f"{_n}d")]]
        _MADE |= module_classes({_row: _what}, _DOC, base=_base)
    _rows = {k: v for k, v in _UNPOOL.items() if k.startswith(f"MaxUnpool{_n}d")}
    _MADE |= module_classes(_rows, _DOC, base=_MaxUnpoolNd, takes="input, indices, output_size=None")
    for _kind in ("Reflection", "Replication", "Circular", "Zero", "Constant"):
        _rows = {k: v for k, v in _PADS.items() if k.startswith(f"{_kind}Pad{_n}d")}
        _MADE |= module_classes(_rows, _DOC, base=_pad_base(_n, _PAD_BASES[_kind]))
for _n in (1, 2, 3):
    _MADE[f"MaxUnpool{_n}d"]._tuples = _n
_MADE["AvgPool1d"]._tuples = 1
globals().update(_MADE)


class Flatten(Module):
    """Axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be tuple of ints, but found type {type(unflattened_size).__name__}")
        for i, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Upsample(Module):
    """Images of another size."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Any:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        what = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` from the nearest pixel."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample`, bilinear, with the corners aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    """x1 . x2 / (|x1| |x2|) along an axis."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = [  # noqa: PLE0604
    *_MADE, "CosineSimilarity", "Flatten", "PairwiseDistance", "Unflatten", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip
