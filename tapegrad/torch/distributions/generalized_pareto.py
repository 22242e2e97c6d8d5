"""What exceeds a high threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import broadcast_all, torch

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution with survival (1 + c z)**(-1 / c), z = (x - loc) / scale, or exp(-z) at concentration c = 0."""

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _apart(self) -> tuple[Any, Any]:
        """Where the concentration counts as 0, and the concentration elsewhere."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, c = self._apart()
        y = 1 / c + torch.ones_like(z)
        return -self.scale.log() - torch.where(zero, z, torch.where(y == 0, y, y * torch.log1p(c * z)))

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of what is above a value."""
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, c = self._apart()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of what is not above a value."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        zero, c = self._apart()
        log = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log, self.loc + self.scale / c * torch.expm1(-c * log))

    @property
    def mean(self) -> Any:
        c = torch.where(self.concentration < 1, self.concentration, 0.5)
        return torch.where(self.concentration < 1, self.loc + self.scale / (1 - c), math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        c = torch.where(self.concentration < 0.5, self.concentration, 0.25)
        return torch.where(self.concentration < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self) -> Any:
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)
