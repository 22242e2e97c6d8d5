"""How TensorFlow kernels of special functions are made: from what TensorFlow has, or here, from series and by reflection.

What is built here is computed in double precision, like the tables of SciPy.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_basics import where
from tapegrad.kernels.tensorflow_calls import F64
from tapegrad.kernels.tensorflow_promotion import able, asarray, common, converted, pair

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT_PI = math.sqrt(math.pi)


def native(name: str) -> Callable[..., Any]:
    """A function of one to three real numbers that TensorFlow has; half precision and integers are computed wider."""
    run = calls.op(name)

    def kernel(*args: Any) -> Any:
        xs, d = floats(*args)
        w = able(name, d)
        y = made(run(*(converted(x, w).bare for x in xs)), w)
        return converted(y, d)

    return kernel


def floats(*args: Any) -> tuple[list[Any], Any]:
    """Arguments in their common floating dtype; integers count as double."""
    if len(args) == 1:
        x = asarray(args[0])
        d = x.dtype if x.dtype.kind in "fcV" else F64
        return [converted(x, d)], d
    first = args[0]
    for other in args[1:]:
        first, _, d = pair(first, other)
    d = d if d.kind in "fcV" else F64
    return [converted(asarray(a) if hasattr(a, "dtype") else made(calls.scalar(a, d), d, ()), d) for a in args], d


def in_double(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel on real arrays in double precision, its value in the dtype of its arguments."""

    @functools.wraps(kernel)
    def computed(*args: Any) -> Any:
        xs, d = floats(*args)
        if d.kind == "c":
            raise TypeError(f"{kernel.__name__} of complex numbers is not there")
        return converted(kernel(*(converted(x, F64) for x in xs)), d)

    return computed


def by_integer(kernel: Callable[[int, Any], Any]) -> Callable[[Any, Any], Any]:
    """A kernel of an integer and an array in double precision, for integers that the host knows; in the array's dtype."""

    @functools.wraps(kernel)
    def computed(n: Any, x: Any) -> Any:
        (x,), d = floats(x)
        wide: Any = converted(x, common(F64, d) if d.kind == "c" else F64)
        if type(n) is int:
            return converted(kernel(n, wide), d)
        if isinstance(n, np.ndarray | np.generic):
            y: Any = math.nan * wide
            for k in np.unique(n):
                y = where(n == k, kernel(int(k), wide), y)
            return converted(y, d)
        raise TypeError(f"{kernel.__name__}: expected the order as a Python integer or an array of NumPy's, which the host knows")

    return computed
