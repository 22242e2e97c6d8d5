"""Short-time Fourier transforms: spectra of overlapping pieces of a signal, and the signal back from them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tapegrad.torch._functions._build import FUNCTIONS, METHODS, function
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap


def _module(name: str) -> Any:
    """A module that is made of these functions, and so cannot be imported before them."""
    return import_module(f"tapegrad.torch.{name}")


def _window(window: Any, n_fft: int, win_length: int, dtype: Any) -> Any:
    """The window, ones if there is none, in the middle of `n_fft` places."""
    if window is not None and tuple(window.array.shape) != (win_length,):
        raise RuntimeError(
            f"stft: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.array.shape)}"
        )
    w = wrap(np.ones(win_length, dtype)) if window is None else window
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return w
    return S.put(wrap(np.zeros(n_fft, w.array.dtype)), w, slice(left, left + win_length))


@function
def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The spectrum of each windowed piece of a signal, (..., n) -> (..., frequencies, pieces)."""
    fft, nn = _module("fft"), _module("nn.functional")
    is_complex = input.array.dtype.kind == "c"
    if return_complex is None and not is_complex and not (window is not None and window.array.dtype.kind == "c"):
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")  # fmt: skip
    win_length = n_fft if win_length is None else win_length
    hop = n_fft // 4 if hop_length is None else hop_length
    x = input if len(input.array.shape) > 1 else input.unsqueeze(0)
    if center:
        x = nn.pad(x.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    if not 0 < n_fft <= x.array.shape[-1]:
        size = x.array.shape[-1]
        raise RuntimeError(f"stft({list(input.array.shape)}, n_fft={n_fft}): expected 0 < n_fft <= {size}, but got n_fft={n_fft}")
    pieces = S.multiply(x.unfold(-1, n_fft, hop), _window(window, n_fft, win_length, np.dtype(x.array.dtype.char.lower())))
    half = not is_complex if onesided is None else onesided
    y = (fft.rfft if half and pieces.array.dtype.kind != "c" else fft.fft)(pieces, norm="ortho" if normalized else None)
    y = y.transpose(-1, -2)
    y = y if len(input.array.shape) > 1 else y.squeeze(0)
    return y if return_complex or return_complex is None else FUNCTIONS["view_as_real"](y)


@function
def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """The signal whose windowed pieces have these spectra, by overlap and addition over the sum of squared windows."""
    fft = _module("fft")
    if input.array.dtype.kind != "c":
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    win_length = n_fft if win_length is None else win_length
    hop = n_fft // 4 if hop_length is None else hop_length
    spectra = (input if len(input.array.shape) > 2 else input.unsqueeze(0)).transpose(-1, -2)
    half = spectra.array.shape[-1] != n_fft if onesided is None else onesided
    if half and return_complex:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    # of a real signal the first half of the spectrum tells all, whether or not the other half is its mirror image
    pieces = fft.ifft(spectra, norm=norm) if return_complex else fft.irfft(spectra[..., : n_fft // 2 + 1], n=n_fft, norm=norm)
    w = _window(window, n_fft, win_length, pieces.real.array.dtype)
    batch, count = pieces.array.shape[0], pieces.array.shape[1]
    size = n_fft + hop * (count - 1)
    where = (np.arange(count)[:, None] * hop + np.arange(n_fft)).reshape(-1)
    flat = S.reshape(S.multiply(pieces, w), (batch, count * n_fft))
    signal = S.put_add(flat, (slice(None), where), (batch, size))
    squares = S.put_add(S.reshape(S.broadcast_to(S.multiply(w, w), (count, n_fft)), (-1,)), where, (size,))
    start = n_fft // 2 if center else 0
    stop = size - start if length is None else start + length
    stop = min(stop, size)
    total = S.getitem(squares, slice(start, stop))
    if (np.abs(np.asarray(total.array)) < 1e-11).any():
        raise RuntimeError("istft: window overlap add min: 0, which is not allowed: every place needs a window that is not zero there")
    y = S.divide(S.getitem(signal, (slice(None), slice(start, stop))), total)
    if length is not None and length > y.array.shape[-1]:
        y = _module("nn.functional").pad(y, (0, length - y.array.shape[-1]))
    return y if len(input.array.shape) > 2 else y.squeeze(0)


METHODS["stft"], METHODS["istft"] = stft, istft
