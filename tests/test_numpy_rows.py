"""NumPy's functions of rows of numbers on recorded tensors: spaced numbers, sets, polynomials, parts, neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, ShapeError
from tests.numpy_calls import check

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(9)
V = RNG.uniform(0.2, 0.9, 5)
X = RNG.uniform(0.2, 0.9, (4, 5))
SQUARE = RNG.uniform(-1, 1, (3, 3)) + np.diag([1.0, 4.0, 7.0])

ROWS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "linspace": (lambda x: np.linspace(x, 2.5, 4), V),
    "linspace to tensors": (lambda x: np.linspace(0, x, 5, endpoint=False, axis=1), V),
    "linspace between": (lambda x: np.linspace(x[0], x[1:], num=3), V),
    "step of linspace": (lambda x: np.linspace(x, 2.0, 4, retstep=True)[1], V),
    "logspace": (lambda x: np.logspace(x, 1.5, 3, base=2.0), V),
    "geomspace": (lambda x: np.geomspace(x, 5.0, 4), V),
    "union1d": (lambda x: np.union1d(x, [0.1, 0.95]), V),
    "intersect1d": (lambda x: np.intersect1d(x, x[1:3]), V),
    "setdiff1d": (lambda x: np.setdiff1d(x, x[1:3]), V),
    "setxor1d": (lambda x: np.setxor1d(x, x[1:3]), V),
    "sort_complex": (np.sort_complex, V),
    "trim_zeros": (lambda x: np.trim_zeros(x * np.array([0, 1, 0, 1, 0])), V),
    "polyadd": (lambda x: np.polyadd(x, [1.0, 2.0]), V),
    "polysub": (lambda x: np.polysub([1.0], x), V),
    "polymul": (lambda x: np.polymul(x, x[:3]), V),
    "polyder": (lambda x: np.polyder(x, 2), V),
    "polyint": (lambda x: np.polyint(x, 2, k=[1.0, 2.0]), V),
    "poly": (np.poly, V),
    "poly of a matrix": (np.poly, SQUARE),
    "roots": (lambda x: np.real(np.roots(x - 2 * np.array([0, 1, 0, 0, 0]))[:1]), V),
    "eigvals": (lambda x: np.sort(np.real(np.linalg.eigvals(x))), SQUARE),
    "eig": (lambda x: np.linalg.eig(x)[0] ** 2, SQUARE),
    "tensorinv": (lambda x: np.linalg.tensorinv(np.reshape(np.kron(x[:2, :2], x[1:, 1:]), (4, 2, 2)), ind=1), SQUARE),
    "tensorsolve": (lambda x: np.linalg.tensorsolve(np.reshape(x, (3, 1, 3)), V[:3].reshape(3, 1)), SQUARE),
    "unwrap": (lambda x: np.unwrap(x * np.array([1, 30, 2, 90, 1])), V),
    "unwrap by degrees": (lambda x: np.unwrap(x * 900, period=360), V),
    "apply_along_axis": (lambda x: np.apply_along_axis(np.cumsum, 0, x), X),
    "apply_along_axis to numbers": (lambda x: np.apply_along_axis(np.ptp, 1, x), X),
    "apply_along_axis to matrices": (lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 0, x), X),
    "piecewise": (lambda x: np.piecewise(x, [X > 0.6, X < 0.4], [lambda v: v * v, 3.0, np.sin]), X),
    "full_like": (lambda x: np.full_like(x, x[0, 1]), X),
    "ediff1d with ends": (lambda x: np.ediff1d(x, to_begin=[9.0, 8.0], to_end=x[0]), V),
    "nan_to_num": (lambda x: np.nan_to_num(x, True), V),
    "kron with a number": (lambda x: np.kron(x, 2), V),
    "meshgrid of dtypes": (lambda x: np.meshgrid(x, [1, 2])[0], V),
    "sparse meshgrid": (lambda x: np.meshgrid(x, [1, 2], sparse=True, indexing="ij")[0], V),
    "mean in a dtype": (lambda x: np.mean(x, axis=1, dtype=np.complex128), X),
    "gradient": (lambda x: np.gradient(x, axis=1), X),
    "gradient with parabolas": (lambda x: np.gradient(x, 0.5, axis=1, edge_order=2), X),
    "gradient at places": (lambda x: np.gradient(x, np.array([0.0, 0.5, 2.0, 2.5, 4.0]), axis=1), X),
    "gradient at places with parabolas": (lambda x: np.gradient(x, [0.0, 0.5, 2.0, 2.5, 4.0], axis=1, edge_order=2), X),
    "gradient by places": (lambda x: np.gradient(V**2, np.cumsum(x)), V),
    "gradient of several axes": (lambda x: np.gradient(x, 2.0, [0.0, 0.5, 2.0, 2.5, 4.0])[1], X),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_function_of_rows_records(name: str) -> None:
    check(*ROWS[name])


def test_the_end_of_spaced_numbers_is_exact() -> None:
    for n in range(2, 60):
        assert np.linspace(tg.asarray(0.1), 0.7, n)[-1] == 0.7


def test_real_eigenvalues_of_a_real_matrix_are_real_and_others_complex() -> None:
    assert np.linalg.eigvals(tg.asarray(SQUARE)).dtype == np.float64
    assert np.linalg.eig(tg.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.dtype.kind == "c"


def test_what_does_not_fit_is_refused() -> None:
    x = tg.asarray(V)
    with pytest.raises(ShapeError, match=r"np.gradient: expected a number or 5 places for axis 0, got shape \(3,\)"):
        np.gradient(x, [0.0, 1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"np.gradient: expected edge_order 1 or 2"):
        np.gradient(x, edge_order=3)
    with pytest.raises(ArgumentError, match=r"np.piecewise: expected 1 or 2 functions, got 3"):
        np.piecewise(x, [V > 0.5], [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"np.linalg.tensorinv"):
        np.linalg.tensorinv(tg.asarray(X), ind=1)


def test_least_squares_in_a_batch_know_the_rank_of_each() -> None:
    a = RNG.normal(size=(3, 4, 2))
    a[1, :, 1] = 2 * a[1, :, 0]
    b = RNG.normal(size=(3, 4))
    x, rest, rank, sizes = tg.vmap(np.linalg.lstsq)(tg.asarray(a), tg.asarray(b))
    for i in range(3):
        wanted = np.linalg.lstsq(a[i], b[i])
        np.testing.assert_allclose(x[i].numpy(), wanted[0], rtol=1e-10)
        np.testing.assert_allclose(sizes[i].numpy(), wanted[3], atol=1e-12)
        assert rank[i] == wanted[2]
        np.testing.assert_allclose(rest[i].numpy(), wanted[1] if len(wanted[1]) else [np.nan], rtol=1e-10)
