from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tapegrad as tg
from tests.nn import reference


@st.composite
def pools(draw: Any, *, dilated: bool) -> Any:
    """An image, a window, and parameters that fit; many elements are equal."""
    rank = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(rank))  # noqa: E731
    window, stride = each(1, 3), each(1, 3)
    dilation = each(1, 2) if dilated else (1,) * rank
    padding = tuple(draw(st.integers(0, k // 2)) for k in window)
    size = tuple(d * (k - 1) + 1 + draw(st.integers(0, 3)) for k, d in zip(window, dilation, strict=True))
    shape = (draw(st.integers(0, 2)), *size, draw(st.integers(1, 2)))
    x = rng.integers(-2, 3, shape) * 1.0 if draw(st.booleans()) else rng.standard_normal(shape)
    params = {"stride": stride, "padding": padding}
    return x, window, {**params, "dilation": dilation} if dilated else params


def gradient(f: Any, x: Any) -> tuple[Any, Any]:
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    g = np.cos(np.arange(y.size)).reshape(y.shape)
    return y.numpy(), tape.gradient(y, t, output_gradients=tg.asarray(g)).numpy()


def of_torch(name: str, x: Any, *args: Any, **params: Any) -> tuple[Any, Any]:
    import torch

    rank = x.ndim - 2
    a = torch.tensor(np.moveaxis(x, -1, 1).copy(), requires_grad=True)
    z = getattr(torch.nn.functional, f"{name}{rank}d")(a, *args, **params)
    y = np.moveaxis(z.detach().numpy(), 1, -1)
    g = np.cos(np.arange(y.size)).reshape(y.shape)
    z.backward(torch.tensor(np.moveaxis(g, -1, 1).copy()))
    return y, np.moveaxis(a.grad.numpy(), 1, -1)


@given(pools(dilated=True))
def test_the_largest_of_each_window(case: Any) -> None:
    x, window, params = case
    pairs = [(p, p) for p in params["padding"]]
    expected = reference.pooled(x, window, params["stride"], pairs, params["dilation"], np.max, -np.inf)
    np.testing.assert_array_equal(tg.nn.max_pool(x, window, **params).numpy(), expected)


@given(pools(dilated=False))
def test_the_mean_of_each_window(case: Any) -> None:
    x, window, params = case
    pairs = [(p, p) for p in params["padding"]]
    expected = reference.pooled(x, window, params["stride"], pairs, (1,) * len(window), np.mean, 0.0)
    np.testing.assert_allclose(tg.nn.avg_pool(x, window, **params).numpy(), expected, atol=1e-12)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(pools(dilated=True), st.booleans())
def test_max_pooling_is_that_of_torch_ties_included(case: Any, ceil_mode: bool) -> None:
    x, window, params = case
    assume(x.size)
    y, g = gradient(lambda x: tg.nn.max_pool(x, window, ceil_mode=ceil_mode, **params), x)
    z, expected = of_torch("max_pool", x, window, ceil_mode=ceil_mode, **params)
    np.testing.assert_array_equal(y, z)
    np.testing.assert_allclose(g, expected, atol=1e-12)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(pools(dilated=False), st.booleans(), st.booleans())
def test_average_pooling_is_that_of_torch(case: Any, ceil_mode: bool, count_include_pad: bool) -> None:
    x, window, params = case
    assume(x.size)
    words = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, **params}
    y, g = gradient(lambda x: tg.nn.avg_pool(x, window, **words), x)
    z, expected = of_torch("avg_pool", x, window, **words)
    np.testing.assert_allclose(y, z, atol=1e-12)
    np.testing.assert_allclose(g, expected, atol=1e-12)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 4)), min_size=1, max_size=3), st.sampled_from(["avg", "max"]))
def test_adaptive_pooling_is_that_of_torch(axes: Any, kind: str) -> None:
    size = tuple(k for _, k in axes)
    x = np.random.default_rng(0).standard_normal((2, *(n for n, _ in axes), 2))
    name = f"adaptive_{kind}_pool"
    y, g = gradient(lambda x: getattr(tg.nn, name)(x, size), x)
    z, expected = of_torch(name, x, size)
    np.testing.assert_allclose(y, z, atol=1e-12)
    np.testing.assert_allclose(g, expected, atol=1e-12)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(pools(dilated=True))
def test_places_of_the_largest_are_those_of_torch(case: Any) -> None:
    import torch

    x, window, params = case
    assume(x.size)
    y, at = tg.nn.max_pool_with_indices(x, window, **params)
    f = getattr(torch.nn.functional, f"max_pool{x.ndim - 2}d")
    z, expected = f(torch.tensor(np.moveaxis(x, -1, 1).copy()), window, return_indices=True, **params)
    np.testing.assert_array_equal(y.numpy(), np.moveaxis(z.numpy(), 1, -1))
    np.testing.assert_array_equal(at.numpy(), np.moveaxis(expected.numpy(), 1, -1))


def test_of_equal_elements_the_first_learns_at_second_order_too() -> None:
    x = tg.asarray(np.array([1.0, 2.0, 2.0, 2.0]).reshape(1, 4, 1))
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.sum(tg.nn.max_pool1d(x, 2) ** 3)
        (g,) = inner.gradient(y, [x])
        total = tg.sum(g * g)
    assert g.numpy().ravel().tolist() == [0, 12, 12, 0]
    assert outer.gradient(total, x).numpy().ravel().tolist() == [0, 288, 288, 0]


def test_nan_is_larger_than_all_numbers_and_has_the_derivative() -> None:
    y, g = gradient(lambda x: tg.nn.max_pool1d(x, 2), np.array([1.0, np.nan, 3.0, 2.0]).reshape(1, 4, 1))
    np.testing.assert_array_equal(y.ravel(), [np.nan, 3])
    np.testing.assert_allclose(g.ravel(), [0, 1, np.cos(1), 0])


def test_padding_is_never_the_largest_even_of_minus_infinity() -> None:
    x = np.full((1, 2, 1), -np.inf)
    y, g = gradient(lambda x: tg.nn.max_pool1d(x, 2, stride=1, padding=1), x)
    assert (y == -np.inf).all()
    np.testing.assert_allclose(g.ravel(), [1 + np.cos(1), np.cos(2)])


def test_an_infinite_cotangent_leaves_the_others_at_zero() -> None:
    t = tg.asarray(np.array([1.0, 2.0]).reshape(1, 2, 1))
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = tg.nn.max_pool1d(t, 2)
    g = tape.gradient(y, t, output_gradients=tg.asarray(np.full(y.shape, np.inf)))
    assert g.numpy().ravel().tolist() == [0, np.inf]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "uint8"])
def test_other_dtypes(dtype: str) -> None:
    x = np.arange(8).reshape(1, 8, 1).astype(dtype)
    y = tg.nn.max_pool1d(x, 2, padding=1)
    assert y.dtype == dtype
    assert y.numpy().ravel().tolist() == [0, 2, 4, 6, 7]


def test_a_window_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="no larger than the padded input"):
        tg.nn.max_pool2d(np.ones((1, 2, 5, 1)), 3)
