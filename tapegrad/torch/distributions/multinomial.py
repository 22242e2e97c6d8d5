"""The distribution of how often each of several alternatives comes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.binomial import Binomial
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    torch,
)

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each alternative comes in `total_count` draws in proportion to `probs`."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        new._categorical = self._categorical.expand(batch_shape)
        new._batch_shape = Size(batch_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape))
        places = torch.arange(self._event_shape[0], device=drawn.device)
        return (drawn.unsqueeze(-1) == places).sum(0).type_as(self.probs)

    def entropy(self) -> Any:
        n = torch.tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        counts = Binomial(self.total_count, self.probs)  # of each alternative by itself
        possible = counts.enumerate_support(expand=False)
        log_factorials = (torch.exp(counts.log_prob(possible)) * torch.lgamma(possible + 1)).sum(0).sum(-1)
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + log_factorials

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = torch.where((value == 0) & (logits == -math.inf), torch.zeros_like(logits), logits)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
