"""`tf.signal`: Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert
from tapegrad.tf.export import table
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _complex(x: Any) -> Tensor:
    x = convert(x) if hasattr(x, "dtype") else convert(x, np.dtype(np.complex64))  # Python's numbers adapt
    if x.array.dtype.kind != "c":
        from tapegrad.tf.style import not_allowed

        raise not_allowed("FFT", x.array.dtype)
    return x


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _lengths(fft_length: Any) -> Any:
    return None if fft_length is None else tuple(int(n) for n in np.atleast_1d(np.asarray(fft_length)))


def _real(x: Any, fft_length: Any, rank: int) -> Tensor:
    x = convert(x)
    if fft_length is None and _nothing(x, rank):
        return S.cast(x, np.dtype(np.complex128 if x.array.dtype.itemsize == 8 else np.complex64))
    return S.rfftn(x, s=_lengths(fft_length), axes=_axes(rank))


def _unreal(x: Any, fft_length: Any, rank: int) -> Tensor:
    x = _complex(x)
    if fft_length is None and _nothing(x, rank):
        return S.real(x)
    return S.irfftn(x, s=_lengths(fft_length), axes=_axes(rank))


def _nothing(x: Tensor, rank: int) -> bool:
    """Whether there is nothing to transform: no element along one of the last axes."""
    return 0 in x.array.shape[-rank:]


def _whole(x: Any, rank: int, *, back: bool = False) -> Tensor:
    x = _complex(x)
    if _nothing(x, rank):
        return S.positive(x)
    return (S.ifftn if back else S.fftn)(x, axes=_axes(rank))


table(
    """
signal.fft | input, name=None | _whole(input, 1)
signal.ifft | input, name=None | _whole(input, 1, back=True)
signal.fft2d | input, name=None | _whole(input, 2)
signal.ifft2d | input, name=None | _whole(input, 2, back=True)
signal.fft3d | input, name=None | _whole(input, 3)
signal.ifft3d | input, name=None | _whole(input, 3, back=True)
signal.rfft | input_tensor, fft_length=None, name=None | _real(input_tensor, fft_length, 1)
signal.rfft2d | input_tensor, fft_length=None, name=None | _real(input_tensor, fft_length, 2)
signal.rfft3d | input_tensor, fft_length=None, name=None | _real(input_tensor, fft_length, 3)
signal.irfft | input_tensor, fft_length=None, name=None | _unreal(input_tensor, fft_length, 1)
signal.irfft2d | input_tensor, fft_length=None, name=None | _unreal(input_tensor, fft_length, 2)
signal.irfft3d | input_tensor, fft_length=None, name=None | _unreal(input_tensor, fft_length, 3)
signal.fftshift | x, axes=None, name=None | S.fftshift(C(x), axes=axes)
signal.ifftshift | x, axes=None, name=None | S.ifftshift(C(x), axes=axes)
""",
    S=S,
    C=convert,
    _whole=_whole,
    _real=_real,
    _unreal=_unreal,
)
