"""Normalisation."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn import init
from tapegrad.torch.nn.modules._lazy import LazyModuleMixin
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter, materialize

__all__ = [  # noqa: PLE0604
    *(f"{lazy}{kind}{n}d" for lazy in ("", "Lazy") for kind in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3)),
    "GroupNorm", "LayerNorm", "RMSNorm", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """Running means, and what is learned per channel."""

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._biased = bias
        self._make({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _make(self, where: dict[str, Any]) -> None:
        from tapegrad.torch import empty, ones, zeros
        from tapegrad.torch._construct import tensor

        n = self.num_features
        for name, there in (("weight", self.affine), ("bias", self.affine and self._biased)):
            if there:
                setattr(self, name, Parameter(empty(n, **where)))
            else:
                self.register_parameter(name, None)
        tracked = self.track_running_stats
        self.register_buffer("running_mean", zeros(n, **where) if tracked else None)
        self.register_buffer("running_var", ones(n, **where) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=where.get("device")) if tracked else None)

    def reset_running_stats(self) -> None:
        """Forget all batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget all batches, and all that was learned."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = f"{prefix}num_batches_tracked"
            if key not in state_dict:
                state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Mean 0 and variance 1 in each channel over the batch; over all batches so far when evaluating."""

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            of_batch,
            momentum,
            self.eps,
        )


class _InstanceNorm(_NormBase):
    """Mean 0 and variance 1 in each channel of each image."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    _unbatched = 0

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        alone = len(input.array.shape) == self._unbatched
        y = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y.squeeze(0) if alone else y


def _checking(ranks: tuple[int, ...], words: str) -> Any:
    def _check_input_dim(self: Any, input: Any) -> None:
        n = len(input.array.shape)
        if n not in ranks:
            raise ValueError(f"expected {words} input (got {n}D input)")

    return _check_input_dim


class _LazyNorm(LazyModuleMixin):
    """Learns `num_features` from its first input."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(0, *args, **words)  # type: ignore[call-arg]

    def _make(self, where: dict[str, Any]) -> None:
        from tapegrad.torch._construct import tensor

        for name in ("weight", "bias"):
            if self.affine and (name == "weight" or self._biased):  # type: ignore[attr-defined]
                setattr(self, name, UninitializedParameter(**where))
            else:
                self.register_parameter(name, None)  # type: ignore[attr-defined]
        tracked = self.track_running_stats  # type: ignore[attr-defined]
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, UninitializedBuffer(**where) if tracked else None)  # type: ignore[attr-defined]
        self.register_buffer("num_batches_tracked", tensor(0, device=where.get("device")) if tracked else None)  # type: ignore[attr-defined]

    def reset_parameters(self) -> None:
        """Wait until the first input is seen."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any) -> None:
        """Give the parameters the shapes that this input asks for."""
        self.num_features = input.array.shape[1]
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = getattr(self, name)
            if value is not None:
                materialize(value, (self.num_features,))
        self.reset_parameters()


_RANKS = {1: ((2, 3), "2D or 3D"), 2: ((4,), "4D"), 3: ((5,), "5D")}
for _n, (_ranks, _words) in _RANKS.items():
    for _name, _base in (("BatchNorm", _BatchNorm), ("InstanceNorm", _InstanceNorm)):
        _space: dict[str, Any] = {"__doc__": _base.__doc__, "__module__": __name__, "_check_input_dim": _checking(_ranks, _words)}
        if _base is _InstanceNorm:
            _space["_unbatched"] = _n + 1
            _space["_check_input_dim"] = _checking((_n + 1, _n + 2), f"{_n + 1}D or {_n + 2}D")
        _made = globals()[f"{_name}{_n}d"] = type(f"{_name}{_n}d", (_base,), _space)
        globals()[f"Lazy{_name}{_n}d"] = type(
            f"Lazy{_name}{_n}d", (_LazyNorm, _made), {"cls_to_become": _made, "__doc__": _LazyNorm.__doc__, "__module__": __name__}
        )


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over all processes; there is one."""

    _check_input_dim = _checking(tuple(range(2, 9)), "at least 2D")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module as it is: there is one process."""
        return module


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        from tapegrad.torch import empty

        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, there in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            if there:
                setattr(self, name, Parameter(empty(self.normalized_shape, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """The root of the mean square over the last axes brought to 1."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        from tapegrad.torch import empty

        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 in each group of channels of each image."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        from tapegrad.torch import empty

        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, there in (("weight", affine), ("bias", affine and bias)):
            if there:
                setattr(self, name, Parameter(empty(num_channels, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
