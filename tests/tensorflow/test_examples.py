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
