"""What is done to gradients and parameters of modules."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn.utils import rnn
from tapegrad.torch.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tapegrad.torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "rnn",
    "vector_to_parameters",
]  # fmt: skip

#: What is imported when it is first asked for: it needs modules, which need this.
_LATER = {
    "weight_norm": "normalised", "remove_weight_norm": "normalised", "spectral_norm": "normalised",
    "remove_spectral_norm": "normalised",
    **dict.fromkeys(["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"], "fusion"),
    "skip_init": "init",
}  # fmt: skip
_MODULES = ("fusion", "init", "parametrizations", "parametrize", "prune", "stateless")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    from tapegrad.torch._missing import refuse

    return refuse("torch.nn.utils", name, [*globals(), *_LATER, *_MODULES])
