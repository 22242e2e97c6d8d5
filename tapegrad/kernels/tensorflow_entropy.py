"""TensorFlow kernels of entropies, and of products with logarithms, in which 0 times infinity is 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels.tensorflow_arithmetic import negative
from tapegrad.kernels.tensorflow_basics import (
    equal,
    greater,
    greater_equal,
    isnan,
    less,
    logical_and,
    logical_or,
    where,
)
from tapegrad.kernels.tensorflow_functions import log, log1p
from tapegrad.kernels.tensorflow_special import in_double, native

if TYPE_CHECKING:
    from collections.abc import Callable

_xlogy, _xlog1py = native("Xlogy"), native("Xlog1py")


def _nan_stays(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """0 times the logarithm of NaN is NaN, of all else 0, whatever sign the zero has."""

    def computed(x: Any, y: Any) -> Any:
        found = kernel(x, y)
        return where(isnan(y), math.nan, where(equal(x, 0), 0, found))

    return computed


xlogy, xlog1py = _nan_stays(_xlogy), _nan_stays(_xlog1py)


@in_double
def entr(x: Any) -> Any:
    return where(less(x, 0), -math.inf, where(equal(x, 0), 0.0, negative(x * log(x))))


def _relative(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """x log(x / y) where both are positive, and where that is, and where x is 0 and y not negative."""
    both = logical_and(greater(x, 0), greater(y, 0))
    a, b = where(both, x, 1.0), where(both, y, 1.0)
    ratio = a / b
    near = logical_and(greater(ratio, 0.5), less(ratio, 2.0))
    plain = logical_and(greater(ratio, 1e-300), less(ratio, 1e300))
    change = where(near, log1p((a - b) / b), where(plain, log(ratio), log(a) - log(b)))
    return a * change, both, logical_and(equal(x, 0), greater_equal(y, 0))


def _or_nan(x: Any, y: Any, found: Any) -> Any:
    return where(logical_or(isnan(x), isnan(y)), math.nan, found)


@in_double
def rel_entr(x: Any, y: Any) -> Any:
    term, both, none = _relative(x, y)
    return _or_nan(x, y, where(both, term, where(none, 0.0, math.inf)))


@in_double
def kl_div(x: Any, y: Any) -> Any:
    term, both, none = _relative(x, y)
    return _or_nan(x, y, where(both, term - x + y, where(none, y, math.inf)))
