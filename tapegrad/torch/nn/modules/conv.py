"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn import init
from tapegrad.torch.nn.modules._lazy import LazyModuleMixin
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.parameter import Parameter, UninitializedParameter, materialize

__all__ = [f"{lazy}Conv{t}{n}d" for lazy in ("", "Lazy") for t in ("", "Transpose") for n in (1, 2, 3)]


def repeated(v: Any, n: int) -> tuple[Any, ...]:
    """A parameter for each axis."""
    return tuple(v) if isinstance(v, (list, tuple)) else (v,) * n


class _ConvNd(Module):
    """What convolutions of all ranks, and their transposes, have in common."""

    _rank = 0
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        n = self._rank
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in repeated(stride, n)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {set(modes)}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = repeated(kernel_size, n)
        self.stride = repeated(stride, n)
        self.padding = padding if isinstance(padding, str) else repeated(padding, n)
        self.dilation = repeated(dilation, n)
        self.output_padding = repeated(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self._make(bias, device, dtype)

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding as `pad` takes it, last axis first."""
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(t // 2, t - t // 2) for t in total]
        else:
            pairs = [(p, p) for p in (repeated(0, self._rank) if self.padding == "valid" else self.padding)]
        return [w for pair in reversed(pairs) for w in pair]

    def _weight_shape(self) -> tuple[int, ...]:
        i, o = self.in_channels, self.out_channels
        lead = (i, o // self.groups) if self.transposed else (o, i // self.groups)
        return (*lead, *self.kernel_size)

    def _make(self, bias: bool, device: Any, dtype: Any) -> None:
        from tapegrad.torch import empty

        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias evenly from within 1 / sqrt(fan in) of 0."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.array.shape[1:])
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * n:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """The products of kernels with the windows of images."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype
        )

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        f = getattr(F, f"conv{self._rank}d")
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return f(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return f(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTranspose(_ConvNd):
    """The transpose of a convolution."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Any, output_size: Any) -> Any:
        """The output padding that gives an output of this size."""
        if output_size is None:
            return self.output_padding
        wanted = tuple(output_size)[-self._rank :]
        least = [
            (m - 1) * s - 2 * p + d * (k - 1) + 1
            for m, s, p, d, k in zip(
                input.array.shape[-self._rank :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        for size, low, s in zip(wanted, least, self.stride, strict=True):
            if not low <= size < low + s:
                most = [a + b - 1 for a, b in zip(least, self.stride, strict=True)]
                raise ValueError(
                    f"requested an output size of {list(wanted)}, but valid sizes range from {least} to {most} "
                    f"(for an input of {list(input.array.shape[2:])})"
                )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))

    def forward(self, input: Any, output_size: Any = None) -> Any:
        f = getattr(F, f"conv_transpose{self._rank}d")
        more = self._output_padding(input, output_size)
        return f(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class _LazyConv(LazyModuleMixin):
    """Learns `in_channels` from its first input."""

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **words: Any) -> None:
        super().__init__(0, 0, kernel_size, *args, **words)  # type: ignore[call-arg]
        self.out_channels = out_channels

    def _make(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)  # type: ignore[attr-defined]

    def initialize_parameters(self, input: Any, *_: Any) -> None:
        """Give the parameters the shapes that this input asks for."""
        rank = self._rank  # type: ignore[attr-defined]
        self.in_channels = input.array.shape[-rank - 1]
        materialize(self.weight, self._weight_shape())  # type: ignore[attr-defined]
        if self.bias is not None:
            materialize(self.bias, (self.out_channels,))
        self.reset_parameters()  # type: ignore[attr-defined]


def _of_rank(base: Any, name: str, n: int) -> Any:
    return type(f"{name}{n}d", (base,), {"_rank": n, "__doc__": base.__doc__, "__module__": __name__})


for _n in (1, 2, 3):
    for _name, _base in (("Conv", _Conv), ("ConvTranspose", _ConvTranspose)):
        _made = globals()[f"{_name}{_n}d"] = _of_rank(_base, _name, _n)
        _lazy = type(
            f"Lazy{_name}{_n}d",
            (_LazyConv, _made),
            {"cls_to_become": _made, "__doc__": _LazyConv.__doc__, "__module__": __name__},
        )
        globals()[f"Lazy{_name}{_n}d"] = _lazy
