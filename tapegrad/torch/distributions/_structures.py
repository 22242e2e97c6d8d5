"""Maps that rearrange events, that differ from slice to slice, and that are a distribution's cdf."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch._size import Size
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._transform import Transform
from tapegrad.torch.distributions.utils import sum_rightmost, torch

__all__ = ["CatTransform", "CumulativeDistributionTransform", "ReshapeTransform", "StackTransform"]


class ReshapeTransform(Transform):
    """The last axes, of shape `in_shape`, as axes of shape `out_shape`."""

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _batch(self, x: Any, shape: Any) -> Any:
        return tuple(x.shape[: x.dim() - len(shape)])

    def _call(self, x: Any) -> Any:
        return x.reshape(self._batch(x, self.in_shape) + tuple(self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._batch(y, self.out_shape) + tuple(self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(self._batch(x, self.in_shape))

    def _exchanged(self, shape: Any, old: Any, new: Any) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {tuple(shape[cut:])} but got {tuple(old)}")
        return shape[:cut] + tuple(new)

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)


class _Several(Transform):
    """Maps of the slices of an axis."""

    transforms: list[Any]
    dim: int

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _parts(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _whole(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _checked(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        return x

    def _call(self, x: Any) -> Any:
        return self._whole([t(part) for t, part in zip(self.transforms, self._parts(self._checked(x)), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._whole([t.inv(part) for t, part in zip(self.transforms, self._parts(self._checked(y)), strict=True)])


class CatTransform(_Several):
    """One map after another along an axis, each of as many entries as `lengths` says."""

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = list(tseq)
        self.dim = dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths has {len(self.lengths)} values, tseq has {len(self.transforms)}")

    @property
    def event_dim(self) -> int:
        """The most axes that an event of one of the maps has."""
        return max(t.codomain.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of the axis."""
        return sum(self.lengths)

    @property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, x: Any) -> list[Any]:
        if x.shape[self.dim] != self.length:
            raise AssertionError(f"expected x.shape[{self.dim}] == {self.length}, got {x.shape[self.dim]}")
        return list(x.split(self.lengths, self.dim))

    def _whole(self, parts: list[Any]) -> Any:
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        found = []
        for t, a, b in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            stretched = t.log_abs_det_jacobian(a, b)
            more = self.event_dim - t.domain.event_dim
            found.append(sum_rightmost(stretched, more) if more > 0 else stretched)
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return torch.cat(found, dim=dim)
        whole = found[0]
        for one in found[1:]:
            whole = whole + one
        return whole


class StackTransform(_Several):
    """A map for each entry of an axis."""

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _parts(self, x: Any) -> list[Any]:
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"expected x.shape[{self.dim}] == {len(self.transforms)}, got {x.shape[self.dim]}")
        return [x.select(self.dim, i) for i in range(x.shape[self.dim])]

    def _whole(self, parts: list[Any]) -> Any:
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        rows = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in rows], dim=self.dim)


class CumulativeDistributionTransform(Transform):
    """The cdf of a distribution, to even numbers."""

    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    @property
    def sign(self) -> Any:
        return 1

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)
