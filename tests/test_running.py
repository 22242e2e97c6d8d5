"""Products over axes, running sums and products, and functions of large arrays, which NumPy's kernels compute in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.kernels import numpy as kernels
from tapegrad.kernels import numpy_error, numpy_where

RNG = np.random.default_rng(5)
SHAPES = [(64, 130), (1, 5000), (67, 65), (3, 5, 700), (4100,)]
LAYOUTS = {
    "as it is": lambda x: x,
    "reversed": lambda x: x[..., ::-1],
    "by columns": np.asfortranarray,
    "every other": lambda x: x[..., ::2],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_sums_of_large_arrays(shape: tuple[int, ...], layout: str, dtype: str) -> None:
    x = LAYOUTS[layout](RNG.standard_normal(shape).astype(dtype))
    y = kernels.cumulative_sum(x, axis=-1)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_allclose(y, np.cumsum(x.astype(np.float64), axis=-1), atol=40 * np.sqrt(x.shape[-1]) * np.finfo(dtype).eps)


def test_what_is_not_finite_reaches_the_sums_behind_it_alone() -> None:
    x = RNG.standard_normal((64, 300))
    x[3, 100], x[5, 20], x[7, 290], x[7, 295] = np.inf, np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(kernels.cumulative_sum(x, axis=1), np.cumsum(x, axis=1), rtol=1e-9, atol=1e-12)


def test_running_sums_of_what_is_not_negative_never_fall() -> None:
    x = RNG.random((40, 1000)).astype(np.float32) ** 8
    assert (np.diff(kernels.cumulative_sum(x, axis=1), axis=1) >= 0).all()


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_large_arrays(shape: tuple[int, ...], layout: str, axis: int | None, keepdims: bool) -> None:
    x = LAYOUTS[layout](1 + 0.02 * RNG.standard_normal(shape))
    y = kernels.prod(x, axis=axis, keepdims=keepdims)
    expected = np.prod(x, axis=axis, keepdims=keepdims)
    assert np.shape(y) == np.shape(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def gradient(f: Any, x: Any) -> Any:
    return tg.grad(lambda x: tg.sum(f(x) * np.cos(np.arange(f(x).size)).reshape(f(x).shape)))(tg.asarray(x)).numpy()


@pytest.mark.parametrize(
    "f", [lambda x: tg.prod(x, axis=1), lambda x: tg.cumulative_prod(x, axis=1), lambda x: tg.cumulative_prod(x, axis=0)]
)
@pytest.mark.parametrize("least", [1.0, 0.0, 1e-310, 1e-200])
def test_quotients_stand_for_products_of_the_others_only_where_they_keep_their_digits(f: Any, least: float) -> None:
    x = 0.5 + RNG.random((3, 4))
    x[1, 2] = least
    x[2, 1:] = (least, 1e-150, 0.7) if least < 1 else 1
    y = f(tg.asarray(x))
    weights = np.cos(np.arange(y.size)).reshape(y.shape)
    exact = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):  # each value is linear in each element
        ends = [x.copy(), x.copy()]
        ends[0][place], ends[1][place] = 0.0, 1.0
        low, high = (f(tg.asarray(e)).numpy() for e in ends)
        exact[place] = np.sum((high - low) * weights)
    np.testing.assert_allclose(gradient(f, x), exact, rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products(dtype: str) -> None:
    x = (1 + 0.3 * RNG.standard_normal((2, 5)) + 0.3j * RNG.standard_normal((2, 5))).astype(dtype)
    for f in (lambda x: tg.prod(x, axis=1), lambda x: tg.cumulative_prod(x, axis=1)):
        whole = tg.grad(lambda x: tg.sum(tg.real(f(x))))(tg.asarray(x)).numpy()  # noqa: B023
        zeros = np.concatenate([x, np.zeros((1, 5), dtype)])  # a row for which nothing is divided
        parts = tg.grad(lambda x: tg.sum(tg.real(f(x))))(tg.asarray(zeros)).numpy()  # noqa: B023
        np.testing.assert_allclose(whole, parts[:2], rtol=1e-4 if dtype == "complex64" else 1e-12)


@pytest.mark.parametrize("name", ["erf", "ndtr"])
def test_error_functions_of_large_arrays_in_single_precision(name: str) -> None:
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-15, 15, 200_001), np.logspace(-44, 2, 9_000), -np.logspace(-44, 2, 9_000)]).astype(np.float32)
    x = np.concatenate([x, np.array([np.inf, -np.inf, 0.0, -0.0], np.float32)])
    y, exact = getattr(numpy_error, name)(x), getattr(special, name)(x.astype(np.float64))
    assert y.dtype == np.float32
    units = np.abs(y - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert units[np.abs(exact) > np.finfo(np.float32).tiny].max() < 10
    assert np.abs(y - exact)[np.abs(exact) <= np.finfo(np.float32).tiny].max(initial=0) < 1e-44
    assert np.abs(y).max() == 1
    assert np.isnan(getattr(numpy_error, name)(np.array([np.nan], np.float32))).all()


def test_error_functions_of_any_layout() -> None:
    x = RNG.standard_normal((70, 60)).astype(np.float32)
    for view in (x.T, x[:, ::-1], x[::2], np.asfortranarray(x)):
        np.testing.assert_allclose(kernels.erf(view), [[kernels.erf(v) for v in row] for row in view], rtol=1e-6)


@pytest.mark.parametrize("x", [np.float32(1), np.zeros((), np.float32), 1, RNG.standard_normal((50, 60)).astype(np.float32)])
@pytest.mark.parametrize("y", [0, 0.01, np.full((), -0.0, np.float32), RNG.standard_normal((50, 60)).astype(np.float32)])
def test_choosing_from_numbers_and_large_arrays(x: Any, y: Any) -> None:
    condition = RNG.random((50, 60)) > 0.5
    assert condition.size >= numpy_where._MANY
    found, expected = numpy_where.where(condition, x, y), np.where(condition, x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_the_logarithm_of_a_sum_of_exponentials_of_large_arrays() -> None:
    x, y = (50 * RNG.standard_normal((60, 40)) for _ in range(2))
    for odd in (np.inf, -np.inf, np.nan, 0.0, 1e30):
        for a in (x, y):
            a.reshape(-1)[RNG.integers(0, a.size, 60)] = odd
    x[0] = y[0] = -np.inf
    x[1] = y[1] = np.inf
    for a, b, rtol in ((x, y, 1e-14), (x.astype(np.float32), y.astype(np.float32), 1e-6), (x, y[:1], 1e-14)):
        with np.errstate(invalid="ignore"):
            found = kernels.logaddexp(a, b)
            assert found.dtype == a.dtype
            np.testing.assert_allclose(found, np.logaddexp(a, b), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.25), (None, 0.5), (0, None), (-np.inf, np.inf), (-1, 1)])
def test_bounds_of_large_arrays(dtype: str, low: float | None, high: float | None) -> None:
    x = (3 * RNG.standard_normal((40, 50))).astype(dtype)
    if x.dtype.kind == "f":
        x[0, :4] = np.nan, np.inf, -np.inf, -0.0
    found, few = (tg.clip(tg.asarray(v), low, high).numpy() for v in (x, x[:3]))
    assert found.dtype == few.dtype
    np.testing.assert_array_equal(found[:3], few)
    np.testing.assert_array_equal(found, np.clip(x, low, high))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 40), (40,)])
def test_what_is_taken_along_an_axis_more_than_once_is_added_up(shape: tuple[int, ...], axis: int) -> None:
    size = (6, 7, 8)
    ids = RNG.integers(-size[axis], size[axis], shape)
    g = RNG.standard_normal((*size[:axis], *shape, *size[axis + 1 :]))
    expected = np.zeros(size)
    np.add.at(expected, (*(slice(None),) * axis, ids), g)
    np.testing.assert_allclose(kernels.take_add(g, ids, size, axis), expected, atol=1e-13)
    with pytest.raises(IndexError):
        kernels.take_add(np.ones((*size[:axis], 1, *size[axis + 1 :])), np.array([size[axis]]), size, axis)


@pytest.mark.parametrize("axis", [(-1,), (1, 2), (2, 3), (-3, -2, -1), (3, 1, 2), (0, 3)])
def test_sums_over_the_last_axes_of_large_arrays(axis: tuple[int, ...]) -> None:
    x = RNG.standard_normal((4, 6, 17, 19)).astype(np.float32)
    for keepdims in (False, True):
        found = kernels.sum(x, axis=axis, keepdims=keepdims)
        expected = x.astype(np.float64).sum(axis=axis, keepdims=keepdims)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-3)
