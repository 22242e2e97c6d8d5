"""The distribution of the absolute value of a Cauchy number."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch.distributions._half import Half
from tapegrad.torch.distributions.cauchy import Cauchy
from tapegrad.torch.distributions.transforms import AbsTransform
from tapegrad.torch.distributions.utils import torch

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| of x of a Cauchy distribution around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance
