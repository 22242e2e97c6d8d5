"""Pooling over windows that lie side by side, which TensorFlow's kernels take apart: as on NumPy, ties and NaN included."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]

POOLS = {
    "max, 2 axes": (lambda x: tg.nn.max_pool2d(x, 2), (2, 6, 8, 3)),
    "max, 3x2": (lambda x: tg.nn.max_pool2d(x, (3, 2)), (2, 6, 8, 3)),
    "max, 1x2": (lambda x: tg.nn.max_pool2d(x, (1, 2)), (2, 3, 8, 2)),
    "max, a rest": (lambda x: tg.nn.max_pool2d(x, 2), (2, 7, 9, 3)),
    "max, 1 axis": (lambda x: tg.nn.max_pool1d(x, 4), (3, 8, 2)),
    "max, 3 axes": (lambda x: tg.nn.max_pool3d(x, 2), (1, 4, 2, 4, 2)),
    "mean": (lambda x: tg.nn.avg_pool2d(x, 2), (2, 6, 8, 3)),
}


def results(pool: Any, values: np.ndarray, backend: str) -> list[np.ndarray]:
    x = tg.asarray(values, backend=backend)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = pool(x)
        first = tape.gradient(y, x, output_gradients=tg.cos(tg.reshape(tg.arange(y.size, dtype=y.dtype), y.shape)))
        total = tg.sum(first * x)
    with tg.ForwardAccumulator(x, tg.sin(x)) as forward:
        tangent = forward.jvp(pool(x))
    return [v.numpy() for v in (y, first, outer.gradient(total, x), tangent)]


@pytest.mark.parametrize("kind", ["floats", "ties", "NaN", "infinities"])
@pytest.mark.parametrize("name", POOLS)
def test_values_and_derivatives_are_those_of_numpy(name: str, kind: str) -> None:
    pool, shape = POOLS[name]
    rng = np.random.default_rng(3)
    x = rng.integers(0, 3, shape).astype(np.float32) if kind == "ties" else rng.normal(size=shape).astype(np.float32)
    if kind == "NaN":
        x[rng.random(shape) < 0.2] = np.nan
    if kind == "infinities":
        x[rng.random(shape) < 0.2] = np.inf
        x[rng.random(shape) < 0.2] = -np.inf
    for a, b in zip(results(pool, x, "tensorflow"), results(pool, x, "numpy"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "xla"])
def test_compiled_for_any_number_of_images(jit: bool) -> None:
    f = tg.function(tg.grad(lambda x: tg.sum(tg.nn.max_pool2d(x, 2) ** 2)), jit_compile=jit)
    for n in (2, 3, 5):
        x = np.random.default_rng(n).normal(size=(n, 4, 6, 2)).astype(np.float32)
        np.testing.assert_allclose(f(x).numpy(), f.python_function(tg.asarray(x)).numpy(), rtol=1e-6)
    assert f.trace_count == 2
