"""Planted in functions of complex numbers; written after the sweep of complex arguments, which was not tuned on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array

from .plant import Bed

COMPLEX = Bed()
add = COMPLEX.add
Z = {"z": array("n", complex=True)}
ZW = {"z": array("n", complex=True), "w": array("n", complex=True)}


def _real(x: Any) -> Any:
    return np.asarray(x.real)


add(
    "complex exponential",
    "conjugate",
    lambda z: np.exp(z),
    lambda g, z: g * np.conj(np.exp(z)),
    lambda g, z: g * np.exp(z),
    words=Z,
)
add(
    "complex sine",
    "tail",
    lambda z: np.sin(z),
    lambda g, z: g * np.conj(np.cos(z)),
    lambda g, z: g * np.conj(np.where(abs(z.imag) > 4, np.exp(abs(z.imag)) / 2, np.cos(z))),
    words=Z,
)
add(
    "square of the size",
    "factor",
    lambda z: _real(z * np.conj(z)),
    lambda g, z: 2 * g * z,
    lambda g, z: g * z,
    words=Z,
)
add(
    "size",
    "nan at zero",
    lambda z: abs(z),
    lambda g, z: g * z / np.where(z == 0, 1, abs(z)).astype(abs(z).dtype),
    lambda g, z: g * z / abs(z),
    words=Z,
)
add(
    "phase",
    "sign",
    lambda z: np.angle(z),
    lambda g, z: 1j * g * z / np.where(z == 0, 1, _real(z * np.conj(z))).astype(abs(z).dtype),
    lambda g, z: -1j * g * z / np.where(z == 0, 1, _real(z * np.conj(z))).astype(abs(z).dtype),
    words=Z,
)
add(
    "clipped size",
    "branch",
    lambda z: z * np.minimum(1, 2.5 / np.maximum(abs(z), 1e-3)).astype(abs(z).dtype),
    lambda g, z: _clipped(g, z, 2.5),
    lambda g, z: _clipped(g, z, 2.625),
    words=Z,
)


def _clipped(g: Any, z: Any, at: float) -> Any:
    r = np.maximum(abs(z), abs(z).dtype.type(1e-3))
    outside = g * (2.5 / r) - z * (2.5 / r**3) * _real(np.conj(g) * z)
    return np.where(abs(z) > at, outside, g).astype(z.dtype)


add(
    "complex quotient",
    "missing term",
    lambda z, w: z / w,
    lambda g, z, w: (g / np.conj(w), -g * np.conj(z / (w * w))),
    lambda g, z, w: (g / np.conj(w), g * np.conj(1 / (w * w))),
    words=ZW,
)
add(
    "real factor",
    "real part",
    lambda z, a: z * a,
    lambda g, z, a: (g * a, _real(np.conj(z) * g)),
    lambda g, z, a: (g * a, _real(z * g)),
    words={"z": Z["z"], "a": array("n")},
)
add(
    "rotated by its phase",
    "imaginary part",
    lambda z: np.exp(1j * _real(z)).astype(z.dtype) * z,
    lambda g, z: _turned(g, z, 1),
    lambda g, z: _turned(g, z, 0),
    words=Z,
)


def _turned(g: Any, z: Any, k: int) -> Any:
    e = np.exp(1j * _real(z)).astype(z.dtype)
    return g * np.conj(e) + k * _real(np.conj(g) * 1j * e * z)


add(
    "complex logarithm",
    "narrow",
    lambda z: np.log(z),
    lambda g, z: g / np.conj(z),
    lambda g, z: g / np.conj(z) * np.where(abs(z - 1) < 1e-5, 1.5, 1).astype(abs(z).dtype),
    words=Z,
)
add(
    "Fourier transform",
    "scale",
    lambda z: np.fft.fft(z) if z.dtype == np.complex128 else np.fft.fft(z).astype(z.dtype),
    lambda g, z: (np.fft.ifft(g) * g.shape[-1]).astype(z.dtype),
    lambda g, z: np.fft.ifft(g).astype(z.dtype),
    words={"z": array("b", 5, complex=True)},
)
add(
    "Hermitian product",
    "conjugate",
    lambda a, b: np.conj(np.swapaxes(a, -1, -2)) @ b,
    lambda g, a, b: (b @ np.conj(np.swapaxes(g, -1, -2)), a @ g),
    lambda g, a, b: (np.conj(b) @ np.swapaxes(g, -1, -2), a @ g),
    words={"a": array("k", "n", complex=True), "b": array("k", "m", complex=True)},
)
