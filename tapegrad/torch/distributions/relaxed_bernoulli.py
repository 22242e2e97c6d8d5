"""A coin whose samples have derivatives."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.transforms import SigmoidTransform
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
    softplus,
    tensors,
    torch,
)

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Distribution):
    """Logits of a relaxed coin: a logistic number around `logits`, divided by the temperature.

    C. Maddison, A. Mnih, Y. Teh, "The concrete distribution", 2017; E. Jang, S. Gu, B. Poole, "Categorical reparameterization with
    Gumbel-softmax", 2017.
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        (self.temperature,) = tensors(temperature)
        self._by = "probs" if probs is not None else "logits"
        (given,) = broadcast_all(probs if probs is not None else logits)
        setattr(self, self._by, given)
        super().__init__(given.shape, validate_args=validate_args)

    def _given(self) -> list[str]:
        return [self._by]

    @lazy_property
    def logits(self) -> Any:
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The probability of one."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return getattr(self, self._by).shape

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        apart = logits - value * self.temperature
        return self.temperature.log() + apart - 2 * softplus(apart)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that tend to the sides as the temperature falls, and whose samples have derivatives."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far samples are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """log(probs / (1 - probs))."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probability of one."""
        return self.base_dist.probs
