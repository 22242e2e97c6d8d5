"""The normal distribution of vectors whose covariance is of low rank, and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import lazy_property, standard_normal, torch

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariance W W^T + diag(d), of W `cov_factor` and d `cov_diag`.

    Its inverse and its determinant are found by those of a matrix of W's number of columns: Woodbury's identity.
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    event_dims: ClassVar = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1] != n:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {(n,)}")
        try:
            batch = torch.broadcast_shapes(tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1]))
        except RuntimeError:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from None
        self.loc = loc.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, n))
        self._factor, self._diagonal = cov_factor, cov_diag
        below = cov_factor.mT / cov_diag.unsqueeze(-2)
        self._inner = torch.linalg.cholesky(below @ cov_factor + torch.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device))
        super().__init__(Size(batch), (n,), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        found = self._factor.pow(2).sum(-1) + self._diagonal
        return found.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangle L with the covariance L L^T."""
        return torch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        found = self._factor @ self._factor.mT + torch.diag_embed(self._diagonal)
        return found.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        below = self._factor.mT / self._diagonal.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._inner, below, upper=False)
        found = torch.diag_embed(self._diagonal.reciprocal()) - solved.mT @ solved
        return found.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        inner = standard_normal((*shape[:-1], self._factor.shape[-1]), self.loc.dtype, self.loc.device)
        outer = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + torch.matmul(self._factor, inner.unsqueeze(-1)).squeeze(-1) + self._diagonal.sqrt() * outer

    def _log_det(self) -> Any:
        return 2 * self._inner.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self._diagonal.log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        rest = value - self.loc
        below = self._factor.mT / self._diagonal.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._inner, torch.matmul(below, rest.unsqueeze(-1)), upper=False)
        distance = (rest.pow(2) / self._diagonal).sum(-1) - solved.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Any:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found if not self._batch_shape else found.expand(self._batch_shape)
