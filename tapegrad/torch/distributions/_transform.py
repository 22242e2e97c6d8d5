"""What every map of tensors has, its inverse, and maps one after another or with more axes to an event."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions.utils import sum_rightmost, torch

__all__ = ["ComposeTransform", "IndependentTransform", "Transform"]


class Transform:
    """A map `y = t(x)` with its inverse, `t.inv(y)`, and log |dy/dx|."""

    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        self._remember(cache_size)
        super().__init__()  # a map may be a module too

    def _remember(self, cache_size: int) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many axes belong to one event, before and after alike."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse map."""
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        return 1

    def __call__(self, x: Any) -> Any:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        self._cached_x_y = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        self._cached_x_y = (x, y) if self._cache_size else (None, None)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx| at a pair of values."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of what an input of this shape becomes."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what becomes an output of this shape."""
        return shape

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map, which remembers its last pair of values, or doesn't."""
        if cache_size == self._cache_size:
            return self
        made = copy.copy(self)
        made._remember(cache_size)
        return made

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    """The inverse of a map."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform

    @property
    def inv(self) -> Any:
        return self._inv

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """One map after another."""

    def __init__(self, parts: Sequence[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)

    @property
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        found, events = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            events = max(events + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return constraints.independent(found, events - found.event_dim) if events > found.event_dim else found

    @property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        found, events = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            events = max(events + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return constraints.independent(found, events - found.event_dim) if events > found.event_dim else found

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @property
    def sign(self) -> Any:
        found: Any = 1
        for p in self.parts:
            found = found * p.sign
        return found

    @property
    def inv(self) -> Any:
        return ComposeTransform([p.inv for p in reversed(self.parts)])

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        events = self.domain.event_dim
        terms = []
        for part, a, b in zip(self.parts, values, values[1:], strict=False):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(a, b), events - part.domain.event_dim))
            events += part.codomain.event_dim - part.domain.event_dim
        found = terms[0]
        for term in terms[1:]:
            found = found + term
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


class IndependentTransform(Transform):
    """Another map, with more axes that belong to one event."""

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)
