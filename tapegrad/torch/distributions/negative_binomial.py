"""The distribution of the number of successes before so many failures."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByShapedProbability
from tapegrad.torch.distributions.gamma import Gamma
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    one_of,
    softplus,
    torch,
)

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByShapedProbability):
    """How often a try with probability `probs` succeeds before `total_count` tries have failed."""

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        self._by = "probs" if probs is not None else "logits"
        self.total_count, given = broadcast_all(total_count, probs if probs is not None else logits)
        self.total_count = self.total_count.type_as(given)
        setattr(self, self._by, given)
        super().__init__(given.shape, validate_args=validate_args)

    def _given(self) -> list[str]:
        return ["total_count", *super()._given()]

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            rate = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False).sample(sample_shape)
            return torch.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        n = self.total_count
        by_tries = -n * softplus(self.logits) - value * softplus(-self.logits)
        ways = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return by_tries - torch.where(n + value == 0.0, 0.0, ways)
