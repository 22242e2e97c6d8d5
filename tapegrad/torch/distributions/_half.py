"""What the distributions of the absolute value of a number share, whose own distribution is even around 0."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.utils import torch

__all__ = ["Half"]


class Half(TransformedDistribution):
    """|x| of x of `base_dist`."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Any:
        """The scale of the number before its sign is dropped."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
