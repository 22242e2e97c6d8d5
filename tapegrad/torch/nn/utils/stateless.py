"""A module called with other parameters than its own, under the older name of `torch.func.functional_call`."""

from __future__ import annotations

from typing import Any

__all__ = ["functional_call"]


def functional_call(
    module: Any, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False
) -> Any:
    """What a module gives with these parameters and buffers in the place of its own."""
    from tapegrad.torch.func import functional_call as call

    return call(module, parameters_and_buffers, () if args is None else args, kwargs, tie_weights=tie_weights, strict=strict)
