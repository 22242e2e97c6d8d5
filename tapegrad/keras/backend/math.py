"""Keras's mathematical functions: segments, ranks, Fourier transforms and special functions, as ops that record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from keras.src.backend import standardize_dtype
from keras.src.backend.common import dtypes

import tapegrad as tg
from tapegrad.keras import look
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable


# -- segments --------------------------------------------------------------------------------------------------
def _segments(data: Any, segment_ids: Any, num_segments: int | None) -> tuple[Any, Any, int]:
    """The rows that belong to a segment, their numbers, and how many segments there are."""
    data = convert_to_tensor(data)
    ids = convert_to_numpy(convert_to_tensor(segment_ids)).reshape(-1)
    count = int(ids.max(initial=-1)) + 1 if num_segments is None else int(num_segments)
    known = (ids >= 0) & (ids < count)
    return (data, ids, count) if known.all() else (data[known], ids[known], count)


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:  # noqa: A002
    """The sum of the rows of each segment."""
    data, ids, count = _segments(data, segment_ids, num_segments)
    return F.put_add(data, (ids,), (count, *data.shape[1:]))


def _extreme(name: str, ufunc: Any, start: float) -> Callable[..., Any]:
    """The largest or smallest of each segment; rows that are equally so share the derivative."""

    def run(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:  # noqa: A002
        data, ids, count = _segments(data, segment_ids, num_segments)
        raw = convert_to_numpy(data)
        whole = raw.dtype.kind in "iu"
        bound = (numpy.iinfo(raw.dtype).min if start < 0 else numpy.iinfo(raw.dtype).max) if whole else start
        found = numpy.full((count, *raw.shape[1:]), bound, raw.dtype)
        ufunc.at(found, ids, raw)
        if not is_recorded(data.node):
            return asarray(found)
        best = numpy.asarray(raw == found[ids], raw.dtype)
        ties = numpy.zeros(found.shape, raw.dtype)
        numpy.add.at(ties, ids, best)
        shares = asarray(best / numpy.maximum(ties, 1)[ids])
        empty = asarray(numpy.where(ties == 0, found, 0).astype(raw.dtype))
        return F.put_add(data * shares, (ids,), found.shape) + empty

    run.__name__ = run.__qualname__ = name
    return run


segment_max = _extreme("segment_max", numpy.maximum, -numpy.inf)
segment_min = _extreme("segment_min", numpy.minimum, numpy.inf)


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:  # noqa: A002
    """The product of the rows of each segment."""
    data, ids, count = _segments(data, segment_ids, num_segments)
    if is_recorded(data.node):
        raise NotImplementedError("segment_prod of values that a tape records: tapegrad has no derivative of it")
    raw = convert_to_numpy(data)
    found = numpy.ones((count, *raw.shape[1:]), raw.dtype)
    numpy.multiply.at(found, ids, raw)
    return asarray(found)


# -- ranks -----------------------------------------------------------------------------------------------------
def top_k(x: Any, k: int, sorted: bool = True) -> tuple[Any, Any]:  # noqa: A002  Keras's name
    """The k largest elements along the last axis, and where they are; sorted whether asked for or not."""
    x = convert_to_tensor(x)
    places = F.argsort(x, axis=-1, descending=True, stable=True)[..., :k]
    return F.take_along_axis(x, places, axis=-1), F.astype(places, numpy.int32)


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    """Whether the element that each target picks is among the k largest."""
    predictions = convert_to_tensor(predictions)
    picked = F.take_along_axis(predictions, F.expand_dims(convert_to_tensor(targets, "int32"), axis=-1), axis=-1)
    least = top_k(predictions, k)[0][..., -1:]
    return F.squeeze(F.greater_equal(picked, least), -1)


# -- special functions -----------------------------------------------------------------------------------------
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x)))."""
    return tg.nn.logsumexp(_float(x), axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)


def _float(x: Any) -> Any:
    x = convert_to_tensor(x)
    return F.astype(x, dtypes.result_type(x.dtype, float)) if x.array.dtype.kind in "biu" else x


def erf(x: Any) -> Any:
    """The error function."""
    return tg.special.erf(_float(x))


def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    return tg.special.erfc(_float(x))


def erfinv(x: Any) -> Any:
    """The inverse of the error function."""
    return tg.special.erfinv(_float(x))


