"""Divisors and multiples, numbers in two parts, and decompositions of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._functions._build import FUNCTIONS, METHODS, define
from tapegrad.torch._named import KINDS
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


def _integers(name: str, f: Any, x: Any, other: Any) -> Any:
    """A function of two integers, which has no derivative."""
    raw = [np.asarray(t.read()[0]) if isinstance(t, Tensor) else t for t in (x, other)]
    for t in (x, other):
        if isinstance(t, Tensor) and t.array.dtype.kind not in "iu":
            raise RuntimeError(f'"{name}_cpu" not implemented for \'{t.dtype}\': integers have divisors and multiples')
    return wrap(np.asarray(f(*raw)))


def _gcd(x: Any, other: Any) -> Any:
    return _integers("gcd", np.gcd, x, other)


def _lcm(x: Any, other: Any) -> Any:
    return _integers("lcm", np.lcm, x, other)


_NAMES = {"_gcd": _gcd, "_lcm": _lcm}
define({"gcd(input, other)": "_gcd(input, other)", "lcm(input, other)": "_lcm(input, other)"}, _NAMES, inplace=True)

_Parts = KINDS["frexp"]


def frexp(input: Any, *, out: Any = None) -> Any:
    """Mantissas from 0.5 to 1 and exponents of 2, as whose product the numbers are."""
    if input.array.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    _, exponent = np.frexp(np.asarray(input.read()[0], np.float64))
    exponent = np.asarray(exponent, np.int32)
    mantissa = S.divide(input, wrap(np.ldexp(1.0, exponent).astype(input.array.dtype)))
    if out is not None:
        out[0].copy_(mantissa), out[1].copy_(wrap(exponent))
        return _Parts((out[0], out[1]))
    return _Parts((mantissa, wrap(exponent)))


FUNCTIONS["frexp"] = METHODS["frexp"] = frexp


# -- of low rank -------------------------------------------------------------------------------------------------
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """About the `q` largest singular values and their vectors, from a random start.

    N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness", 2009, algorithms 4.4 and 5.1.
    """
    from tapegrad.torch import _arrays

    torch: Any = _arrays.facade()
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    a: Any = A if M is None else A - M
    m, n = a.shape[-2:]
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    linalg = torch.linalg
    wide = m < n
    b = a.mH if wide else a
    start = torch.randn(b.shape[-1], q, dtype=a.dtype, device=a.device)
    basis = linalg.qr(b @ start).Q
    for _ in range(niter):
        basis = linalg.qr(b.mH @ basis).Q
        basis = linalg.qr(b @ basis).Q
    u, s, vh = linalg.svd(basis.mH @ b, full_matrices=False)
    left, right = basis @ u, vh.mH
    return (right, s, left) if wide else (left, s, right)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """About the `q` principal components of rows, as `svd_lowrank` gives them of what is left without the mean."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter=niter)


FUNCTIONS["svd_lowrank"], FUNCTIONS["pca_lowrank"] = svd_lowrank, pca_lowrank
