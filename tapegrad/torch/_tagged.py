"""Functions whose last node PyTorch knows by the name of the function, where here it is that of the last op."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.torch._node_names import tag
from tapegrad.torch._tensor import Tensor

#: The names of nodes by those of functions; "?" stands for 0 where all is reduced, and 1 where axes are named.
_NAMES = {
    "mean": "MeanBackward?", "var": "VarBackward0", "std": "StdBackward0", "logsumexp": "LogsumexpBackward0",
    "rsqrt": "RsqrtBackward0", "masked_fill": "MaskedFillBackward0", "clone": "CloneBackward0", "bmm": "BmmBackward0",
    "mse_loss": "MseLossBackward0", "cross_entropy": "NllLossBackward0", "nll_loss": "NllLossBackward0",
    "binary_cross_entropy": "BinaryCrossEntropyBackward0", "smooth_l1_loss": "SmoothL1LossBackward0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0", "gelu": "GeluBackward0",
    "softplus": "SoftplusBackward0", "huber_loss": "HuberLossBackward0", "layer_norm": "NativeLayerNormBackward0",
    "batch_norm": "NativeBatchNormBackward0", "embedding": "EmbeddingBackward0",
}  # fmt: skip


def named(function: Any) -> Any:
    """The function, with its node named as PyTorch names it."""
    name = _NAMES.get(getattr(function, "__name__", ""))
    if name is None or hasattr(function, "is_named"):
        return function
    over = name[:-1] if name.endswith("?") else None

    @functools.wraps(function)
    def wrapped(*args: Any, **words: Any) -> Any:
        y = function(*args, **words)
        if type(y) is Tensor and y.node is not None:
            tag(y, name if over is None else f"{over}{int(y.array.shape != ())}")
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
