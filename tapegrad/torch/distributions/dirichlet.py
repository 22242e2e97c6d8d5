"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import (
    torch,
)

__all__ = ["Dirichlet"]


class Dirichlet(Distribution):
    """The distribution of shares with density proportional to the product of x**(concentration - 1)."""

    has_rsample = True
    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    event_dims: ClassVar = {"concentration": 1}

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        less = (self.concentration - 1).clamp(min=0.0)
        total = less.sum(-1, True)
        mode = less / torch.where(total == 0, 1.0, total)
        edge = (self.concentration < 1).all(dim=-1)
        largest = (mode.argmax(dim=-1).unsqueeze(-1) == torch.arange(less.shape[-1], device=mode.device)).to(mode.dtype)
        return torch.where(edge.unsqueeze(-1), largest, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        c = self.concentration
        return torch.xlogy(c - 1.0, value).sum(-1) + torch.lgamma(c.sum(-1)) - torch.lgamma(c).sum(-1)

    def entropy(self) -> Any:
        k, c = self.concentration.size(-1), self.concentration
        total = c.sum(-1)
        return (
            torch.lgamma(c).sum(-1)
            - torch.lgamma(total)
            - (k - total) * torch.digamma(total)
            - ((c - 1.0) * torch.digamma(c)).sum(-1)
        )
