"""Powers of arrays on NumPy's kernels."""

import time

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.kernels import numpy_powers

POWERS = [3, 3.0, 4, 5, 7.0, -2, -3, -5.0, 101, 1e20, -1e20, 2.0**53 + 2, 0, 1, 2, -1, 0.5, float("inf"), -float("inf"), float("nan")]
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, np.inf, -np.inf, np.nan, 1e-30, -1e30]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", POWERS)
def test_powers_are_those_of_numpy(p, dtype):
    x = np.asarray(EDGES, dtype)
    with np.errstate(all="ignore"):
        mine, theirs = numpy_powers.pow(x, p), np.pow(x, p)
    assert mine.dtype == theirs.dtype
    assert np.array_equal(np.signbit(mine), np.signbit(theirs))
    np.testing.assert_allclose(mine, theirs, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("p", [3, 4.0, 5, -3])
def test_numbers_below_zero_take_no_longer_than_those_above(p):
    x = tg.asarray(np.linspace(0.5, 2, 100_000, dtype=np.float32))

    def seconds(x):
        def once():
            start = time.perf_counter()
            with tg.GradientTape() as tape:
                tape.watch(x)
                y = x**p
            tape.gradient(y, x)
            return time.perf_counter() - start

        return min(once() for _ in range(7))

    assert seconds(-x) < 10 * seconds(x)  # of NumPy's own powers 100 to 500 times as long


def test_a_complex_number_before_a_real_tensor_of_any_rank() -> None:
    for value in (2.0, [1.0, 2.0]):
        x = tg.asarray(np.asarray(value))
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            found = [1j * x, 1j - x, 2j / x, 1j + x, (1 + 2j) ** x]
        assert {y.dtype for y in found} == {tg.complex128}
        slopes = [1j, -1, -2j / np.asarray(value) ** 2, 1, (1 + 2j) ** np.asarray(value) * np.log(1 + 2j)]
        for y, slope in zip(found, slopes, strict=True):
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.broadcast_to(np.real(slope), x.shape), rtol=1e-13, atol=1e-15)
            back = tape.gradient(y, x, output_gradients=1j * tg.ones_like(y))
            np.testing.assert_allclose(back.numpy(), np.broadcast_to(np.imag(slope), x.shape), rtol=1e-13, atol=1e-15)
