"""A choice among several whose samples have derivatives."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._relaxed import Relaxed
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.transforms import ExpTransform
from tapegrad.torch.distributions.utils import broadcast_all, clamp_probs, tensors, torch

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """Logarithms of relaxed choices: the log-softmax of logits and Gumbel numbers, divided by the temperature.

    C. Maddison, A. Mnih, Y. Teh, "The concrete distribution", 2017, equation 10.
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        (self.temperature,) = tensors(temperature)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        new._batch_shape = Size(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Any:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        return torch.log_softmax((self.logits - (-u.log()).log()) / self.temperature, dim=-1)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        n = self.event_shape[-1]
        scale = torch.full_like(self.temperature, float(n)).lgamma() + (n - 1) * self.temperature.log()
        return torch.log_softmax(logits - value * self.temperature, dim=-1).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed):
    """Shares that tend to a single one as the temperature falls, and whose samples have derivatives."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
