"""A distribution of covariances."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.chi2 import Chi2
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import lazy_property, torch

__all__ = ["Wishart"]


class Wishart(Distribution):
    """The distribution of sums of `df` squares x x^T of normal vectors x of a covariance; `df` need not be whole.

    Sampled by M. Bartlett, "On the theory of statistical regression", 1933.  PyTorch 2.13 takes samples that are fine for singular
    ones and draws them again, so that the numbers of one seed are others there.
    """

    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = [(name, m) for name, m in given.items() if m is not None]
        if len(named) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        n = matrix.shape[-1]
        df = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = Size(torch.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape)))
        self.df = df.expand(batch)
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if bool((self.df < n).any()):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2
            )
        self._by = name
        setattr(self, name, matrix.expand((*batch, n, n)))
        self.arg_constraints = {  # type: ignore[misc]  # how many degrees of freedom are enough depends on the size
            "df": constraints.greater_than(n - 1),
            name: constraints.lower_cholesky if name == "scale_tril" else constraints.positive_definite,
        }
        super().__init__(batch, (n, n), validate_args=validate_args)
        if name == "scale_tril":
            self._factor = matrix
        else:
            self._factor = torch.linalg.cholesky(matrix if name == "covariance_matrix" else torch.linalg.inv(matrix))

    def _given(self) -> list[str]:
        return [self._by, "df"]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        new._batch_shape = batch = Size(batch_shape)
        new.df = self.df.expand(batch)
        for name in (self._by, "_factor"):
            setattr(new, name, getattr(self, name).expand((*batch, *self._event_shape)))
        return new

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangle L with the covariance L L^T."""
        return self._whole(self._factor)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self._whole(self._factor @ self._factor.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._whole(torch.linalg.inv(self._factor @ self._factor.mT))

    def _times(self, number: Any, matrix: Any) -> Any:
        return number.reshape((*self._batch_shape, 1, 1)) * matrix

    @property
    def mean(self) -> Any:
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        return self._times(torch.where(factor <= 0, math.nan, factor), self.covariance_matrix)

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df, v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _drawn(self, sample_shape: Any) -> Any:
        n, dtype = self._event_shape[-1], self._factor.dtype
        df = self.df.unsqueeze(-1) - torch.arange(n, dtype=dtype, device=self._factor.device)
        lengths = Chi2(df).rsample(sample_shape).sqrt().clamp(min=torch.finfo(dtype).eps)
        shape = (*sample_shape, *self._batch_shape)
        below = torch.randn((*shape, n * (n - 1) // 2), dtype=dtype, device=self._factor.device)
        rows, columns = torch.tril_indices(n, n, offset=-1)
        triangle = torch.zeros((*shape, n, n), dtype=dtype, device=self._factor.device)
        triangle[..., rows, columns] = below
        chol = self._factor @ (triangle + torch.diag_embed(lengths))
        return chol @ chol.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        found = self._drawn(Size(sample_shape))
        tries = 10 if max_try_correction is None else max_try_correction
        if not bool(self.support.check(found).all()):
            warnings.warn("Singular sample detected.", stacklevel=2)
            while tries and not bool(self.support.check(found).all()):
                tries -= 1
                fine = self.support.check(found).reshape((*found.shape[:-2], 1, 1))
                found = torch.where(fine, found, self._drawn(Size(sample_shape)))
        return found

    def _log_scale(self) -> Any:
        """Half the logarithm of the determinant of twice the covariance."""
        return self._event_shape[-1] * math.log(2) / 2 + self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        df, n = self.df, self._event_shape[-1]
        half = torch.linalg.solve_triangular(self._factor, torch.linalg.cholesky(value), upper=False)
        trace = half.pow(2).sum(-1).sum(-1)
        log_det = torch.linalg.slogdet(value).logabsdet
        return -df * self._log_scale() - torch.mvlgamma(df / 2, n) + (df - n - 1) / 2 * log_det - trace / 2

    def entropy(self) -> Any:
        df, n = self.df, self._event_shape[-1]
        halves = torch.arange(n, dtype=df.dtype, device=df.device) / 2
        digammas = torch.digamma((df / 2).unsqueeze(-1) - halves).sum(-1)
        return (n + 1) * self._log_scale() + torch.mvlgamma(df / 2, n) - (df - n - 1) / 2 * digammas + df * n / 2
