"""Discrete Fourier transforms: `torch.fft`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.fft as _core
from tapegrad.torch._dtypes import DEFAULT, numpy_of
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import adopt, wrap


def _norm(norm: Any) -> str:
    return "backward" if norm is None else norm


def _float(x: Any) -> Any:
    return x if x.array.dtype.kind in "fcV" else S.astype(x, DEFAULT[0].numpy)


def _one(f: Any, x: Any, n: Any, dim: int, norm: Any) -> Any:
    d = dimension(dim, len(x.array.shape))
    points = n
    if n is None:
        points = x.array.shape[d] if f not in (_core.irfft, _core.hfft) else 2 * (x.array.shape[d] - 1)
    if points < 1:
        raise RuntimeError(f"Invalid number of data points ({points}) specified")
    return adopt(f(_float(x), n=n, axis=dim, norm=_norm(norm)))


def _several(f: Any, x: Any, s: Any, dim: Any, norm: Any) -> Any:
    if s is not None and dim is None:
        dim = tuple(range(-len(s), 0))
    if isinstance(dim, int):
        dim = (dim,)
    lengths = None if s is None else tuple(s)
    return adopt(f(_float(x), s=lengths, axes=None if dim is None else tuple(dim), norm=_norm(norm)))


def _hermitian(f: Any, x: Any, s: Any, dim: Any, norm: Any, *, back: bool) -> Any:
    """Transforms of signals that are Hermitian in time (to real spectra), or of real ones to half of such, over several axes."""
    turned = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[_norm(norm)]
    if back:
        return _several(f, x, s, dim, turned).conj()
    return _several(f, x.conj(), s, dim, turned)


def _shift(f: Any, x: Any, dim: Any) -> Any:
    return adopt(f(x, axes=(dim,) if isinstance(dim, int) else dim))


def _frequencies(f: Any, n: int, d: float, dtype: Any, requires_grad: bool) -> Any:
    x = wrap(f(n, d).astype(DEFAULT[0].numpy if dtype is None else numpy_of(dtype)))
    return x.requires_grad_() if requires_grad else x


_NAMES = {
    "core": _core, "np": np, "_one": _one, "_hermitian": _hermitian, "_several": _several, "_shift": _shift, "_frequencies": _frequencies,
}  # fmt: skip
_TABLE = {
    **{
        f"{name}(input, n=None, dim=-1, norm=None)": f"_one(core.{name}, input, n, dim, norm)"
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"{name}(input, s=None, dim=None, norm=None)": f"_several(core.{name}, input, s, dim, norm)"
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    **{
        f"{name}2(input, s=None, dim=(-2, -1), norm=None)": f"_several(core.{name}n, input, s, dim, norm)"
        for name in ("fft", "ifft", "rfft", "irfft")
    },
    "hfftn(input, s=None, dim=None, norm=None)": "_hermitian(core.irfftn, input, s, dim, norm, back=False)",
    "hfft2(input, s=None, dim=(-2, -1), norm=None)": "_hermitian(core.irfftn, input, s, dim, norm, back=False)",
    "ihfftn(input, s=None, dim=None, norm=None)": "_hermitian(core.rfftn, input, s, dim, norm, back=True)",
    "ihfft2(input, s=None, dim=(-2, -1), norm=None)": "_hermitian(core.rfftn, input, s, dim, norm, back=True)",
    "fftshift(input, dim=None)": "_shift(core.fftshift, input, dim)",
    "ifftshift(input, dim=None)": "_shift(core.ifftshift, input, dim)",
    "fftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False)":
        "_frequencies(np.fft.fftfreq, n, d, dtype, requires_grad)",
    "rfftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False)":
        "_frequencies(np.fft.rfftfreq, n, d, dtype, requires_grad)",
}  # fmt: skip
for _signature, _body in _TABLE.items():
    globals()[_signature.partition("(")[0]] = compiled(_signature, _body, _NAMES, where="torch.fft")
__all__ = [name.partition("(")[0] for name in _TABLE]


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.fft", name, globals())
