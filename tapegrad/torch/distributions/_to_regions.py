"""Maps from all vectors or matrices to shares, triangles, covariances and correlations."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._transform import Transform
from tapegrad.torch.distributions.utils import softplus, torch, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]


def _padded(x: Any, before: int, after: int) -> Any:
    """A vector with ones before and after it."""
    return torch.nn.functional.pad(x, [before, after], value=1.0)


class SoftmaxTransform(Transform):
    """exp(x) / sum(exp(x)) along the last axis, which has no one inverse."""

    bijective = False
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return torch.softmax(x, dim=-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Shares of a stick, of which a sigmoid of each number breaks off a part, and the last is what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    @staticmethod
    def _offset(x: Any) -> Any:
        """Logarithms of how many pieces follow each, so that zeros give equal shares."""
        return torch.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        limits = torch.finfo(x.dtype)
        z = torch.clamp(torch.sigmoid(x - self._offset(x)), min=limits.tiny, max=1.0 - limits.eps)
        return _padded(z, 0, 1) * _padded((1 - z).cumprod(-1), 1, 0)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        left = torch.clamp(1 - parts.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._offset(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with the exponential of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + torch.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """L L^T of the triangle L that `LowerCholeskyTransform` gives."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """The lower factor of a correlation matrix: tanh of each number is the share that an entry has of what its row has left.

    Stan reference manual, section 10.12: Cholesky factors of correlation matrices.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * _padded(left[..., :-1], 1, 0)

    def _inverse(self, y: Any) -> Any:
        left = _padded((1 - torch.cumsum(y * y, dim=-1))[..., :-1], 1, 0)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = 1 - (y * y).cumsum(dim=-1)
        breaking = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        return breaking - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)
