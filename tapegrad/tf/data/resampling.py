"""Elements left out so that classes come as often as they should; reductions of groups; an element that may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.data import elements
from tapegrad.tf.data.sources import seeds
from tapegrad.tf.errors import InvalidArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset


def _dataset(make: Any, known: Any = None, size: int = -2) -> Dataset:
    from tapegrad.tf.data.dataset import Dataset

    return Dataset(make, known, size)


def resampled(source: Dataset, class_func: Any, target: Any, initial: Any, seed: Any) -> Dataset:
    """Pairs of class and element: one of a class is kept with a chance of target over initial, the largest of which is 1.

    Without `initial`, how often classes come is what has come so far, begun with one of each.
    """
    from tapegrad.tf.data.dataset import applied

    wanted = host(target).astype(np.float64)
    given = None if initial is None else host(initial).astype(np.float64)
    if given is not None and given.shape != wanted.shape:
        raise ValueError(f"rejection_resample: target_dist and initial_dist must be of one shape, got {wanted.shape} and {given.shape}")
    state = seeds(seed)

    def run() -> Iterator[Any]:
        g = np.random.default_rng(list(state))
        seen = np.ones_like(wanted)
        for e in source._make_iterator():
            label = convert(applied(class_func, e))
            k = int(host(label))
            if not 0 <= k < len(wanted):
                raise InvalidArgumentError(None, None, f"rejection_resample: class {k} of {len(wanted)} that target_dist names")
            seen[k] += 1
            share = seen / seen.sum() if given is None else given
            with np.errstate(divide="ignore", invalid="ignore"):
                chance = np.where(wanted > 0, wanted / share, 0.0)
            if g.random() * chance.max() < chance[k]:
                yield label, e

    return _dataset(run)


class Reducer:
    """How the elements of a group become one: a first state, a step, and an end."""

    def __init__(self, init_func: Any, reduce_func: Any, finalize_func: Any) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def reduced_by_key(source: Dataset, key_func: Any, reducer: Reducer) -> Dataset:
    """One element for each key, in the order of the keys."""
    from tapegrad.tf.data.dataset import applied

    def run() -> Iterator[Any]:
        states: dict[int, Any] = {}
        for e in source._make_iterator():
            k = int(host(applied(key_func, e)))
            if k not in states:
                states[k] = reducer.init_func(fresh(np.asarray(k, np.int64)))
            states[k] = reducer.reduce_func(states[k], e)
        for k in sorted(states):
            yield elements.element(reducer.finalize_func(states[k]))

    return _dataset(run)


class Optional:
    """An element that may be absent: `has_value()`, and `get_value()`, which raises where there is none."""

    def __init__(self, value: Any = None, *, there: bool = False, element_spec: Any = None) -> None:
        self._value, self._there, self._spec = value, there, element_spec

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """None."""
        return Optional(element_spec=element_spec)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """A value."""
        found = elements.element(value)
        return Optional(found, there=True, element_spec=elements.spec(found))

    def has_value(self, name: str | None = None) -> Any:
        """Whether there is one."""
        return fresh(np.asarray(self._there))

    def get_value(self, name: str | None = None) -> Any:
        """The value; raises InvalidArgumentError where there is none."""
        if not self._there:
            raise InvalidArgumentError(None, None, "The given optional does not have a value. [Op:OptionalGetValue]")
        return self._value

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of the value."""
        return self._spec

    def __bool__(self) -> bool:
        return self._there

    def __repr__(self) -> str:
        return f"tf.experimental.Optional({self._value!r})" if self._there else "tf.experimental.Optional.empty()"


def next_or_none(iterator: Any) -> Optional:
    """The next element of an iteration, as an optional that is empty at the end."""
    try:
        found = iterator.get_next()
    except OutOfRangeError:
        return Optional.empty(iterator.element_spec)
    return Optional(found, there=True, element_spec=iterator.element_spec)
