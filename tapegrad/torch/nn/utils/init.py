"""Modules that are made to be filled by other values."""

from __future__ import annotations

from typing import Any

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are yet to be filled; the generator stays as it was."""
    from tapegrad.torch import get_rng_state, set_rng_state
    from tapegrad.torch.nn import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    before = get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        set_rng_state(before)
