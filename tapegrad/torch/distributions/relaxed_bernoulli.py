"""A coin whose samples have derivatives."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByShapedProbability
from tapegrad.torch.distributions._relaxed import Relaxed
from tapegrad.torch.distributions.transforms import SigmoidTransform
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    clamp_probs,
    one_of,
    softplus,
    tensors,
    torch,
)

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByShapedProbability):
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


class RelaxedBernoulli(Relaxed):
    """Numbers in (0, 1) that tend to the sides as the temperature falls, and whose samples have derivatives."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)
