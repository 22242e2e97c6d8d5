"""From all numbers to a region: `biject_to(constraint)` and `transform_to(constraint)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.torch.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Maps onto regions, by the class of the region."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Declare what gives the map onto a region of this class; a decorator if no function is given."""
        if factory is None:
            return lambda found: self.register(constraint, found)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


#: Maps that have an inverse, and maps that need not have one.
biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    def declare(factory: Any) -> Any:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return declare


@_both(constraints.real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


def _independent(registry: ConstraintRegistry) -> Any:
    return lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)


biject_to.register(constraints.independent, _independent(biject_to))
transform_to.register(constraints.independent, _independent(transform_to))


@_both(constraints.positive, constraints.nonnegative)
def _above(constraint: Any) -> Any:
    bound = constraint.lower_bound
    if isinstance(bound, int | float) and bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, 1)])


@_both(constraints.less_than)
def _below(constraint: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())


transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())


def _positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


for _region in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_region, _positive_definite)


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


def _several(registry: ConstraintRegistry) -> None:
    registry.register(
        constraints.cat, lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)
    )
    registry.register(constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim))


_several(biject_to)
_several(transform_to)
