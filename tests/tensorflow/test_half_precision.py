"""Half precision on TensorFlow's kernels: what is summed is summed in float32, forward and backward, however long the sum is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

RNG = np.random.default_rng(3)
LONG = 100_000
#: Numbers of one sign, so that a sum in half precision would stop growing (at 2,048 steps of 1 for float16, 256 for bfloat16).
ONES = 1 + 0.25 * RNG.random(LONG)
ROW, COLUMN = 1 + RNG.random((2, 30_000)), (1 + RNG.random((30_000, 3))) / 30_000
IMAGES, KERNEL = RNG.random((2, 9, 9, 512)), RNG.random((3, 3, 512, 4)) / 4608
SMALL = ONES / LONG
LOSSES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (tg.sum, (SMALL,)),
    "sum of one axis": (lambda x: tg.sum(tg.reshape(x, (4, -1)), axis=1), (SMALL,)),
    "mean": (tg.mean, (ONES,)),
    "variance": (tg.var, (4 * RNG.random(LONG),)),
    "standard deviation": (tg.std, (4 * RNG.random(LONG),)),
    "norm": (tg.linalg.vector_norm, (SMALL,)),
    "norm of order 1": (lambda x: tg.linalg.vector_norm(x, ord=1), (SMALL,)),
    "norm of order 3": (lambda x: tg.linalg.vector_norm(x, ord=3), (SMALL,)),
    "prod": (tg.prod, (1 + (RNG.random(LONG) - 0.5) / 512,)),
    "cumulative sum": (lambda x: tg.cumulative_sum(x)[-1], (SMALL,)),
    "logsumexp": (tg.logsumexp, (ONES,)),
    "softmax": (lambda x: 4096.0 * tg.softmax(x[:4096]), (ONES,)),
    "log_softmax": (tg.log_softmax, (ONES,)),
    "softmax of the first axis": (lambda x: 4096.0 * tg.softmax(tg.reshape(x[:4096], (-1, 1)), axis=0), (ONES,)),
    "matmul": (lambda x, w: x @ w, (ROW, COLUMN)),
    "matmul of batches": (lambda x, w: tg.stack([x, x]) @ w, (ROW, COLUMN)),
    "vector product": (lambda x, w: x[0] @ w[:, 0], (ROW, COLUMN)),
    "vecdot": (lambda x, w: tg.vecdot(x[0], w[:, 0]), (ROW, COLUMN)),
    "einsum": (lambda x, w: tg.einsum("ij,jk->ik", x, w), (ROW, COLUMN)),
    "linear": (lambda x, w: tg.nn.linear(x, w, w[0]), (ROW, COLUMN)),
    "bias of many rows": (lambda b: tg.broadcast_to(b, (LONG, 2)), (RNG.random(2),)),
    "conv": (tg.nn.conv, (IMAGES, KERNEL)),
    "layer norm": (lambda x: tg.nn.layer_norm(tg.reshape(x, (1, -1)), axis=1), (4 * RNG.random(LONG),)),
    "batch norm": (lambda x: tg.nn.batch_norm(tg.reshape(x, (-1, 2))), (4 * RNG.random(LONG),)),
    "average pool": (lambda x: tg.nn.avg_pool(tg.reshape(x[:90_000], (1, 300, 300, 1)), 300), (ONES,)),
    "cross entropy": (lambda x: tg.nn.cross_entropy(tg.reshape(x, (-1, 4)), tg.asarray(np.zeros(LONG // 4, np.int64))), (ONES,)),
}

#: Rounding of a result that a derivative is computed from: exp(y) has that of y = -11.5 times y.
ROUNDINGS = {"log_softmax": 16}


def rounded(x: Any, dtype: str) -> Any:
    """What the numbers are in half precision."""
    return np.asarray(tg.asarray(x, dtype=dtype).numpy(), np.float64)


def derived(what: str, xs: tuple[Any, ...], half: str, dtype: str, backend: str) -> list[Any]:
    """The value, and the cotangents that it gets of numbers that `half` can hold."""
    loss, _ = LOSSES[what]
    tensors = [tg.asarray(rounded(x, half), dtype=dtype, backend=backend) for x in xs]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        y = loss(*tensors)
    g = np.cos(np.arange(y.size) / 7).reshape(y.shape) / y.size + 1 / max(y.size, 64)
    given = tg.asarray(rounded(g, half), dtype=dtype, backend=backend)
    return [np.asarray(v.numpy(), np.float64) for v in (y, *tape.gradient(y, tensors, output_gradients=given))]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("what", LOSSES)
def test_long_sums_are_as_exact_as_their_result_can_be(what: str, dtype: str) -> None:
    _, xs = LOSSES[what]
    found, exact = derived(what, xs, dtype, dtype, "tensorflow"), derived(what, xs, dtype, "float64", "numpy")
    eps = float(tg.finfo(tg.zeros(0, dtype=dtype).dtype).eps)
    for name, a, b in zip(("value", "cotangent", "second cotangent"), found, exact, strict=False):
        assert a.shape == b.shape
        off = np.abs(a - b).max() / np.abs(b).max()
        assert off <= ROUNDINGS.get(what, 4) * eps, f"{name}: off by {off / eps:.1f} roundings"
