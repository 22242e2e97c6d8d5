"""Discrete Fourier transforms: the array API's `fft` extension."""

from tapegrad.elsewhere import absent as _absent
from tapegrad.ops import fft as _ops
from tapegrad.registry.public import at_home as _at_home

fft = _ops.fft.entry
ifft = _ops.ifft.entry
fftn = _ops.fftn.entry
ifftn = _ops.ifftn.entry
rfft = _ops.rfft.entry
irfft = _ops.irfft.entry
rfftn = _ops.rfftn.entry
irfftn = _ops.irfftn.entry
hfft = _ops.hfft.entry
ihfft = _ops.ihfft.entry
fftfreq = _ops.fftfreq.entry
rfftfreq = _ops.rfftfreq.entry
fftshift = _ops.fftshift.entry
ifftshift = _ops.ifftshift.entry

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_at_home(__name__, globals())
__getattr__ = _absent(__name__)
__dir__ = __all__.copy
