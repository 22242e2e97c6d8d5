"""A layer and the batch normalisation after it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from tapegrad.torch.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes what `bn(conv(x))` does in evaluation mode."""
    _check_evaluation(conv, bn)
    fused = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """The weight and the bias of such a convolution, whose output channels are on axis 0, or 1 of a transposed one."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes what `bn(linear(x))` does in evaluation mode."""
    _check_evaluation(linear, bn)
    fused = copy.deepcopy(linear)
    if bn.num_features not in (linear.out_features, 1):
        raise ValueError(
            f"To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got {linear.out_features} and "
            f"{bn.num_features}"
        )
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """The weight and the bias of such a linear layer."""
    return _fused(linear_w, linear_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), [-1, 1])


def _fused(weight: Any, bias: Any, norm: tuple[Any, ...], shape: list[int]) -> tuple[Any, Any]:
    from tapegrad.torch import ones_like, rsqrt, zeros_like

    mean, variance, eps, scale, shift = norm
    bias = zeros_like(mean) if bias is None else bias
    factor = (ones_like(mean) if scale is None else scale) * rsqrt(variance + eps)
    fused_w = (weight * factor.reshape(shape)).to(weight.dtype)
    fused_b = ((bias - mean) * factor + (zeros_like(mean) if shift is None else shift)).to(bias.dtype)
    return Parameter(fused_w.detach(), weight.requires_grad), Parameter(fused_b.detach(), bias.requires_grad)


def _check_evaluation(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs the running mean and variance: this normalisation was made with track_running_stats=False")
