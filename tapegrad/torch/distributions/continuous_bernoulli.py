"""A continuous relative of the distribution of a coin."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByShapedProbability
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    one_of,
    softplus,
    torch,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByShapedProbability):
    """The distribution on [0, 1] with density proportional to probs**x * (1 - probs)**(1 - x).

    Between `lims`, where the norm is 0 / 0, a series stands for it.
    G. Loaiza-Ganem, J. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.
    """

    has_rsample = True
    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        one_of(probs, logits)
        self._by = "probs" if probs is not None else "logits"
        (given,) = broadcast_all(probs if probs is not None else logits)
        if probs is not None and validate_args and not bool(constraints.unit_interval.check(given).all()):
            raise ValueError("The parameter probs has invalid values")
        setattr(self, self._by, clamp_probs(given) if probs is not None else given)
        self._lims = lims
        super().__init__(given.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter in (0, 1)."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _apart(self) -> tuple[Any, Any]:
        """Where the formulas hold, and the parameter there; elsewhere one that does no harm."""
        low, high = self._lims
        usual = (self.probs <= low) | (self.probs > high)
        return usual, torch.where(usual, self.probs, low * torch.ones_like(self.probs))

    def _log_norm(self) -> Any:
        usual, p = self._apart()
        found = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - torch.log(torch.abs(1 - 2 * p))
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(usual, found, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        usual, p = self._apart()
        found = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return torch.where(usual, found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    @property
    def variance(self) -> Any:
        usual, p = self._apart()
        found = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(torch.log1p(-p) - torch.log(p), 2)
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(usual, found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - softplus(logits) + self._log_norm()

    def cdf(self, value: Any) -> Any:
        self._check(value)
        usual, p = self._apart()
        found = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        found = torch.where(usual, found, value)
        return torch.where(value <= 0.0, 0.0, torch.where(value >= 1.0, 1.0, found))

    def icdf(self, value: Any) -> Any:
        usual, p = self._apart()
        below = torch.log1p(-p)
        return torch.where(usual, (torch.log1p(-p + value * (2.0 * p - 1.0)) - below) / (torch.log(p) - below), value)

    def entropy(self) -> Any:
        zero, one = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (zero - one) - self._log_norm() - zero
