"""Inference mode: tensors that are made inside never take part in a graph."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._modes import INFERENCE
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._tensor import Tensor


class Inference(Tensor):
    """A tensor that was made in inference mode."""

    __slots__ = ()

    def read(self) -> tuple[Any, Any]:
        if is_enabled() and not INFERENCE.on:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
                "`torch.no_grad()` instead of `torch.inference_mode()`."
            )
        return self.array, self.node


def enter(on: bool) -> None:
    """Enter or leave the mode on this thread."""
    INFERENCE.on = on


def leave(on: bool) -> None:
    """Go back to what was before."""
    INFERENCE.on = on
