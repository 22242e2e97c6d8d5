"""Kumaraswamy's distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.transforms import AffineTransform, PowerTransform
from tapegrad.torch.distributions.uniform import Uniform
from tapegrad.torch.distributions.utils import broadcast_all, euler_constant, torch

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """(1 - (1 - u)**(1 / concentration0))**(1 / concentration1) of even numbers u."""

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.full_like(b, 0), torch.full_like(b, 1), validate_args=validate_args)
        transforms = [PowerTransform(b.reciprocal()), AffineTransform(loc=1.0, scale=-1.0), PowerTransform(a.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch = Size(batch_shape)
        new = self._begun(_instance)
        Kumaraswamy.__init__(new, self.concentration1.expand(batch), self.concentration0.expand(batch), validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _moment(self, n: int) -> Any:
        arg = 1 + n / self.concentration1
        log = torch.lgamma(arg) + torch.lgamma(self.concentration0) - torch.lgamma(arg + self.concentration0)
        return self.concentration0 * torch.exp(log)

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        # Evaluated in PyTorch's form, which is the formula's only where a concentration is below 1: elsewhere NaN there and here.
        a, b = self.concentration1, self.concentration0
        log = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return torch.where((b < 1) | (a < 1), math.nan, log).exp()

    @property
    def variance(self) -> Any:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)
