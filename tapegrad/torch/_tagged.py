"""Functions whose last node PyTorch knows by the name of the function, where here it is that of the last op."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.core.node import tick
from tapegrad.torch._node_names import tag
from tapegrad.torch._tensor import Tensor

#: The names of nodes by those of functions; "?" stands for 0 where all is reduced, and 1 where axes are named;
#: "+" where it gives values and places.
_NAMES = {
    "mean": "MeanBackward?", "var": "VarBackward0", "std": "StdBackward0", "logsumexp": "LogsumexpBackward0",
    "rsqrt": "RsqrtBackward0", "masked_fill": "MaskedFillBackward0", "clone": "CloneBackward0", "bmm": "BmmBackward0",
    "square": "PowBackward0", "pow": "PowBackward0", "amax": "AmaxBackward0", "amin": "AminBackward0", "max": "MaxBackward0+",
    "min": "MinBackward0+", "median": "MedianBackward?", "sort": "SortBackward0", "topk": "TopkBackward0", "roll": "RollBackward0",
    "trace": "TraceBackward0", "repeat": "RepeatBackward0", "clamp": "ClampBackward1", "clamp_min": "ClampMinBackward0",
    "clamp_max": "ClampMaxBackward0", "addmm": "AddmmBackward0", "baddbmm": "BaddbmmBackward0", "lerp": "LerpBackward0",
    "scatter_add": "ScatterAddBackward0", "index_add": "IndexAddBackward0", "nansum": "NansumBackward0",
    "mse_loss": "MseLossBackward0", "cross_entropy": "NllLossBackward0", "nll_loss": "NllLossBackward0",
    "binary_cross_entropy": "BinaryCrossEntropyBackward0", "smooth_l1_loss": "SmoothL1LossBackward0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0", "gelu": "GeluBackward0",
    "softplus": "SoftplusBackward0", "huber_loss": "HuberLossBackward0", "layer_norm": "NativeLayerNormBackward0",
    "batch_norm": "NativeBatchNormBackward0", "group_norm": "NativeGroupNormBackward0", "embedding": "EmbeddingBackward0",
    "glu": "GluBackward0", "mish": "MishBackward0", "selu": "EluBackward0", "avg_pool2d": "AvgPool2DBackward0",
    "max_pool2d": "MaxPool2DWithIndicesBackward0", "adaptive_avg_pool2d": "AdaptiveAvgPool2DBackward0",
    **{f"conv{t}{n}d": "ConvolutionBackward0" for t in ("", "_transpose") for n in (1, 2, 3)},
    "scaled_dot_product_attention": "ScaledDotProductFlashAttentionForCpuBackward0",
}  # fmt: skip


def named(function: Any) -> Any:
    """The function, with its node named as PyTorch names it, and the nodes between that and its arguments out of sight."""
    name = _NAMES.get(getattr(function, "__name__", ""))
    if name is None or hasattr(function, "is_named"):
        return function
    pairs = name.endswith("+")
    names = (name[:-1] + "0", name[:-1] + "1") if name.endswith("?") else (name.rstrip("+"),) * 2

    @functools.wraps(function)
    def wrapped(*args: Any, **words: Any) -> Any:
        start = tick()
        y = function(*args, **words)
        found = y[0] if isinstance(y, tuple) and y else y
        if type(found) is Tensor and (found is not y or not pairs):
            node = found.node
            if node is not None and node.seq > start:
                tag(found, names[found.array.shape != ()], node.seq - start)
        return y

    wrapped.is_named = True  # type: ignore[attr-defined]
    return wrapped


def name_all(space: Any) -> None:
    """Name the nodes of all functions in a namespace that PyTorch names otherwise."""
    for key in _NAMES:
        found = space.get(key) if isinstance(space, dict) else vars(space).get(key)
        if found is None:
            continue
        if isinstance(space, dict):
            space[key] = named(found)
        else:
            setattr(space, key, named(found))
