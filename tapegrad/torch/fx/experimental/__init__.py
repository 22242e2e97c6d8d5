"""`torch.fx.experimental`: whether anybody traces."""

from tapegrad.torch.fx.experimental import proxy_tensor

__all__ = ["proxy_tensor"]
