"""What ufuncs do along an axis and at places, and NumPy's functions that write, on recorded tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, BoundsError, DetachedError, DTypeError
from tests.numpy_calls import check

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(8)
X = RNG.uniform(0.2, 0.9, (4, 3))
V = RNG.uniform(0.2, 0.9, (5,))
PLACES = np.array([2, 0, 2, -1, 2])

ALONG: dict[str, Callable[[Any], Any]] = {
    "add.reduce from a first value": lambda x: np.add.reduce(x, axis=1, initial=2.5),
    "add.reduce of some": lambda x: np.add.reduce(x, axis=0, where=X > 0.4),
    "add.reduce in a dtype": lambda x: np.add.reduce(x, dtype=np.complex128),
    "maximum.reduce of some": lambda x: np.maximum.reduce(x, axis=None, initial=0.1, where=X > 0.4),
    "subtract.reduce": np.subtract.reduce,
    "divide.reduce": lambda x: np.divide.reduce(x, axis=1, keepdims=True),
    "hypot.reduce of all": lambda x: np.hypot.reduce(x, axis=None),
    "logaddexp2.reduce": lambda x: np.logaddexp2.reduce(x, axis=(0, 1)),
    "fmax.reduce": lambda x: np.fmax.reduce(x, axis=1),
    "divide.reduce from a first value": lambda x: np.divide.reduce(x, axis=1, initial=0.5),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "minimum.accumulate": np.minimum.accumulate,
    "subtract.accumulate": lambda x: np.subtract.accumulate(x, axis=-1),
    "logaddexp.accumulate": np.logaddexp.accumulate,
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1, 3]),
    "add.reduceat of columns": lambda x: np.add.reduceat(x, [0, 2, 2], axis=1),
    "multiply.reduceat": lambda x: np.multiply.reduceat(x, [1, 0, 3]),
    "maximum.reduceat": lambda x: np.maximum.reduceat(x, [0, 2], axis=0),
    "subtract.reduceat": lambda x: np.subtract.reduceat(x, [0, 1]),
    "arctan2.outer": lambda x: np.arctan2.outer(x, V),
}


@pytest.mark.parametrize("name", ALONG)
def test_a_ufunc_along_an_axis_records(name: str) -> None:
    check(ALONG[name], X)


def _written(write: Callable[[Any], None]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        assert write(x) is None
        return x * 1.0

    return run


WRITES: dict[str, Callable[[Any], None]] = {
    "add.at of rows": lambda x: np.add.at(x, PLACES, V[:, None]),
    "add.at in two axes": lambda x: np.add.at(x, (PLACES, [0, 1, 0, 2, 0]), V),
    "subtract.at": lambda x: np.subtract.at(x, (slice(None), 1), 0.5),
    "multiply.at": lambda x: np.multiply.at(x, (PLACES, 1), V),
    "power.at": lambda x: np.power.at(x, PLACES, 1.5),
    "negative.at": lambda x: np.negative.at(x, [0, 2, 0, 0]),
    "sin.at of a mask": lambda x: np.sin.at(x, X > 0.5),
    "copyto where": lambda x: np.copyto(x, 2 * x, where=X > 0.5),
    "put": lambda x: np.put(x, [3, 0, -1, 3], [0.1, 0.2, 0.3]),
    "put, wrapped": lambda x: np.put(x, [3, 30], V, mode="wrap"),
    "put, clipped": lambda x: np.put(x, [3, 30], V, mode="clip"),
    "putmask": lambda x: np.putmask(x, X > 0.5, V),
    "place": lambda x: np.place(x, X > 0.5, V[:2]),
    "fill_diagonal": lambda x: np.fill_diagonal(x, 0.5),
    "fill_diagonal, wrapped": lambda x: np.fill_diagonal(x, V[:2], wrap=True),
    "put_along_axis": lambda x: np.put_along_axis(x, np.array([[1], [0], [2], [2]]), 0.5, axis=1),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_is_in_the_value_and_in_the_gradient(name: str) -> None:
    check(_written(WRITES[name]), X)


VALUES: dict[str, Callable[[Any, Any], None]] = {
    "add.at": lambda x, v: np.add.at(x, (PLACES, 1), v),
    "multiply.at": lambda x, v: np.multiply.at(x, (PLACES, 1), v),
    "divide.at": lambda x, v: np.divide.at(x, (PLACES, 1), v),
    "copyto": lambda x, v: np.copyto(x, v[:3]),
    "put": lambda x, v: np.put(x, [1, 5, 1, 7, 2, 9], v),
    "putmask": lambda x, v: np.putmask(x, X > 0.4, v),
    "place": lambda x, v: np.place(x, X > 0.4, v),
    "fill_diagonal": lambda x, v: np.fill_diagonal(x, v[:3]),
    "put_along_axis": lambda x, v: np.put_along_axis(x, np.array([[2, 0, 1]]), v[:3], axis=0),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_recorded_value_that_is_written_keeps_its_derivative(name: str) -> None:
    def run(v: Any) -> Any:
        x = X.copy() if isinstance(v, np.ndarray) else tg.asarray(X.copy())
        VALUES[name](x, v)
        return x * 1.0

    check(run, V)


@pytest.mark.parametrize("name", VALUES)
def test_an_array_takes_no_recorded_value(name: str) -> None:
    v, x = tg.asarray(V), X.copy()
    with tg.GradientTape() as tape:
        tape.watch(v)
        with pytest.raises(DetachedError, match="derivative"):
            VALUES[name](x, v)
    np.testing.assert_array_equal(x, X)


def test_rows_that_are_added_into_an_array_of_more_places_are_added_once_each() -> None:
    x = tg.zeros(3, dtype=tg.float64)
    np.add.at(x, [], [])
    np.multiply.at(x, np.zeros(0, int), 3.0)
    assert x.tolist() == [0, 0, 0]


def test_what_has_no_meaning_along_an_axis_is_refused() -> None:
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(BoundsError, match=r"np.add.reduceat: expected a row of indices, 0 <= index < 4"):
            np.add.reduceat(x, [0, 4])
        with pytest.raises(ArgumentError, match=r"np.subtract.reduce\(axis=\(0, 1\)\): expected one axis"):
            np.subtract.reduce(x, axis=(0, 1))
        with pytest.raises(DTypeError, match=r"np.sin\(dtype=.*casting='same_kind'\): expected inputs that this rule casts"):
            np.sin(x, dtype=np.int64)
        with pytest.raises(DTypeError, match=r"np.add.at: expected a value that float64 can hold"):
            np.add.at(x, 0, 1j)


def test_memory_order_and_casting_that_change_no_value_are_taken() -> None:
    check(lambda x: np.sin(x, order="F", subok=False, casting="unsafe"), X)
    check(lambda x: np.add(x, 1, order="A", dtype=np.float64, casting="safe"), X)
