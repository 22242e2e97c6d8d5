"""Student's distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.chi2 import Chi2
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    standard_normal,
    torch,
)

__all__ = ["StudentT"]


class StudentT(Distribution):
    """The distribution of a normal number by the root of a mean of `df` squares of such numbers, shifted and scaled."""

    has_rsample = True
    arg_constraints: ClassVar = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Any:
        return torch.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        ordinary = self.scale.pow(2) * self.df / (self.df - 2)
        return torch.where(self.df > 2, ordinary, torch.where(self.df > 1, math.inf, math.nan).to(ordinary.dtype))

    def rsample(self, sample_shape: Any = ()) -> Any:
        x = standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * torch.rsqrt(z / self.df))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        y = (value - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Any:
        half = 0.5 * self.df
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(half + 0.5)
        return (
            self.scale.log()
            + 0.5 * (self.df + 1) * (torch.digamma(half + 0.5) - torch.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
