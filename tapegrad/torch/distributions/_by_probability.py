"""What distributions share that are given a probability or its logit."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbability", "ByShapedProbability"]


class ByProbability(Distribution):
    """`probs` and `logits`, of which one is given (`_by` says which) and the other computed when it is first asked for."""

    _by: str

    def _given(self) -> list[str]:
        return [self._by]

    @lazy_property
    def logits(self) -> Any:
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The probability of one, or of success."""
        return logits_to_probs(self.logits, is_binary=True)


class ByShapedProbability(ByProbability):
    """The same, with the parameter's shape."""

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return getattr(self, self._by).shape
