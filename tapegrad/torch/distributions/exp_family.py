"""Distributions of the exponential family."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import sum_rightmost, torch

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density exp(t(x) . theta - F(theta) + k(x)): a subclass gives theta and F, and has its entropy from them.

    F. Nielsen, R. Nock, "Entropies and cross-entropies of exponential families", 2010.
    """

    #: The mean of k(x).
    _mean_carrier_measure: ClassVar[Any] = 0

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not give its _natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not give its _log_normalizer")

    def entropy(self) -> Any:
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            log_norm = self._log_normalizer(*params)
            means = torch.autograd.grad(log_norm.sum(), params, create_graph=True)
        found = log_norm - self._mean_carrier_measure
        events = len(self._event_shape)
        for p, mean in zip(params, means, strict=True):
            found = found - sum_rightmost(p * mean, max(events, p.dim() - len(self._batch_shape)))
        return found
