"""A distribution of correlations."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.beta import Beta
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.utils import broadcast_all, torch

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower factors L of correlation matrices, with a density of L L^T proportional to det(L L^T)**(concentration - 1).

    D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and extended onion method", 2009.
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        self._beta = self._rows()
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _rows(self) -> Beta:
        """The squares of how far each row is from the diagonal."""
        c = self.concentration
        before = torch.arange(self.dim - 1, dtype=c.dtype, device=c.device)
        before = torch.cat([before.new_zeros((1,)), before])
        marginal = c + 0.5 * (self.dim - 2)
        return Beta(before + 0.5, marginal.unsqueeze(-1) - 0.5 * before)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begun(_instance)
        new._batch_shape = Size(batch_shape)
        new.concentration = self.concentration.expand(new._batch_shape)
        new._beta = self._beta.expand((*new._batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
            length = u.norm(dim=-1, keepdim=True)
            w = torch.sqrt(y) * (u / torch.where(length > 0, length, 1.0))
            rest = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
            return w + torch.diag_embed(rest)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        c, less = self.concentration, self.dim - 1
        order = torch.arange(2, self.dim + 1, dtype=c.dtype, device=c.device)
        order = 2 * (c - 1).unsqueeze(-1) + self.dim - order
        found = torch.sum(order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log(), dim=-1)
        alpha = c + 0.5 * less
        norm = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less) - torch.lgamma(alpha) * less
        return found - norm
