"""The distribution of the number of successes."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByShapedProbability
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    one_of,
    softplus,
    torch,
)

__all__ = ["Binomial"]


class Binomial(ByShapedProbability):
    """How many of `total_count` tries succeed, each with probability `probs`."""

    has_enumerate_support = True
    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        self._by = "probs" if probs is not None else "logits"
        parameter = probs if probs is not None else logits
        parameter, count = broadcast_all(parameter, total_count)
        setattr(self, self._by, parameter)
        self.total_count = count.type_as(parameter)
        super().__init__(parameter.shape, validate_args=validate_args)

    def _given(self) -> list[str]:
        return ["total_count", *super()._given()]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        n, x = self.total_count, self.logits
        ways = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        return value * x - n * softplus(x) + ways

    def entropy(self) -> Any:
        most = int(self.total_count.max())
        if not bool(self.total_count.min() == most):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        found = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(found) * found).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        most = int(self.total_count.max())
        if not bool(self.total_count.min() == most):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        given = getattr(self, self._by)
        values = torch.arange(1 + most, dtype=given.dtype, device=given.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
