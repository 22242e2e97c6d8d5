"""Factors of symmetric and Hermitian matrices that need not be positive: A = L D L^H, as LAPACK lays them out.

PyTorch has no derivatives of these; nor has this: `solve` has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch import _named as named
from tapegrad.torch._linalg_errors import _square
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._tensor import wrap


def _lapack(name: str, raw: Any, hermitian: bool) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(("he" if hermitian and raw.dtype.kind == "c" else "sy") + name, dtype=raw.dtype)


def _value(name: str, x: Any) -> Any:
    if is_enabled() and x.requires_grad:
        raise NotImplementedError(
            f"derivative for aten::linalg_{name} is not implemented; torch.linalg.solve has one, or detach() its input"
        )
    return np.asarray(x.read()[0])


def _ldl_factor_ex(a: Any, hermitian: bool, check_errors: bool) -> Any:
    """L below the diagonal of D, the exchanges, and for each matrix the place of a zero in D, counted from 1, or 0."""
    _square("ldl_factor_ex", a)
    raw = _value("ldl_factor_ex", a)
    data, pivots = np.empty_like(raw), np.empty(raw.shape[:-1], np.int32)
    info = np.empty(raw.shape[:-2], np.int32)
    factor = _lapack("trf", raw, hermitian)
    for i in np.ndindex(*raw.shape[:-2]):
        whole, pivots[i], info[i] = factor(raw[i], lower=1)
        data[i] = np.tril(whole)
    if check_errors and info.any():
        raise RuntimeError(f"torch.linalg.ldl_factor_ex: the element {info.max()} of the diagonal of D is zero")
    return named.linalg_ldl_factor_ex(wrap(data), wrap(pivots), wrap(info))


def _ldl_solve(data: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """What solves A @ X = B, from the factors of A."""
    _square("ldl_solve", data)
    factors, right, places = _value("ldl_solve", data), _value("ldl_solve", b), np.asarray(pivots.read()[0])
    if right.ndim < 2 or right.shape[-2] != factors.shape[-1]:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: expected B of shape (..., {factors.shape[-1]}, k), got {list(right.shape)} for LD of shape "
            f"{list(factors.shape)}"
        )
    stacks = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    factors, right = (np.broadcast_to(v, (*stacks, *v.shape[-2:])) for v in (factors, right))
    places = np.broadcast_to(places, (*stacks, places.shape[-1]))
    solve = _lapack("trs", factors, hermitian)
    y = np.empty(right.shape, right.dtype)
    for i in np.ndindex(*stacks):
        y[i], _ = solve(factors[i], places[i], right[i], lower=1)
    return wrap(y)
