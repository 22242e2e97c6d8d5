"""Discrete Fourier transforms, in adjoint pairs; a length is cut, or filled up with zeros, before the transform.

With the norm "backward" the inverse is divided by the length, with "forward" the transform, with "ortho" both by its
root: so the adjoint of a transform is the other one with the norm at the other end.
"""

from __future__ import annotations

from typing import Any

from tapegrad.dtypes import as_dtype, float32
from tapegrad.errors import ArgumentError
from tapegrad.registry import composite, constant, linear
from tapegrad.registry.batch_rules import shifted

_OTHER_END = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _other_end(norm: str) -> str:
    try:
        return _OTHER_END[norm]
    except KeyError:
        raise ArgumentError(f"expected norm in ('backward', 'ortho', 'forward'), got {norm!r}") from None


# -- along one axis, of a length that is given -------------------------------------------------------------
def _sized(draw: Any) -> Any:
    n, axis = draw.choice(1, 2, 3, 4, 5), draw.choice(0, 1, -1)
    shape = (n, "m") if axis == 0 else ("m", n)
    params = {"size": draw.choice(n, 1, 2, 3, 6), "axis": axis, "norm": draw.choice("backward", "ortho", "forward")}
    return draw.array(*shape), params


def _fitted(F: Any, g: Any, x: Any, axis: int) -> Any:
    """A cotangent cut, or filled up with zeros, along an axis to the length that the argument has, in its dtype."""
    n, m = g.shape[axis], x.shape[axis]
    if n != m:
        index: list[Any] = [slice(None)] * len(x.shape)
        index[axis] = slice(0, min(n, m))
        g = F.getitem(g, tuple(index)) if n > m else F.put_add(g, tuple(index), (*x.shape,))
    return g if g.dtype == x.dtype else F.cast(g, x.dtype)


@linear(laws=_sized, public=False)
def dft(xp: Any, x: Any, /, size: int, axis: int, norm: str) -> Any:
    """The sums over j of x[j] exp(-2 pi i j k / size), for k from 0 to size - 1."""
    return xp.dft(x, size, axis, norm)


dft.adjoint(x=lambda F, g, x, size, axis, norm: _fitted(F, F.inverse_dft(g, size, axis, _other_end(norm)), x, axis))


@linear(laws=_sized, public=False)
def inverse_dft(xp: Any, x: Any, /, size: int, axis: int, norm: str) -> Any:
    """The sums over k of x[k] exp(2 pi i j k / size) / size, for j from 0 to size - 1."""
    return xp.inverse_dft(x, size, axis, norm)


inverse_dft.adjoint(x=lambda F, g, x, size, axis, norm: _fitted(F, F.dft(g, size, axis, _other_end(norm)), x, axis))


@linear(real=True, laws=_sized, public=False)
def real_dft(xp: Any, x: Any, /, size: int, axis: int, norm: str) -> Any:
    """The first size // 2 + 1 terms of the transform of a real array; the others are their conjugates."""
    return xp.real_dft(x, size, axis, norm)


real_dft.adjoint(
    x=lambda F, g, x, size, axis, norm: _fitted(F, F.real(F.inverse_dft(g, size, axis, _other_end(norm))), x, axis)
)


@linear(laws=_sized, public=False)
def inverse_real_dft(xp: Any, x: Any, /, size: int, axis: int, norm: str) -> Any:
    """The real array of a length whose `real_dft` begins as `x` does; imaginary parts that it cannot have are ignored."""
    return xp.inverse_real_dft(x, size, axis, norm)


