"""The distribution of the number of failures before the first success."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._by_probability import ByProbability
from tapegrad.torch.distributions.utils import (
    broadcast_all,
    one_of,
    softplus,
    torch,
)

__all__ = ["Geometric"]


class Geometric(ByProbability):
    """How many tries fail before the first succeeds, each with probability `probs`."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        self._by = "probs" if probs is not None else "logits"
        (parameter,) = broadcast_all(probs if probs is not None else logits)
        setattr(self, self._by, parameter)
        super().__init__(parameter.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((parameter > 0).all()):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(parameter.shape)}) of distribution {self!r} to be positive "
                f"but found invalid values:\n{parameter[parameter <= 0]}"
            )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        tiny = torch.finfo(self.probs.dtype).tiny
        with torch.no_grad():
            u = torch.empty(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = torch.where((probs == 1) & (value == 0), torch.zeros_like(probs), probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return (softplus(self.logits) - self.logits * self.probs) / self.probs