# -- Fourier transforms ----------------------------------------------------------------------------------------
def _complex(x: Any) -> Any:
    """A complex tensor of Keras's pair of real and imaginary part."""
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary.Received: x={x}")
    real, imag = map(convert_to_tensor, x)
    if real.shape != imag.shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary."
            "Both the real and imaginary parts should have the same shape. "
            f"Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    if real.array.dtype.kind != "f" or imag.array.dtype.kind != "f":
        raise ValueError(f"At least one tensor in input `x` is not of type float.Received: x={x}.")
    return real + 1j * imag


def complex_as_shown(x: Any) -> Any:
    """The complex tensor of a pair, for `keras.ops.polar`, which asks the backend for it by a name that nobody dresses."""
    return look.shown(_complex(look.plain(x)))


def _parts(z: Any) -> tuple[Any, Any]:
    return F.real(z), F.imag(z)


def fft(x: Any) -> tuple[Any, Any]:
    """The Fourier transform along the last axis."""
    return _parts(tg.fft.fft(_complex(x)))


def fft2(x: Any) -> tuple[Any, Any]:
    """The Fourier transform along the last two axes."""
    return _parts(tg.fft.fftn(_complex(x), axes=(-2, -1)))


def ifft2(x: Any) -> tuple[Any, Any]:
    """The inverse of `fft2`."""
    return _parts(tg.fft.ifftn(_complex(x), axes=(-2, -1)))


def rfft(x: Any, fft_length: int | None = None) -> tuple[Any, Any]:
    """The first half of the Fourier transform of real numbers, along the last axis."""
    return _parts(tg.fft.rfft(convert_to_tensor(x), n=fft_length))


def irfft(x: Any, fft_length: int | None = None) -> Any:
    """The inverse of `rfft`."""
    return tg.fft.irfft(_complex(x), n=fft_length)


# -- frames ----------------------------------------------------------------------------------------------------
def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Any:
    """The frames of a signal, (..., n) -> (..., frames, sequence_length)."""
    x = convert_to_tensor(x)
    return x[..., _frames(x.shape[-1], sequence_length, sequence_stride)]


def _frames(n: int, length: int, stride: int) -> Any:
    """Where in a signal the elements of its frames are, (frames, length)."""
    count = max((n - length) // stride + 1, 0)
    return numpy.arange(count)[:, None] * stride + numpy.arange(length)


def _window(window: Any, length: int, whole: int, dtype: Any) -> Any:
    """A window of this length in the middle of a frame."""
    if isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                'If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. ' f"Received: window={window}"
            )
        from scipy import signal

        window = signal.get_window(window, length)
    made = F.ones((length,), dtype=dtype) if window is None else convert_to_tensor(window, standardize_dtype(dtype))
    if made.shape != (length,):
        raise ValueError(f"The shape of `window` must be equal to [sequence_length].Received: window shape={made.shape}")
    left = (whole - length) // 2
    return F.pad(made, [(left, whole - length - left)]) if whole > length else made


def stft(
    x: Any, sequence_length: int, sequence_stride: int, fft_length: int, window: Any = "hann", center: bool = True
) -> tuple[Any, Any]:
    """The Fourier transforms of the windowed frames of a signal."""
    x = convert_to_tensor(x)
    if standardize_dtype(x.dtype) not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    shape = _window(window, sequence_length, fft_length, x.dtype)
    if center:
        half = fft_length // 2
        n = x.shape[-1]
        index = numpy.abs(numpy.arange(-half, n + half))
        x = x[..., numpy.where(index >= n, 2 * (n - 1) - index, index)]
    return _parts(tg.fft.rfft(extract_sequences(x, fft_length, sequence_stride) * shape))


def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """The signal of which `stft` gives these frames."""
    frames = tg.fft.irfft(_complex(x), n=fft_length)
    count = frames.shape[-2]
    shape = _window(window, sequence_length, fft_length, frames.dtype)
    whole = fft_length + sequence_stride * (count - 1)
    places = _frames(whole, fft_length, sequence_stride)
    weight = numpy.zeros(whole)
    numpy.add.at(weight, places, numpy.broadcast_to(convert_to_numpy(shape) ** 2, places.shape))
    added = F.put_add(frames * shape, (Ellipsis, places), (*frames.shape[:-2], whole))
    y = added / asarray(numpy.where(weight > 1e-10, weight, 1.0), dtype=frames.dtype)
    start = fft_length // 2 if center else 0
    if length is not None:
        return y[..., start : start + length]
    return y[..., start : whole - start if center else whole]


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
]


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
    names["_get_complex_tensor_from_tuple"] = complex_as_shown
