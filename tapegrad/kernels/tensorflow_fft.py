"""TensorFlow kernels of the discrete Fourier transform along one axis; single precision stays single."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import multiply
from tapegrad.kernels.tensorflow_array import made, wrapped
from tapegrad.kernels.tensorflow_basics import real
from tapegrad.kernels.tensorflow_calls import C64, F32, F64, constant, ints
from tapegrad.kernels.tensorflow_pick import getitem, last, restored
from tapegrad.kernels.tensorflow_promotion import asarray, common, converted
from tapegrad.kernels.tensorflow_shape import concat, one_axis, zeros

if TYPE_CHECKING:
    from collections.abc import Callable

_FFT, _IFFT, _RFFT, _IRFFT = calls.op("FFT"), calls.op("IFFT"), calls.op("RFFT"), calls.op("IRFFT")


def _floating(x: Any) -> Any:
    """In single or double precision: half in single, integers in double."""
    x = asarray(x)
    if x.dtype.kind in "biu":
        return converted(x, F64)
    return converted(x, F32) if x.dtype.itemsize == 2 else x


def _fitted(x: Any, size: int) -> Any:
    """The last axis cut, or filled up with zeros, to a length."""
    n = x.shape[-1]
    if n == size:
        return x
    if n > size:
        return getitem(x, (Ellipsis, slice(0, size)))
    return concat([x, zeros((*x.shape[:-1], size - n), dtype=x.dtype)], axis=-1)


def _scaled(y: Any, size: int, norm: Any, *, inverse: bool) -> Any:
    """By the norm; TensorFlow's inverse divides by the length, its transform by nothing."""
    factor = {"backward": 1.0, "ortho": size**0.5 if inverse else size**-0.5, "forward": size if inverse else 1 / size}[norm]
    return y if factor == 1 else multiply(y, factor)


def _along(x: Any, size: int, axis: int, length: int, run: Callable[[Any], Any]) -> Any:
    """The transform along an axis, whose input has `length` elements there."""
    if size < 1:
        raise ValueError(f"Invalid number of FFT data points ({size}) specified.")
    axis = one_axis(axis, x.ndim)
    x = _fitted(last(x, axis), length)
    return restored(run(x), axis)


def _complex(name: str, *, inverse: bool) -> Callable[..., Any]:
    operation = _IFFT if inverse else _FFT

    def kernel(x: Any, size: int, axis: int, norm: Any) -> Any:
        x = _floating(x)
        x = converted(x, common(x.dtype, C64))
        y = _along(x, size, axis, size, lambda v: v if 0 in v.shape else made(operation(v.bare), v.dtype, v._shape))
        return _scaled(y, size, norm, inverse=inverse)

    kernel.__name__ = name
    return kernel


dft, inverse_dft = _complex("dft", inverse=False), _complex("inverse_dft", inverse=True)


def real_dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    x = real(_floating(x))
    d = common(x.dtype, C64)

    def run(v: Any) -> Any:
        if 0 in v.shape:
            return zeros((*v.shape[:-1], size // 2 + 1), dtype=d)
        return made(_RFFT(v.bare, ints((size,)), Tcomplex=calls.TF_OF[d]), d)

    return _scaled(_along(x, size, axis, size, run), size, norm, inverse=False)


def inverse_real_dft(x: Any, size: int, axis: int, norm: Any) -> Any:
    x = asarray(x)
    given, x = x.dtype, _floating(x)
    d = F32 if x.dtype in (F32, C64) else F64
    x = converted(x, common(x.dtype, C64))

    def run(v: Any) -> Any:
        if 0 in v.shape:
            return zeros((*v.shape[:-1], size), dtype=d)
        return made(_IRFFT(v.bare, ints((size,)), Treal=calls.TF_OF[d]), d)

    y = _scaled(_along(x, size, axis, size // 2 + 1, run), size, norm, inverse=True)
    return converted(y, given) if given.itemsize == 2 else y


def fft_frequencies(size: int, spacing: float) -> Any:
    return wrapped(constant(np.fft.fftfreq(size, spacing)))


def rfft_frequencies(size: int, spacing: float) -> Any:
    return wrapped(constant(np.fft.rfftfreq(size, spacing)))
