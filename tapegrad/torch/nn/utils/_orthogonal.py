"""Weights whose rows, or columns, are orthonormal."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.torch as _torch
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.utils import parametrize

__all__ = ["orthogonal"]

torch: Any = _torch
_MAPS = ("matrix_exp", "cayley", "householder")


def _orthonormal(a: Any) -> Any:
    """The nearest in the sense of Gram and Schmidt: Q of a = Q R with a positive diagonal of R."""
    q, r = torch.linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _reflected(a: Any, tau: Any) -> Any:
    """The first columns of the product of I - tau_i v_i v_i^T, of v_i below the diagonal of column i, and 1 on it."""
    n, k = a.shape[-2:]
    v = a.tril(-1) + torch.eye(n, k, dtype=a.dtype, device=a.device)
    q = torch.eye(n, k, dtype=a.dtype, device=a.device)
    for i in reversed(range(k)):
        column = v[..., i : i + 1]
        q = q - tau[..., i, None, None] * (column @ (column.mT @ q))
    return q


class _Orthogonal(Module):
    """A matrix that is orthogonal whatever its parameter is: exp(A), Cayley's map of A, or reflections.

    M. Lezcano-Casado, D. Martínez-Rubio, "Cheap orthogonal constraints in neural networks", 2019; with `use_trivialization`, times
    an orthogonal matrix from which it begins: M. Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        q = self._by_reflections(x) if self.orthogonal_map == "householder" else self._by_skew(x)
        if self.use_trivialization:
            q = self.base @ q
        return q.mT if wide else q

    def _by_skew(self, x: Any) -> Any:
        n, k = x.shape[-2:]
        lower = x.tril()
        if n != k:
            lower = torch.cat([lower, x.new_zeros((*x.shape[:-2], n, n - k))], dim=-1)
        a = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            q = torch.matrix_exp(a)
        else:
            one = torch.eye(n, dtype=a.dtype, device=a.device)
            q = torch.linalg.solve(one - 0.5 * a, one + 0.5 * a)
        return q[..., :k] if n != k else q

    def _by_reflections(self, x: Any) -> Any:
        a = x.tril(-1)
        q = _reflected(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
        return q * x.diagonal(dim1=-2, dim2=-1).detach().sign().unsqueeze(-2)

    def right_inverse(self, Q: Any) -> Any:
        """The parameter that gives an orthogonal matrix."""
        if tuple(Q.shape) != tuple(self.shape):
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {tuple(self.shape)}. Got a tensor of shape {tuple(Q.shape)}."
            )
        n, k = Q.shape[-2:]
        wide = n < k
        q = Q.mT if wide else Q
        n, k = q.shape[-2:]
        if not self.use_trivialization:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            found = _reflections_of(q)
            return found.mT if wide else found
        if n != k:  # any completion to a square matrix will do
            q = torch.cat([q, torch.randn((*q.shape[:-2], n, n - k), dtype=q.dtype, device=q.device)], dim=-1)
        self.base = _orthonormal(q)
        start = torch.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _reflections_of(q: Any) -> Any:
    """The parameter of reflections whose product has these columns, up to their orthonormalisation."""
    packed, tau = np.linalg.qr(np.asarray(q.detach().numpy()), mode="raw")
    a = np.swapaxes(packed, -1, -2).copy()
    diagonal = np.einsum("...ii->...i", a[..., : a.shape[-1], :])
    diagonal[...] = np.sign(diagonal) * np.where(tau == 0, -1, 1)
    return torch.from_numpy(a)


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Let a matrix, or a batch of them, have orthonormal columns, or rows if it is wide."""
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
