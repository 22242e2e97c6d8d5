"""A distribution of angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import broadcast_all, lazy_property, torch

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The distribution of angles with density proportional to exp(concentration * cos(x - loc)).

    Sampled by D. Best, N. Fisher, "Efficient simulation of the von Mises distribution", 1979.
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        k = self.concentration
        return k * (torch.cos(value - self.loc) - 1) - math.log(2 * math.pi) - torch.log(torch.special.i0e(k))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """One minus the length of the mean of the directions."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._drawn(self._extended_shape(sample_shape)).to(self.loc.dtype)

    def _drawn(self, shape: Any) -> Any:
        loc, k = self.loc.double(), self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        r = torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
        x = torch.zeros(shape, dtype=torch.float64)
        done = torch.zeros(shape, dtype=torch.bool)
        while not bool(done.all()):
            first, second, third = torch.rand((3, *shape), dtype=torch.float64).unbind()
            z = torch.cos(math.pi * first)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = ((c * (2 - c) - second) > 0) | ((c / second).log() + 1 - c >= 0)
            x = torch.where(accepted, (third - 0.5).sign() * f.acos(), x)
            done = done | accepted
        return (x + math.pi + loc) % (2 * math.pi) - math.pi
