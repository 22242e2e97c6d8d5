"""What relaxed distributions share: the parameters of the one that they transform."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution

__all__ = ["Relaxed"]


class Relaxed(TransformedDistribution):
    """A choice whose samples have derivatives."""

    has_rsample = True

    @property
    def temperature(self) -> Any:
        """How far samples are from a single choice."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Logarithms of the probabilities, or of their odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs
