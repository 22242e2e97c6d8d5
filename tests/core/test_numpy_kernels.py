"""NumPy kernels that go another way where arrays are large, or lie so: values are those of NumPy's own functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.dtypes import bfloat16
from tapegrad.kernels import numpy as kernels

RNG = np.random.default_rng(0)
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40]


def _numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    x = RNG.standard_normal(shape) * 3
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL
    with np.errstate(invalid="ignore"):
        return x.astype(dtype)


def _same(got: Any, expected: Any) -> None:
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()  # zeros have a sign


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8", "int64", "bool", bfloat16])
@pytest.mark.parametrize("shape", [(5, 1000), (4096,), (2047,), (2, 3, 700)])
def test_where_of_two_arrays(shape: tuple[int, ...], dtype: Any) -> None:
    x, y, condition = _numbers(shape, dtype), _numbers(shape[::-1], dtype).T, RNG.random(shape) > 0.5
    _same(kernels.where(condition, x, y), np.where(condition, x, y))
    _same(kernels.where(condition[::-1], y, x), np.where(condition[::-1], y, x))
    if dtype != bfloat16:
        row = _numbers((6, shape[-1]), dtype)[5]
        _same(kernels.where(condition, row, x), np.where(condition, row, x))


@pytest.mark.parametrize("scalar", [0, 0.0, -0.0, 1, 2.5, float("nan"), float("-inf"), np.float32(3), np.float64(3), True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_where_of_an_array_and_a_number(dtype: str, scalar: Any) -> None:
    x, condition = _numbers((70, 70), dtype), RNG.random((70, 70)) > 0.5
    _same(kernels.where(condition, x, scalar), np.where(condition, x, scalar))
    _same(kernels.where(condition, scalar, x), np.where(condition, scalar, x))
    _same(kernels.where(condition, np.broadcast_to(x[:1], x.shape), scalar), np.where(condition, np.broadcast_to(x[:1], x.shape), scalar))


def test_where_of_conditions_that_are_broadcast_or_no_truth_values() -> None:
    x, y = _numbers((70, 70), "f4"), _numbers((70, 70), "f4")
    for condition in (RNG.random((70, 1)) > 0.5, RNG.integers(0, 2, (70, 70)), True, np.True_):
        _same(kernels.where(condition, x, y), np.where(condition, x, y))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, (0, 1), (1, 2), (-3, -2), (0, 2), (1, 0), (0, 1, 2), None, ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(16, 32, 8), (2, 3, 400), (0, 3, 4), (8, 200, 1), (1, 1100, 2)])
def test_sums(shape: tuple[int, ...], axis: Any, keepdims: bool) -> None:
    x = RNG.standard_normal(shape)
    got = kernels.sum(x, axis=axis, keepdims=keepdims)
    expected = np.sum(x, axis=axis, keepdims=keepdims)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("shape", [(16, 32, 20), (3, 0, 400), (1, 5, 300), (5, 1, 300)])
def test_running_sums_and_products(name: str, shape: tuple[int, ...], axis: int) -> None:
    x = RNG.standard_normal(shape).astype("f4")
    plain = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
    for given in (x, x[::-1], x[:, ::-1], x.transpose(2, 0, 1)):
        got = getattr(kernels, name)(given, axis=axis)
        np.testing.assert_allclose(got, plain(given, axis=axis), rtol=1e-6)
        assert got.dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("exponent", [3, 4, 3.0, 4.0, 2, -1, np.float32(3)])
def test_powers(exponent: Any, dtype: str) -> None:
    x = np.array([-2.5, 1.5, 3.0, 7.0]).astype(dtype)
    if dtype == "int64" and exponent == -1:
        return
    got, expected = kernels.pow(x, exponent), x**exponent
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("exponent", [3, 4])
def test_powers_of_what_is_not_finite_and_of_extremes(exponent: int) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 1e-30, -1e-30], np.float32)
    with np.errstate(all="ignore"):
        _same(kernels.pow(x, exponent), x**exponent)


@pytest.mark.parametrize("scale", [1e-38, 1e-3, 1.0, 300.0, 1e7])
def test_remainders_of_many_are_numpys(scale: float) -> None:
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((9, 999)) * scale).astype(np.float32)
    x[0, :9] = 0.0, -0.0, 0.7, -0.7, 1.4, -2.1, 3.0, -3.0, 6.0
    y = (rng.choice([-1, 1], x.shape) * rng.uniform(0.5, 3, x.shape)).astype(np.float32)
    for a, b in ((x, y), (x, 0.7), (x, -3), (2.5, y), (np.round(x), np.round(y * 4) + np.float32(0.5)), (x.T, y.T)):
        for ours, theirs in ((kernels.remainder, np.remainder), (kernels.floor_divide, np.floor_divide)):
            found, expected = ours(a, b), theirs(a, b)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_remainders_of_many_at_zeros_and_infinities() -> None:
    x, y = np.ones(5000, np.float32), np.full(5000, 2, np.float32)
    x[:3], y[3:6] = (np.inf, np.nan, -np.inf), (0, np.inf, -np.inf)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(kernels.remainder(x, y), np.remainder(x, y))
        np.testing.assert_array_equal(kernels.floor_divide(x, y)[:7], [np.inf, np.nan, -np.inf, np.inf, 0, -0.0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, bfloat16])
def test_numbers_in_place_of_what_is_not_finite(dtype: Any) -> None:
    x = _numbers((3, 7), dtype)
    for given in (x, x.T, x[0, 0], np.abs(_numbers((2, 9), dtype)[1])):
        got = kernels.finite_or(given, nan=0.5, high=2.0, low=-2.0)
        expected = np.where(np.isnan(given), 0.5, np.where(np.isinf(given), np.sign(given) * 2, given).astype(dtype)).astype(dtype)
        _same(got, expected)
        assert not np.shares_memory(got, given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_two(dtype: Any) -> None:
    whole = np.arange(-60, 60).astype(dtype)
    np.testing.assert_array_equal(kernels.pow(2, whole), np.ldexp(np.ones(120, dtype), np.arange(-60, 60)))
    x = _numbers((5, 40), dtype)
    found = kernels.pow(2.0, x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.float64(2) ** x.astype(np.float64), rtol=3 * np.finfo(dtype).eps)


def test_logits_of_many() -> None:
    ends = [0, 1, 0.5, -1, 2, np.inf, np.nan, 1e-40]
    x = np.concatenate([RNG.random(4000), 0.5 + np.linspace(-1e-5, 1e-5, 1000), ends]).astype(np.float32)
    wide = x.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(wide / (1 - wide)).astype(np.float32)
    _same(kernels.logit(x), expected)
    _same(kernels.logit(x[::-1].reshape(16, -1).T), expected[::-1].reshape(16, -1).T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("n", "k", "m"), [(64, 64, 64), (100, 16, 70), (128, 128, 128), (64, 1, 64), (64, 0, 64), (5, 7, 6)])
def test_products_of_matrices_in_every_memory_order(n: int, k: int, m: int, lead: tuple[int, ...], dtype: str) -> None:
    x, y = ((10 * RNG.standard_normal((*lead, *shape))).astype(dtype) for shape in ((n, k), (k, m)))
    expected = np.einsum("...ij,...jk->...ik", x, y)
    for first in (x, x.mT.copy().mT, x[..., ::-1, :].copy()[..., ::-1, :]):
        for second in (y, y.mT.copy().mT, np.repeat(y, 2, axis=-1)[..., ::2]):
            for got in (
                kernels.matmul(first, second),
                kernels.adjoint_matmul(first.mT.conj(), second),
                kernels.matmul_adjoint(first, second.mT.conj()),
            ):
                assert got.dtype == dtype
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-2 if dtype == "float32" else 1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("low", [-3e38, -np.inf])
def test_masked_rows_are_normalised_without_a_warning(low: float) -> None:
    x = np.array([[1, 2, low, low], [low, low, 3, low], [low] * 4], np.float32)
    for rows in (x[:2], x if low > -np.inf else x[:2], np.repeat(x[:2], 300, axis=0)):
        shares = kernels.softmax(rows, axis=1)
        np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-6)
        np.testing.assert_allclose(kernels.logsumexp(rows, axis=1), np.logaddexp.reduce(rows.astype(np.float64), axis=1), rtol=1e-6)
        y, kept = kernels.logsumexp_keeping(rows, axis=1)
        np.testing.assert_array_equal(kept, shares)
        assert np.isfinite(y).all()
