"""The distribution of the absolute value of a normal number."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch.distributions._half import Half
from tapegrad.torch.distributions.normal import Normal
from tapegrad.torch.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """|x| of normal x of mean 0 and standard deviation `scale`."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)
