"""The distinct elements of an array, rising; NaNs are all distinct."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad.registry import composite, constant


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def _few(draw: Any) -> Any:
    """Elements that differ by more than they are moved: where they tie there are fewer of them, and no derivative."""
    shape = draw.shape("n", "m")
    x = 1.5 ** np.asarray(draw.permutation(math.prod(shape)), np.float64).reshape(shape)
    return (x * (0.6 + 0.8j) if draw.complex else x,)


def _as_it_is(F: Any, *outputs: Any) -> Any:
    """NumPy leaves the order of what it finds open, so its values are not compared."""
    return outputs


@constant(outputs=("indices", "inverse_indices", "counts"), laws=_few, public=False)
def unique_index(xp: Any, x: Any, /) -> Any:
    """Where in the flattened array each distinct element first stands, which of them each element is, how many are equal."""
    return xp.unique_index(x)


@composite(laws=_few, observe=_as_it_is)
def unique_values(F: Any, x: Any, /) -> Any:
    """The distinct elements, rising; of equal ones the first has the derivative."""
    indices, _, _ = F.unique_index(x)
    return F.take(F.reshape(x, (-1,)), indices, axis=0)


@composite(outputs=("values", "indices", "inverse_indices", "counts"), laws=_few)
def unique_all(F: Any, x: Any, /) -> UniqueAll:
    """The distinct elements, where each first stands, which of them each element of `x` is, and how many are equal."""
    indices, inverse, counts = F.unique_index(x)
    return UniqueAll(F.take(F.reshape(x, (-1,)), indices, axis=0), indices, inverse, counts)


@composite(outputs=("values", "counts"), laws=_few)
def unique_counts(F: Any, x: Any, /) -> UniqueCounts:
    """The distinct elements, and how many are equal to each."""
    found = F.unique_all(x)
    return UniqueCounts(found[0], found[3])


@composite(outputs=("values", "inverse_indices"), laws=_few)
def unique_inverse(F: Any, x: Any, /) -> UniqueInverse:
    """The distinct elements, and for each element of `x` which of them it is."""
    found = F.unique_all(x)
    return UniqueInverse(found[0], found[2])
