from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.errors import TapegradError
from tapegrad.kernels import numpy_conv as kernels
from tests.nn import reference


@st.composite
def convolutions(draw: Any, rank: int | None = None) -> Any:
    """An image, a kernel, and parameters that fit them."""
    rank = draw(st.integers(1, 3)) if rank is None else rank
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(rank))  # noqa: E731
    window, stride, dilation, padding = each(1, 3), each(1, 3), each(1, 2), each(0, 2)
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inner, outer = draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    extra = each(0, 3)
    size = tuple(max(d * (k - 1) + 1 + e - 2 * p, 1) for k, d, e, p in zip(window, dilation, extra, padding, strict=True))
    x = rng.standard_normal((draw(st.integers(0, 3)), *size, inner * groups))
    kernel = rng.standard_normal((*window, inner, outer))
    return x, kernel, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def gradients(f: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    tensors = [tg.asarray(a) for a in arrays]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    g = np.cos(np.arange(y.size)).reshape(y.shape)
    return y.numpy(), [c.numpy() for c in tape.gradient(y, tensors, output_gradients=tg.asarray(g))]


@given(convolutions())
def test_a_convolution_is_a_sum_of_products_over_windows(case: Any) -> None:
    x, kernel, params = case
    pairs = [(p, p) for p in params["padding"]]
    expected = reference.conv(x, kernel, params["stride"], pairs, params["dilation"], params["groups"])
    np.testing.assert_allclose(tg.nn.conv(x, kernel, **params).numpy(), expected, atol=1e-12)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(convolutions())
def test_values_and_gradients_are_those_of_torch(case: Any) -> None:
    import torch

    x, kernel, params = case
    rank = x.ndim - 2
    y, (gx, gk) = gradients(lambda x, k: tg.nn.conv(x, k, **params), x, kernel)
    first, last = (0, rank + 1, *range(1, rank + 1)), (0, *range(2, rank + 2), 1)
    a = torch.tensor(x.transpose(first).copy(), requires_grad=True)
    order = (rank + 1, rank, *range(rank))
    b = torch.tensor(kernel.transpose(order).copy(), requires_grad=True)
    z = getattr(torch.nn.functional, f"conv{rank}d")(a, b, **params)
    np.testing.assert_allclose(y, z.detach().numpy().transpose(last), atol=1e-10)
    z.backward(torch.tensor(np.cos(np.arange(y.size)).reshape(y.shape).transpose(first).copy()))
    np.testing.assert_allclose(gx, a.grad.numpy().transpose(last), atol=1e-10)
    np.testing.assert_allclose(gk, b.grad.numpy().transpose(*range(2, rank + 2), 1, 0), atol=1e-10)


@pytest.mark.interop("torch")
@settings(max_examples=40)
@given(convolutions(), st.data())
def test_the_transpose_is_that_of_torch(case: Any, data: Any) -> None:
    import torch

    image, kernel, params = case
    rank = kernel.ndim - 2
    x = np.random.default_rng(0).standard_normal((2, *image.shape[1:-1], kernel.shape[-1]))
    most = [max(s, d) - 1 for s, d in zip(params["stride"], params["dilation"], strict=True)]
    more = tuple(data.draw(st.integers(0, m)) for m in most)
    size = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1 + m
        for n, s, p, d, k, m in zip(
            x.shape[1:-1], params["stride"], params["padding"], params["dilation"], kernel.shape[:rank], more, strict=True
        )
    ]
    assume(min(size) >= 1)  # torch has no empty images
    y, (gx, gk) = gradients(lambda x, k: tg.nn.conv_transpose(x, k, output_padding=more, **params), x, kernel)
    a = torch.tensor(np.moveaxis(x, -1, 1).copy(), requires_grad=True)
    b = torch.tensor(kernel.transpose(rank + 1, rank, *range(rank)).copy(), requires_grad=True)
    z = getattr(torch.nn.functional, f"conv_transpose{rank}d")(a, b, output_padding=more, **params)
    np.testing.assert_allclose(y, np.moveaxis(z.detach().numpy(), 1, -1), atol=1e-10)
    g = np.cos(np.arange(y.size)).reshape(y.shape)
    z.backward(torch.tensor(np.moveaxis(g, -1, 1).copy()))
    np.testing.assert_allclose(gx, np.moveaxis(a.grad.numpy(), 1, -1), atol=1e-10)
    np.testing.assert_allclose(gk, b.grad.numpy().transpose(*range(2, rank + 2), 1, 0), atol=1e-10)


