"""Convolutions whose padding TensorFlow does by itself give what NumPy's kernels give, and so do those next to them."""

import itertools

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("tensorflow")


def values_and_gradients(backend: str, rank: int, size: int, k: int, stride: int, padding: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x, w = (tg.asarray(rng.normal(size=s).astype(np.float32), backend=backend) for s in ((2, *(size,) * rank, 2), (*(k,) * rank, 2, 3)))
    with tg.GradientTape() as tape:
        tape.watch([x, w])
        y = tg.nn.conv(x, w, stride=stride, padding=[padding] * rank)
        loss = tg.sum(y * tg.cos(y))
    return [np.asarray(t.numpy()) for t in (y, *tape.gradient(loss, [x, w]))]


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_on_both_kernel_sets(rank: int, stride: int) -> None:
    from tapegrad.kernels.tensorflow_conv import _words

    done = set()
    for size, k, lo, hi in itertools.product((5, 6), (1, 2, 3), (0, 1), (0, 1, 2)):
        if size + lo + hi < k:
            continue
        done.add(_words((stride,), ((lo, hi),), (size,), (k,))[0]["padding"])
        found = values_and_gradients("tensorflow", rank, size, k, stride, (lo, hi))
        for a, b in zip(found, values_and_gradients("numpy", rank, size, k, stride, (lo, hi)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=f"{size} {k} {stride} {lo} {hi}")
    assert done == {"SAME", "VALID"}