def _inverse_real_adjoint(F: Any, g: Any, x: Any, size: int, axis: int, norm: str) -> Any:
    """Every term counts for itself and its conjugate, but for the first, and the last of an even length."""
    c = F.real_dft(g, size, axis, _other_end(norm))
    k = F.arange(0, size // 2 + 1)
    alone = (k == 0) | (2 * k == size)
    shape = [1] * len(x.shape)
    shape[axis] = size // 2 + 1
    return _fitted(F, c * F.reshape(F.where(alone, F.ones((), dtype=g.dtype), F.full((), 2, dtype=g.dtype)), tuple(shape)), x, axis)


inverse_real_dft.adjoint(x=_inverse_real_adjoint)

for _op in (dft, inverse_dft, real_dft, inverse_real_dft):

    def _along(F: Any, has: Any, x: Any, *, size: int, axis: int, norm: str, _name: str = _op.name) -> Any:
        return getattr(F, _name)(x, size, shifted(axis, len(x.shape) - 1), norm)

    _op.batch(_along)


# -- the public ones ---------------------------------------------------------------------------------------
def _one_axis(draw: Any) -> Any:
    n, axis = draw.choice(1, 2, 3, 4), draw.choice(0, 1, -1)
    shape = (n, "m") if axis == 0 else ("m", n)
    return draw.array(*shape), {"n": draw.choice(None, 1, 4, 5), "axis": axis, "norm": draw.choice("backward", "ortho", "forward")}


def _one_axis_inverse(draw: Any) -> Any:
    x, params = _one_axis(draw)
    return x, {**params, "n": params["n"] or 4}


def _some_axes(draw: Any) -> Any:
    s, axes = draw.choice((None, None), (None, (1, 0)), ((3, 2), None), ((4, 1), (0, -1)), ((2,), (1,)))
    return draw.array(2, 3), {"s": s, "axes": axes, "norm": draw.choice("backward", "ortho", "forward")}


@composite(laws=_one_axis, public=False)
def fft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The discrete Fourier transform along an axis, of length `n` (that of the axis if None)."""
    return F.dft(x, x.shape[axis] if n is None else n, axis, norm)


@composite(laws=_one_axis, public=False)
def ifft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `fft`."""
    return F.inverse_dft(x, x.shape[axis] if n is None else n, axis, norm)


def _cooked(x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A length for each axis: given, or (None, or -1) that of the axis."""
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(len(x.shape))
    axes = tuple(axes) if hasattr(axes, "__iter__") else (axes,)
    lengths = (None,) * len(axes) if s is None else tuple(s)
    if len(lengths) != len(axes):
        raise ArgumentError(f"expected a length for each axis, got s={s} and axes={axes}")
    return tuple(x.shape[a] if k in (None, -1) else k for k, a in zip(lengths, axes, strict=True)), axes


def _over_axes(F: Any, transform: str, x: Any, lengths: Any, axes: Any, norm: str) -> Any:
    for k, a in zip(reversed(lengths), reversed(axes), strict=True):
        x = getattr(F, transform)(x, k, a, norm)
    return x


@composite(laws=_some_axes, public=False)
def fftn(F: Any, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    """The discrete Fourier transform along several axes (all, or the last `len(s)`, if None), of lengths `s`."""
    return _over_axes(F, "dft", x, *_cooked(x, s, axes), norm)


@composite(laws=_some_axes, public=False)
def ifftn(F: Any, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    """The inverse of `fftn`."""
    return _over_axes(F, "inverse_dft", x, *_cooked(x, s, axes), norm)


@composite(real=True, laws=_one_axis, public=False)
def rfft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The first n // 2 + 1 terms of the Fourier transform of a real array; the others are their conjugates.

    Raises DTypeError for a complex array.
    """
    return F.real_dft(x, x.shape[axis] if n is None else n, axis, norm)


@composite(laws=_one_axis_inverse, public=False)
def irfft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `rfft`: a real array of length `n` (2 (m - 1) if None)."""
    return F.inverse_real_dft(x, 2 * (x.shape[axis] - 1) if n is None else n, axis, norm)


@composite(real=True, laws=_some_axes, public=False)
def rfftn(F: Any, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    """The Fourier transform of a real array along several axes; of the last of them, the first half and one."""
    lengths, axes = _cooked(x, s, axes)
    x = F.real_dft(x, lengths[-1], axes[-1], norm)
    return _over_axes(F, "dft", x, lengths[:-1], axes[:-1], norm)


def _some_axes_inverse(draw: Any) -> Any:
    s, axes = draw.choice((None, None), (None, (1, 0)), ((3, 2), None), ((4, 1), (0, -1)), ((2,), (1,)))
    return draw.array(2, 3), {"s": s, "axes": axes, "norm": draw.choice("backward", "ortho", "forward")}


@composite(laws=_some_axes_inverse, public=False)
def irfftn(F: Any, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    """The inverse of `rfftn`: a real array."""
    lengths, axes = _cooked(x, s, axes)
    last = lengths[-1]
    if s is None or s[-1] in (None, -1):
        last = 2 * (last - 1)
    x = _over_axes(F, "inverse_dft", x, lengths[:-1], axes[:-1], norm)
    return F.inverse_real_dft(x, last, axes[-1], norm)


@composite(laws=_one_axis_inverse, public=False)
def hfft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The transform, a real array of length `n` (2 (m - 1) if None), of an array that is its own mirrored conjugate.

    Its first half and one is given.
    """
    return F.irfft(F.conj(x), n=n, axis=axis, norm=_other_end(norm))


@composite(real=True, laws=_one_axis, public=False)
def ihfft(F: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `hfft`: the first n // 2 + 1 terms."""
    return F.conj(F.rfft(x, n=n, axis=axis, norm=_other_end(norm)))


# -- frequencies -------------------------------------------------------------------------------------------
@constant(laws=lambda draw: ({"n": draw.choice(1, 4, 5), "d": 0.5},), public=False)
def fftfreq(xp: Any, /, n: int, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the terms of `fft`, in cycles per unit of the sample spacing `d`."""
    return xp.astype(xp.fft_frequencies(n, d), as_dtype(dtype or float32))


@constant(laws=lambda draw: ({"n": draw.choice(1, 4, 5), "d": 0.5},), public=False)
def rfftfreq(xp: Any, /, n: int, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the terms of `rfft`, in cycles per unit of the sample spacing `d`."""
    return xp.astype(xp.rfft_frequencies(n, d), as_dtype(dtype or float32))


def _shifted(draw: Any) -> Any:
    return draw.array("n", "m"), {"axes": draw.choice(None, 0, -1, (0, 1))}


def _moved(F: Any, x: Any, axes: Any, half: Any) -> Any:
    axes = tuple(range(len(x.shape))) if axes is None else tuple(axes) if hasattr(axes, "__iter__") else (axes,)
    return F.roll(x, tuple(half(x.shape[a]) for a in axes), axis=axes)


@composite(laws=_shifted, public=False)
def fftshift(F: Any, x: Any, /, *, axes: Any = None) -> Any:
    """The array with the term of frequency zero moved to the middle of each axis."""
    return _moved(F, x, axes, lambda n: n // 2)


@composite(laws=_shifted, public=False)
def ifftshift(F: Any, x: Any, /, *, axes: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _moved(F, x, axes, lambda n: -(n // 2))
