"""`torch.amp`: products in a shorter dtype, and scaled losses."""

from tapegrad.torch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tapegrad.torch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __getattr__(name: str) -> object:
    from tapegrad.torch._missing import refuse

    return refuse("torch.amp", name, __all__)
