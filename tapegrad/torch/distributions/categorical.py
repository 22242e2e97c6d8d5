"""The distribution of one of several alternatives."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import (
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
    torch,
)

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index in proportion to `probs` along the last axis, or to the exponentials of `logits`."""

    has_enumerate_support = True
    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    event_dims: ClassVar = {"probs": 1, "logits": 1}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        self._by = name = "probs" if probs is not None else "logits"
        value = probs if probs is not None else logits
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = value.size()[-1]
        super().__init__(value.size()[:-1], validate_args=validate_args)

    def _given(self) -> list[str]:
        return [self._by]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return getattr(self, self._by).shape

    @property
    def mean(self) -> Any:
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = Size(sample_shape)
        rows = self.probs.detach()
        if rows.dim() > 2:
            rows = rows.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, sample_shape.numel(), True)
        if drawn.dim() == 2 and drawn.shape[1] > 1:
            drawn = drawn.T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        value = value.long().unsqueeze(-1)
        if value.shape[:-1] == self.logits.shape[:-1]:
            return self.logits.gather(-1, value).squeeze(-1)
        shape = torch.broadcast_shapes(tuple(value.shape[:-1]), tuple(self.logits.shape[:-1]))
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self) -> Any:
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        where = getattr(self, self._by).device
        values = torch.arange(self._num_events, dtype=torch.long, device=where).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
