"""Signal processing: `torch.signal`."""

from tapegrad.torch.signal import windows

__all__ = ["windows"]
