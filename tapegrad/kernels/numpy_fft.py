"""NumPy kernels of the discrete Fourier transform along one axis; single precision stays single."""

from __future__ import annotations

from typing import Any

import numpy as np


def dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    return np.fft.fft(_taken(x), size, axis, norm)


def inverse_dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    return np.fft.ifft(_taken(x), size, axis, norm)


def real_dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    return np.fft.rfft(_taken(x), size, axis, norm)


def inverse_real_dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    y = np.fft.irfft(_taken(x), size, axis, norm)
    return y.astype(x.dtype) if x.dtype.itemsize == 2 else y


def _taken(x: Any) -> Any:
    """NumPy has no transform of bfloat16."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def fft_frequencies(size: int, spacing: float) -> Any:
    return np.fft.fftfreq(size, spacing)


def rfft_frequencies(size: int, spacing: float) -> Any:
    return np.fft.rfftfreq(size, spacing)