@given(convolutions())
def test_the_transpose_is_the_adjoint(case: Any) -> None:
    x, kernel, params = case
    y = tg.nn.conv(x, kernel, **params)
    v = np.random.default_rng(1).standard_normal(y.shape)
    back = gradients(lambda x: tg.sum(tg.nn.conv(x, kernel, **params) * v), x)[1][0]
    assert np.vdot(y.numpy(), v) == pytest.approx(np.vdot(x, back), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("size", "stride", "expected"), [(5, 1, 5), (5, 2, 3), (6, 2, 3), (4, 3, 2)])
def test_same_padding_gives_as_many_places_as_steps(size: int, stride: int, expected: int) -> None:
    y = tg.nn.conv1d(np.ones((1, size, 1)), np.ones((3, 1, 1)), stride=stride, padding="same")
    assert y.shape == (1, expected, 1)


def test_same_padding_puts_what_is_odd_behind() -> None:
    y = tg.nn.conv1d(np.array([1.0, 2, 3]).reshape(1, 3, 1), np.array([1.0, 10]).reshape(2, 1, 1), padding="same")
    assert y.numpy().ravel().tolist() == [21, 32, 3]


def test_channels_first_is_the_same_with_axes_moved() -> None:
    x, kernel = np.random.default_rng(0).standard_normal((2, 3, 5, 4)), np.ones((2, 2, 3, 2))
    found = tg.nn.conv2d(x, kernel, layout="channels_first").numpy()
    expected = tg.nn.conv2d(np.moveaxis(x, 1, -1), kernel).numpy()
    np.testing.assert_allclose(found, np.moveaxis(expected, -1, 1), atol=1e-12)


@pytest.mark.parametrize("n", [1, 40])
def test_images_of_many_parts_are_the_same_as_one_by_one(n: int) -> None:
    rng = np.random.default_rng(0)
    x, kernel = rng.standard_normal((n, 40, 40, 3)), rng.standard_normal((3, 3, 3, 4))
    whole, (gx, gk) = gradients(lambda x, k: tg.nn.conv2d(x, k, padding=1, stride=2), x, kernel)
    single = tg.nn.conv2d(x[-1:], kernel, padding=1, stride=2).numpy()
    np.testing.assert_allclose(whole[-1:], single, atol=1e-12)
    g = np.cos(np.arange(whole.size)).reshape(whole.shape)
    assert np.vdot(whole, g) == pytest.approx(np.vdot(kernel, gk))
    assert np.vdot(whole, g) == pytest.approx(np.vdot(x, gx))


def test_half_precision_is_added_up_in_single() -> None:
    x = np.full((1, 5000, 1), 0.1, np.float16)
    y = tg.nn.conv1d(x, np.ones((5000, 1, 1), np.float16))
    assert y.dtype == np.float16
    assert y.item() == pytest.approx(500, rel=1e-3)


def test_a_batch_of_kernels_or_images_is_that_of_single_ones() -> None:
    rng = np.random.default_rng(0)
    x, kernel = rng.standard_normal((2, 5, 4)), rng.standard_normal((3, 2, 4))
    t = tg.asarray(kernel)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = tg.nn.conv(x, t, groups=2)
    rows = tape.jacobian(y, t).numpy()
    for i, index in enumerate(np.ndindex(*y.shape)):
        one = np.zeros(y.shape)
        one[index] = 1
        with tg.GradientTape() as tape:
            tape.watch(t)
            y = tg.nn.conv(x, t, groups=2)
        found = tape.gradient(y, t, output_gradients=tg.asarray(one))
        np.testing.assert_allclose(rows[index], found.numpy(), atol=1e-12, err_msg=str(i))


