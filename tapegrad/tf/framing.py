"""`tf.signal` beside the Fourier transforms: frames, windows, short-time and cosine transforms, mel scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import as_dtype, float32
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


# -- frames -------------------------------------------------------------------------------------------------------
@export("signal.frame")
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Pieces of a length, each a step after the one before: (..., samples, ...) -> (..., frames, frame_length, ...)."""
    x = convert(signal)
    if not x.array.ndim:
        raise ValueError("tf.signal.frame: Shape () must have rank at least 1")
    for what in (frame_length, frame_step):
        if np.ndim(what):
            raise ValueError(f"tf.signal.frame: Shape {TensorShape(np.shape(what))} must have rank 0: a length and a step are numbers")
    axis = axis % x.array.ndim
    size, step, n = int(frame_length), int(frame_step), x.array.shape[axis]
    if pad_end:
        count = -(-n // step)
        missing = max(0, size + step * (count - 1) - n)
        x = pad(x, [[0, missing if k == axis else 0] for k in range(x.array.ndim)], constant_values=pad_value)
    else:
        count = max(0, 1 + (n - size) // step)
    index = np.arange(count)[:, None] * step + np.arange(size)
    return S.getitem(x, (*[slice(None)] * axis, index))


@export("signal.overlap_and_add")
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Frames added up where they lie: (..., frames, frame_length) -> (..., samples)."""
    x = convert(signal)
    if x.array.ndim < 2:
        raise ValueError(f"signal must be at least rank 2, got {shape_text(x.array)}")
    count, size = x.array.shape[-2:]
    step = int(frame_step)
    index = np.arange(count)[:, None] * step + np.arange(size)
    return S.put_add(x, (..., index), (*x.array.shape[:-2], size + step * (count - 1)))


# -- windows ------------------------------------------------------------------------------------------------------
def _cosine(length: Any, periodic: bool, dtype: Any, level: float) -> Tensor:
    n, wanted = int(length), as_dtype(dtype).numpy
    if n == 1:
        return fresh(np.ones(1, wanted))
    around = n + (n % 2 == 0) * bool(periodic) - 1
    return fresh((level - (1 - level) * np.cos(2 * np.pi * np.arange(n) / around)).astype(wanted))


@export("signal.hann_window")
def hann_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """A raised cosine that is 0 at its ends."""
    return _cosine(window_length, periodic, dtype, 0.5)


@export("signal.hamming_window")
def hamming_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """A raised cosine that is 0.08 at its ends."""
    return _cosine(window_length, periodic, dtype, 0.54)


def _kaiser(n: int, beta: float) -> Any:
    half = (n - 1) / 2
    place = np.arange(n) - half
    return np.i0(beta * np.sqrt(np.maximum(0, 1 - (place / half) ** 2))) / np.i0(beta) if n > 1 else np.ones(1)


@export("signal.kaiser_window")
def kaiser_window(window_length: Any, beta: float = 12.0, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Kaiser's window; a larger `beta` makes it narrower."""
    return fresh(_kaiser(int(window_length), float(beta)).astype(as_dtype(dtype).numpy))


@export("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(window_length: Any, beta: float = 12.0, dtype: Any = float32, name: str | None = None) -> Tensor:
    """The window whose squares, half of it apart, add up to 1, made of Kaiser's."""
    sums = np.cumsum(_kaiser(int(window_length) // 2 + 1, float(beta)))
    half = np.sqrt(sums[:-1] / sums[-1])
    return fresh(np.concatenate([half, half[::-1]]).astype(as_dtype(dtype).numpy))


@export("signal.vorbis_window")
def vorbis_window(window_length: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """The window of Vorbis's transform."""
    n = int(window_length)
    inner = np.sin(np.pi / n * (np.arange(n) + 0.5)) ** 2
    return fresh(np.sin(np.pi / 2 * inner).astype(as_dtype(dtype).numpy))


# -- short-time transforms ------------------------------------------------------------------------------------------
def _enclosing(n: int) -> int:
    return 1 << (n - 1).bit_length()


@export("signal.stft")
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Any = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Spectra of windowed frames: (..., samples) -> (..., frames, fft_length // 2 + 1), complex."""
    x = convert(signals)
    frames = frame(x, frame_length, frame_step, pad_end)
    if window_fn is not None:
        frames = S.multiply(frames, window_fn(int(frame_length), dtype=x.dtype))
    n = _enclosing(int(frame_length)) if fft_length is None else int(fft_length)
    return S.rfftn(frames, s=(n,), axes=(-1,))


@export("signal.inverse_stft")
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Any = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signal of spectra of frames; with the window of `inverse_stft_window_fn` it is the one that `stft` took."""
    z = convert(stfts)
    size = int(frame_length)
    n = _enclosing(size) if fft_length is None else int(fft_length)
    frames = S.irfftn(z, s=(n,), axes=(-1,))
    if n > size:
        frames = S.getitem(frames, (..., slice(0, size)))
    elif n < size:
        frames = pad(frames, [[0, 0]] * (frames.array.ndim - 1) + [[0, size - n]])
    if window_fn is not None:
        frames = S.multiply(frames, window_fn(size, dtype=frames.dtype))
    return overlap_and_add(frames, frame_step)


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Any = hann_window, name: str | None = None) -> Any:
    """The function of the window with which `inverse_stft` undoes `stft`."""
    step = int(frame_step)

    def window(frame_length: Any, dtype: Any) -> Tensor:
        n = int(frame_length)
        forward = np.asarray(forward_window_fn(n, dtype=dtype).array)
        overlaps = -(-n // step)
        squares = np.pad(forward**2, (0, overlaps * step - n)).reshape(overlaps, step).sum(0)
        return fresh(forward / np.tile(squares, overlaps)[:n])

    return window


# -- cosine transforms ------------------------------------------------------------------------------------------------
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _basis(kind: int, n: int) -> Any:
    """The cosines of a transform: [place, frequency]."""
    place: Any = np.arange(n)[:, None]
    frequency: Any = np.arange(n)[None, :]
    if kind == 1:
        ends = np.where((place == 0) | (place == n - 1), 1, 2)
        return ends * np.cos(np.pi * place * frequency / (n - 1))
    if kind == 2:
        return 2 * np.cos(np.pi * (2 * place + 1) * frequency / (2 * n))
    if kind == 3:
        return np.where(place == 0, 1, 2) * np.cos(np.pi * place * (2 * frequency + 1) / (2 * n))
    return 2 * np.cos(np.pi * (2 * place + 1) * (2 * frequency + 1) / (4 * n))


def _orthonormal(kind: int, basis: Any, n: int) -> Any:
    if kind == 2:
        return basis * np.where(np.arange(n) == 0, np.sqrt(1 / (4 * n)), np.sqrt(1 / (2 * n)))
    if kind == 3:
        rows: Any = np.where(np.arange(n) == 0, np.sqrt(1 / n), np.sqrt(1 / (2 * n)))
        return basis * rows[:, None]
    return basis * np.sqrt(1 / (2 * n))


@export("signal.dct")
def dct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, name: str | None = None) -> Tensor:
    """The cosine transform of the last axis, by the matrix of its cosines; for n samples, cut or padded, where n is given."""
    if type not in _INVERSE:
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported. Got: {type}")
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type == 1 and norm == "ortho":
        raise ValueError(f"Normalization is not supported for the Type-I DCT. Got: {norm}")
    x = convert(input)
    if x.array.dtype.kind != "f":
        raise invalid("DCT", f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: float, double")
    own = x.array.shape[-1]
    size = own if n is None else int(n)
    if size < own:
        x = S.getitem(x, (..., slice(0, size)))
    elif size > own:
        x = pad(x, [[0, 0]] * (x.array.ndim - 1) + [[0, size - own]])
    if type == 1 and size < 2:
        raise ValueError(f"Type-I DCT requires the dimension to be greater than one. Got: {size}")
    basis = _basis(type, size)
    if norm == "ortho":
        basis = _orthonormal(type, basis, size)
    return S.matmul(x, fresh(basis.astype(x.array.dtype)))


@export("signal.idct")
def idct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `dct`, but for a factor where it is not orthonormal."""
    return dct(input, _INVERSE.get(type, type), n, axis, norm)


# -- mel scales -----------------------------------------------------------------------------------------------------
def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(hertz / 700.0)


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Weights with which magnitudes over linear frequencies become magnitudes over mel frequencies: triangles."""
    rate, low, high = float(sample_rate), float(lower_edge_hertz), float(upper_edge_hertz)
    if not 0 <= low < high <= rate / 2:
        raise ValueError(
            "linear_to_mel_weight_matrix: expected 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2, "
            f"got {low}, {high}, {rate}"
        )
    at = _mel(np.linspace(0, rate / 2, int(num_spectrogram_bins))[1:])[:, None]
    edges = np.linspace(_mel(low), _mel(high), int(num_mel_bins) + 2)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    triangles = np.maximum(0, np.minimum((at - left) / (middle - left), (right - at) / (right - middle)))
    return fresh(np.pad(triangles, [(1, 0), (0, 0)]).astype(as_dtype(dtype).numpy))


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Cepstral coefficients: the cosine transform of logarithms over mel frequencies."""
    x = convert(log_mel_spectrograms)
    n = x.array.shape[-1]
    if not n:
        raise ValueError(f"num_mel_bins must be positive. Got: {shape_text(x.array)}")
    return S.multiply(dct(x), x.array.dtype.type(1 / math.sqrt(2 * n)))


@export("signal.mdct")
def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Any = vorbis_window,
    pad_end: bool = False,
    norm: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cosine transforms of frames that overlap by half: (..., samples) -> (..., frames, frame_length // 2)."""
    size = int(frame_length)
    if size % 4:
        raise ValueError(f"frame_length must be a multiple of 4, got {size}")
    half = size // 2
    frames = frame(signals, size, half, pad_end)
    if window_fn is not None:
        frames = S.multiply(frames, window_fn(size, dtype=frames.dtype))
    else:
        frames = S.multiply(frames, frames.array.dtype.type(1 / math.sqrt(2)))
    a, b, c, d = (S.getitem(frames, (..., slice(k * half // 2, (k + 1) * half // 2))) for k in range(4))
    first = S.negative(S.add(S.flip(c, axis=-1), d))
    return dct(S.concat([first, S.subtract(a, S.flip(b, axis=-1))], axis=-1), 4, norm=norm)

