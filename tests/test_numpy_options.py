"""Options of NumPy's functions that ours of the same meaning do not have, on recorded tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError
from tests.numpy_calls import check

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(3)
X = RNG.uniform(0.2, 0.9, (3, 4))
SQUARE = RNG.uniform(0.2, 0.9, (3, 3)) + 3 * np.eye(3)
CHOSEN = X > 0.4


def _written(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        write(x)
        return x * 1

    return run


CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "std(where)": (lambda x: np.std(x, where=CHOSEN), X),
    "std(where, axis, ddof)": (lambda x: np.std(x, axis=0, ddof=0.5, where=CHOSEN, keepdims=True), X),
    "var(where)": (lambda x: np.var(x, axis=1, where=CHOSEN), X),
    "var(mean)": (lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), X),
    "std(mean)": (lambda x: np.std(x, mean=np.full((1, 1), 0.4), correction=1), X),
    "average(returned)": (lambda x: np.multiply(*np.average(x, axis=0, weights=x[:, 0] * 2, returned=True)), X),
    "average(returned) of all": (lambda x: np.multiply(*np.average(x, returned=True)), X),
    "reshape(order)": (lambda x: np.reshape(x, (2, -1), order="F"), X),
    "ravel(order)": (lambda x: np.ravel(x, "F"), X),
    "concatenate(dtype)": (lambda x: np.concatenate([x, X], axis=1, dtype="float64"), X),
    "trace(dtype)": (lambda x: np.trace(x, dtype=np.float64), SQUARE),
    "take(wrap)": (lambda x: np.take(x, [5, -6, 1], axis=1, mode="wrap"), X),
    "take(clip)": (lambda x: np.take(x, [-3, 99], mode="clip"), X),
    "sort(axis=None)": (lambda x: np.sort(x, axis=None), X),
    "unique(axis)": (lambda x: np.unique(np.concatenate([x, x[:1]]), axis=0), X),
    "unique(equal_nan)": (lambda x: np.unique(x, return_index=True, equal_nan=False)[0], X),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, -1]), X),
    "apply_over_axes that keeps": (lambda x: np.apply_over_axes(np.cumsum, x, 1), X),
    "real_if_close": (lambda x: np.real_if_close(x + 0j), X),
    "real_if_close of real numbers": (np.real_if_close, X),
    "einsum(optimize)": (lambda x: np.einsum("ij,jk,k", x, X.T, np.ones(3), optimize=True), X),
    "eigh(UPLO)": (lambda x: np.linalg.eigh(x, "U")[0], SQUARE),
    "eigvalsh(UPLO)": (lambda x: np.linalg.eigvalsh(x, UPLO="U"), SQUARE),
    "svd(compute_uv)": (lambda x: np.linalg.svd(x, compute_uv=False), X),
    "qr(r)": (lambda x: np.abs(np.linalg.qr(x, mode="r")), SQUARE),
    "frexp": (lambda x: np.frexp(7 * x)[0], X),
    "ldexp": (lambda x: np.ldexp(x, [0, 3, -2, 1]), X),
    "logaddexp.reduce": (np.logaddexp.reduce, X),
    "logaddexp.reduce(axis)": (lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True), X),
    "roll(lists)": (lambda x: np.roll(x, [1, 2], axis=[0, 1]), X),
    "fill_diagonal(wrap)": (_written(lambda x: np.fill_diagonal(x, 2.0, True)), np.vstack([X, X])),
    "put_along_axis": (_written(lambda x: np.put_along_axis(x, np.array([[1], [0], [3]]), 7.0, 1)), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_option_means_what_it_does_for_arrays(name: str) -> None:
    function, x = CALLS[name]
    if "UPLO" in name:  # NumPy reads one triangle, whose derivative ours shares between both
        return check(lambda x: function((x + x.T) / 2 if isinstance(x, np.ndarray) else (x + tg.matrix_transpose(x)) / 2), x)
    return check(function, x)


def test_mantissas_and_exponents_of_all_sizes() -> None:
    x = np.array([0.0, -0.0, 1.5, -3e-310, 5e-324, 1.7e308, np.inf, -np.inf, np.nan])
    for one, other in zip(np.frexp(tg.asarray(x)), np.frexp(x), strict=True):
        np.testing.assert_array_equal(one.numpy(), other)
        assert one.dtype == other.dtype
    scaled = np.ldexp(tg.asarray(np.array([1e-308, 0.0, 1.0])), [2000, 9999, -9999])
    np.testing.assert_array_equal(scaled.numpy(), [np.ldexp(1e-308, 2000), 0, 0])


def test_the_shape_along_several_axes() -> None:
    assert np.size(tg.asarray(X), (0, 1)) == 12
    assert np.size(tg.asarray(X), 1) == 4


def test_an_option_that_asks_for_more_than_usual_is_not_passed_over() -> None:
    with pytest.raises(ArgumentError, match=r"np.polyfit\(full=...\)"):
        np.polyfit(np.arange(3.0), tg.asarray([1.0, 2.0, 4.0]), 1, full=True)
    assert np.polyfit(np.arange(3.0), tg.asarray([1.0, 2.0, 4.0]), 1, full=False).shape == (2,)


def test_what_an_option_cannot_be_is_named() -> None:
    x = tg.asarray(X)
    with pytest.raises(ArgumentError, match=r'np.reshape\(order=...\): expected "C", "F" or "A"'):
        np.reshape(x, (4, 3), order="Q")
    with pytest.raises(ArgumentError, match=r"np.take\(mode=...\)"):
        np.take(x, [0], mode="bounce")
    with pytest.raises(ArgumentError, match=r"UPLO"):
        np.linalg.eigh(x, "Q")
    with pytest.raises(ArgumentError, match=r"np.einsum: no argument dtype"):
        np.einsum("ij->i", x, dtype="f")
    with pytest.raises(DTypeError, match=r"np.concatenate\(dtype='int64'"):
        np.concatenate([x, x], dtype="int64")
    with pytest.raises(ArgumentError, match=r"apply_over_axes"):
        np.apply_over_axes(lambda x, axis: tg.sum(x), x, [0])
    with pytest.raises(AttributeError, match=r"write x.numpy\(\).flags"):
        np.isfortran(x)


def test_common_elements_have_the_common_dtype() -> None:
    assert np.intersect1d(tg.asarray(np.array([1, 2])), np.array([0.5])).dtype == tg.float64