@pytest.mark.parametrize(
    ("x", "kernel", "params", "text"),
    [
        ((2, 5), (3, 1, 1), {}, "expected images"),
        ((2, 5, 3), (3, 1, 1), {}, r"kernel.shape\[-2\] \* groups == x.shape\[-1\]"),
        ((2, 5, 3), (3, 3), {}, "expected a kernel"),
        ((2, 2, 1), (3, 1, 1), {}, "no larger than the padded input"),
        ((2, 5, 1), (3, 1, 1), {"stride": 0}, "stride >= 1"),
        ((2, 5, 1), (3, 1, 1), {"stride": 2.0}, "stride >= 1, one or 1 integers, got 2.0"),
        ((2, 5, 1), (3, 1, 1), {"padding": ((1, 2, 3),)}, r"or a pair \(before, after\)"),
        ((2, 5, 1), (3, 1, 1), {"padding": -1}, "padding as an integer >= 0"),
        ((2, 5, 1), (3, 1, 1), {"padding": "full"}, "padding as an integer >= 0"),
        ((2, 5, 1), (3, 1, 1), {"layout": "NHWC"}, "layout is"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(x: Any, kernel: Any, params: Any, text: str) -> None:
    with pytest.raises(TapegradError, match=text):
        tg.nn.conv(np.ones(x), np.ones(kernel), **params)


@pytest.mark.parametrize("channels", [(6, 1), (1, 6), (4, 4)])
@pytest.mark.parametrize(
    ("size", "kernel", "padding", "dilation"),
    [
        ((7,), (3,), ((1, 1),), (1,)),
        ((7,), (3,), ((0, 2),), (2,)),
        ((5, 6), (3, 2), ((1, 0), (0, 1)), (1, 2)),
        ((5, 6), (1, 4), ((0, 0), (3, 1)), (1, 1)),
        ((4, 3, 5), (2, 3, 2), ((1, 0), (2, 2), (0, 1)), (1, 1, 2)),
        ((4, 5), (2, 2), ((3, 0), (0, 0)), (1, 1)),  # more around than the kernel reaches: there is no mirror image
    ],
)
def test_windows_of_either_side_give_one_result(monkeypatch, channels, size, kernel, padding, dilation):
    from tapegrad.kernels import numpy_conv

    rng = np.random.default_rng(3)
    c, o = channels
    x, k = rng.normal(size=(2, *size, c)), rng.normal(size=(*kernel, c, o))
    words = {"stride": (1,) * len(size), "padding": padding, "dilation": dilation, "groups": 1}
    g = rng.normal(size=numpy_conv.conv(x, k, **words).shape)
    found = []
    for fewer in (0.0, 1e9):  # always by the mirrored kernel where there is one, and never
        monkeypatch.setattr(numpy_conv, "_FEWER", dict.fromkeys(numpy_conv._FEWER, fewer))
        found.append(
            [
                numpy_conv.conv(x, k, **words),
                numpy_conv.conv_input_grad(g, k, size=size, **words),
                numpy_conv.conv_kernel_grad(x, g, size=kernel, **words),
            ]
        )
    for a, b in zip(*found, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    y, back, of_kernel = found[0]
    np.testing.assert_allclose(np.vdot(y, g), np.vdot(x, back))  # one number, three ways
    np.testing.assert_allclose(np.vdot(y, g), np.vdot(k, of_kernel))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("is_complex", [False, True])
def test_the_gradient_of_a_kernel_for_each_channel_is_the_sum_over_images(rank: int, is_complex: bool) -> None:
    rng = np.random.default_rng(rank)
    x = rng.standard_normal((40, *(6,) * rank, 3)) * (1 + 1j if is_complex else 1)
    kernel = rng.standard_normal((*(3,) * rank, 1, 3)) * (1 if not is_complex else 1 - 2j)
    params = {"groups": 3, "padding": 1, "stride": (2, 1, 1)[-rank:], "dilation": (1, 1, 2)[:rank]}
    convolve = getattr(tg.nn, f"conv{rank}d")
    _, (_, whole) = gradients(lambda x, k: tg.real(convolve(x, k, **params)) if is_complex else convolve(x, k, **params), x, kernel)

    def one_by_one(x: Any, k: Any) -> Any:
        y = tg.concat([convolve(x[i : i + 1], k, **params) for i in range(len(x))], axis=0)
        return tg.real(y) if is_complex else y

    _, (_, parts) = gradients(one_by_one, x, kernel)
    np.testing.assert_allclose(whole, parts, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "float16", "int64"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (3, 1, 2, 0), (1, 0, 2, 3)])
def test_windows_of_one_element_are_products_in_whatever_order_images_lie(order: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(3)

    def drawn(*shape: int) -> Any:
        made = rng.integers(-4, 5, [shape[k] for k in order]).astype(dtype)
        return made.transpose([order.index(k) for k in range(4)])

    x, g, kernel = drawn(3, 9, 8, 5), drawn(3, 9, 8, 2), rng.integers(-4, 5, (1, 1, 5, 2)).astype(dtype)
    same: Any = {"stride": (1, 1), "padding": ((0, 0),) * 2, "dilation": (1, 1), "groups": 1}
    wide = "float32" if dtype == "float16" else dtype
    a, b, w = x.astype(wide), g.astype(wide), kernel.astype(wide)
    for found, expected in (
        (kernels.conv(x, kernel, **same), np.einsum("nhwc,co->nhwo", a, w[0, 0])),
        (kernels.conv_input_grad(g, kernel, size=(9, 8), **same), np.einsum("nhwo,co->nhwc", b, w[0, 0])),
        (kernels.conv_kernel_grad(x, g, size=(1, 1), **same), np.einsum("nhwc,nhwo->co", a, b)[None, None]),
    ):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected.astype(dtype))
