"""`GradScaler`: a loss is scaled up, so that small gradients survive a short dtype, and the step undoes it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tapegrad.torch._devices import gpus
from tapegrad.torch._tensor import Tensor


class GradScaler:
    """Scales losses, and skips steps whose gradients are not finite."""

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not isinstance(device, str):  # as torch.cuda.amp had it: the scale came first
            device, init_scale = "cuda", device
        if enabled and device == "cuda" and not gpus():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning, stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device = device
        self._enabled = enabled
        self._scale = self._init_scale = float(init_scale)
        self._scaled = False  # nothing yet
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = self._init_growth_tracker = 0
        self._stages: dict[int, str] = {}
        self._found: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """A tensor, or a sequence of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._scaled = True
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)(self.scale(y) for y in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale."""
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), "ready")
        if not self._scaled:
            raise AssertionError(
                "Attempted unscale_ but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier "
                "in the iteration."
            )
        if stage == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        bad = False
        for group in optimizer.param_groups:
            for p in group["params"]:
                g = p.grad
                if g is None:
                    continue
                if g.array.dtype == np.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                bad = bad or not bool(np.isfinite(np.asarray(g.read()[0])).all())
                g.data.mul_(1.0 / self._scale)
        self._found[id(optimizer)] = bad
        self._stages[id(optimizer)] = "unscaled"

    def step(self, optimizer: Any, *args: Any, **words: Any) -> Any:
        """Let the optimizer step, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **words)
        if "closure" in words:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if not self._scaled:
            raise AssertionError(
                "Attempted step but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
                "the iteration."
            )
        stage = self._stages.get(id(optimizer), "ready")
        if stage == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if stage == "ready":
            self.unscale_(optimizer)
        if not any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
            raise AssertionError("No inf checks were recorded for this optimizer.")
        found = None if self._found[id(optimizer)] else optimizer.step(*args, **words)
        self._stages[id(optimizer)] = "stepped"
        return found

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what was found since the last update."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._scaled:
                raise AssertionError(
                    "Attempted update but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
                    "earlier in the iteration."
                )
            if not self._found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._found.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._stages.clear()
        self._found.clear()

    def get_scale(self) -> float:
        """The scale; 1 if this scaler is disabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by what the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """All that `load_state_dict` needs."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = self._growth_tracker = state_dict["_growth_tracker"]


