"""`torch._subclasses`: what libraries ask of tensors without values, which are not here."""

from tapegrad.torch._subclasses import fake_tensor

__all__ = ["fake_tensor"]
