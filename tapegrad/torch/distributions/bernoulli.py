"""The distribution of a coin."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByShapedProbability
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    one_of,
    softplus,
    torch,
)

__all__ = ["Bernoulli"]


class Bernoulli(ByShapedProbability):
    """One with probability `probs`, else zero; `logits` are log(probs / (1 - probs))."""

    has_enumerate_support = True
    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = given = broadcast_all(probs)
        else:
            (self.logits,) = given = broadcast_all(logits)
        self._by = "probs" if probs is not None else "logits"
        super().__init__(given[0].shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return torch.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - softplus(logits)

    def entropy(self) -> Any:
        return softplus(self.logits) - self.logits * self.probs

    def enumerate_support(self, expand: bool = True) -> Any:
        given = getattr(self, self._by)
        values = torch.arange(2, dtype=given.dtype, device=given.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
