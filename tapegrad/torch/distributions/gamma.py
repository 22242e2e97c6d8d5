"""The gamma distribution, and that of chi squared."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    torch,
)

__all__ = ["Gamma"]


class Gamma(Distribution):
    """The distribution with density proportional to x**(concentration - 1) * exp(-rate * x)."""

    has_rsample = True
    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return drawn.clamp(min=torch.finfo(drawn.dtype).tiny)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value: Any) -> Any:
        self._check(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        c = self.concentration
        return c - torch.log(self.rate) + torch.lgamma(c) + (1.0 - c) * torch.digamma(c)
