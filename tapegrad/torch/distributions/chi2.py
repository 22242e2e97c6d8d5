"""The distribution of a sum of squares of normal numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of the squares of `df` standard normal numbers."""

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        Chi2.__init__(new, self.df.expand(Size(batch_shape)), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def df(self) -> Any:
        """The number of squares."""
        return self.concentration * 2
