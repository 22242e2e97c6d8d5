"""A mixture of distributions of one kind."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import torch

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The distribution of a sample of one of several components, chosen by `mixture_distribution`.

    The last axis of the components' batch is that of the choice.
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch, mine = component_distribution.batch_shape[:-1], mixture_distribution.batch_shape
        for i, j in zip(reversed(mine), reversed(batch), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mine}) is not compatible with "
                    f"`component_distribution.batch_shape` ({component_distribution.batch_shape})"
                )
        count, choices = component_distribution.batch_shape[-1], mixture_distribution.logits.shape[-1]
        if choices != count:
            raise ValueError(
                f"`mixture_distribution component` ({choices}) does not equal `component_distribution.batch_shape[-1]` ({count})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        new._batch_shape = Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(new._batch_shape)
        new._component_distribution = self._component_distribution.expand((*new._batch_shape, self._num_component))
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the choice."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The distributions among which is chosen."""
        return self._component_distribution

    def _mean_over(self, values: Any) -> Any:
        """The mean of what the components have."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))
        return torch.sum(probs * values, dim=-1 - len(self._event_shape))

    @property
    def mean(self) -> Any:
        return self._mean_over(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        apart = self._component_distribution.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._mean_over(self._component_distribution.variance) + self._mean_over(apart.pow(2.0))

    def cdf(self, x: Any) -> Any:
        return torch.sum(self._component_distribution.cdf(self._padded(x)) * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Any:
        self._check(x)
        found = self._component_distribution.log_prob(self._padded(x))
        return torch.logsumexp(found + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def _padded(self, x: Any) -> Any:
        return x.unsqueeze(-1 - len(self._event_shape))

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            axis = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape((*chosen.shape, *(1,) * (len(self._event_shape) + 1)))
            chosen = chosen.expand((*chosen.shape[: axis + 1], *self._event_shape))
            return torch.gather(values, axis, chosen).squeeze(axis)
