"""Arguments that a function does not have: the error says what to write."""

from typing import Any

import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError

x = tg.asarray([1.5, -0.5])


def f(x: Any) -> Any:
    return tg.sum(x * x)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tg.vmap(f, in_dims=0), "there is no 'in_dims' here; write in_axes=..."),
        (lambda: tg.vmap(f, x), r"vmap\(f, in_axes=...\): .* got Tensor; vmap\(f\) gives a function: write vmap\(f\)\(x\)$"),
        (lambda: tg.grad(f, argnum=0), r"grad\(f, argnums, has_aux\): there is no 'argnum' here; write argnums=..."),
        (lambda: tg.grad(f, x), r"got Tensor; grad\(f\) gives a function: write grad\(f\)\(x\)$"),
        (lambda: tg.hessian(f, x.numpy()), r"got ndarray; hessian\(f\) gives a function: write hessian\(f\)\(x\)$"),
        (lambda: tg.jacobian(f, "x"), "expected an integer or a tuple of integers, got 'x'$"),
        (lambda: tg.checkpoint(f, x), r"checkpoint\(f\): got 2 arguments by position; write checkpoint\(f\)\(x, ...\)$"),
        (lambda: tg.grad(f, 0, True), r"write grad\(f\)\(x, ...\), and has_aux by keyword$"),
        (lambda: tg.hvp(f, x, x, x), r"got 4 arguments by position; write hvp\(f, \(x,\), \(t,\)\)$"),
        (lambda: tg.jvp(f, (x,), (x,), strict=True), "there is no 'strict' here$"),
    ],
)
def test_a_call_that_does_not_fit_says_what_to_write(call: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        call()


def test_an_argument_that_is_missing_is_named_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'tangents'"):
        tg.hvp(f, (x,))


def test_an_error_of_the_function_itself_stays_as_it_is() -> None:
    def wrong(x: Any) -> Any:
        return f(x, in_dims=0)

    with pytest.raises(TypeError, match="unexpected keyword argument 'in_dims'"):
        tg.jvp(wrong, (x,), (x,))


def test_random_numbers_take_their_shape_as_one_tuple_and_the_rest_by_keyword() -> None:
    text = r"normal\(shape, mean, std, dtype\): got 2 arguments by position; write shape as one tuple, and mean, std, dtype by keyword"
    with pytest.raises(ArgumentError, match=text):
        tg.random.normal(2, 3)
    with pytest.raises(ArgumentError, match=text):
        tg.random.Generator(0).normal(2, 3)
    with pytest.raises(ArgumentError, match=r"uniform\(shape, low, high, dtype\): there is no 'size' here; write shape=..."):
        tg.random.uniform(size=(2,))


def test_a_seed_of_one_call_is_that_of_a_generator() -> None:
    text = r"normal\(.*\): there is no 'seed' here; write tapegrad.random.Generator\(seed\).normal\(...\), or"
    with pytest.raises(ArgumentError, match=text):
        tg.random.normal((2,), seed=1)


@pytest.mark.parametrize("p", [(2,), [0.5], "0.5", x])
def test_a_probability_comes_before_the_shape(p: Any) -> None:
    with pytest.raises(ArgumentError, match=r"expected one number for p, got \w+; write bernoulli\(p, shape\)"):
        tg.random.bernoulli(p, 0.5)


def test_a_range_has_a_step() -> None:
    with pytest.raises(ArgumentError, match=r"arange\(start, stop, step\): expected step != 0, got 0"):
        tg.arange(0, 1, 0)


def test_no_grad_without_parentheses_is_refused() -> None:
    with pytest.raises(ArgumentError, match="as a decorator it has parentheses"):
        tg.no_grad(f)


image, kernel = tg.ones((1, 4, 4, 1)), tg.ones((2, 2, 1, 1))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tg.nn.conv(image, kernel, strides=2), "there is no 'strides' here; write stride=..."),
        (lambda: tg.nn.conv2d(image, kernel, data_format="NHWC"), "there is no 'data_format' here; write layout=..."),
        (lambda: tg.nn.conv(image, kernel, 2), "got 3 arguments by position; write stride, padding, dilation, groups, layout by keyword"),
        (lambda: tg.nn.max_pool(image, kernel_size=2), "there is no 'kernel_size' here; write window=..."),
        (lambda: tg.nn.avg_pool2d(image, 2, strides=2), "there is no 'strides' here; write stride=..."),
        (lambda: tg.nn.interpolate(image, scale_factor=2), "there is no 'scale_factor' here; write scale=..."),
        (lambda: tg.nn.dropout(x, p=0.5), "there is no 'p' here; write rate=..."),
        (lambda: tg.nn.dropout(x, 0.5), "got 2 arguments by position; write rate, training, generator, shape by keyword"),
        (lambda: tg.nn.layer_norm(x, eps=1e-3), "there is no 'eps' here; write epsilon=0.001"),
        (lambda: tg.linalg.vector_norm(x, 1), "1 is one argument too many; write ord=1"),
        (lambda: tg.fft.fft(x, 8), "8 is one argument too many; write n=8"),
    ],
)
def test_names_of_parameters_that_others_have_are_told(call: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        call()
