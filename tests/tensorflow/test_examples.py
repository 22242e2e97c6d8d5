"""Examples of what was once wrong on TensorFlow's kernels."""

import numpy as np
import pytest

import tapegrad as tg


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_a_row_of_one_element_has_a_softmax_of_exactly_one_and_the_derivative_zero(dtype: str) -> None:
    z = np.exp(1j * np.arange(64.0)).reshape(64, 1)
    rows = np.asarray(z if dtype[0] == "c" else z.real, dtype)
    x = tg.asarray(rows, backend="tensorflow")
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.softmax(x)
    np.testing.assert_array_equal(y.numpy(), 1)
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=tg.asarray(rows)).numpy(), 0)


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((3, 3), (2, ..., [0, 2, 1, 1])),
        ((3, 3), ([0, 1], ..., [2, 0])),
        ((3, 3), (None, 2, ..., [0, 1])),
        ((2, 3, 3), (slice(None), 2, ..., [1, 0, 2])),
        ((2, 3, 3), (slice(None), ..., 2, [1, 0, 2])),
    ],
)
def test_an_ellipsis_that_stands_for_no_axis_keeps_arrays_apart_all_the_same(shape: tuple[int, ...], index: tuple[object, ...]) -> None:
    x = np.arange(np.prod(shape) / 1.0).reshape(shape)
    at = tuple(np.asarray(i) if isinstance(i, list) else i for i in index)
    np.testing.assert_array_equal(tg.asarray(x, backend="tensorflow")[at].numpy(), x[at])
