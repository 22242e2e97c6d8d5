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


def trained(dtype: str, how: str) -> tuple[float, float, float]:
    """A convolutional network whose weights are float32 and whose arithmetic is not: its first loss, its last, the loss scale."""
    rng = np.random.default_rng(1)

    def there(x: Any) -> Any:
        return tg.asarray(x, backend="tensorflow")

    shapes = (((3, 3, 3, 8), 0.2, 0.0), ((8,), 0.0, 1.0), ((8,), 0.0, 0.0), ((128, 5), 0.1, 0.0), ((5,), 0.0, 0.0))
    weights = [tg.Variable(there((mean + s * rng.normal(size=shape)).astype(np.float32))) for shape, s, mean in shapes]
    scale = tg.LossScale(2.0**15, backend="tensorflow", interval=5)
    images, labels = there(rng.normal(size=(32, 8, 8, 3)).astype(np.float32)), there(rng.integers(0, 5, 32))

    def step(images: Any, labels: Any) -> Any:
        with tg.GradientTape() as tape:
            kernel, gain, bias, w, b = (tg.astype(v, dtype) for v in weights)
            y = tg.nn.layer_norm(tg.nn.conv2d(tg.astype(images, dtype), kernel, padding=1), axis=-1) * gain + bias
            y = tg.nn.max_pool(tg.nn.gelu(y), 2)
            loss = tg.nn.cross_entropy(tg.nn.linear(tg.reshape(y, (32, 128)), w, b), labels)
            scaled = scale.scale(loss)
        assert str(loss.dtype) == dtype
        gradients = scale.unscale(tape.gradient(scaled, weights))
        good = scale.update(gradients)
        for v, g in zip(weights, gradients, strict=True):
            assert g.dtype == tg.float32
            v.assign(tg.where(good, v - 0.2 * g, v))
        return loss

    run = step if how == "eager" else tg.function(step, jit_compile=how == "xla")
    losses = [float(run(images, labels)) for _ in range(12)]
    return losses[0], losses[-1], float(scale.value)


@pytest.mark.parametrize("how", ["eager", "compiled", "xla"])
def test_a_network_learns_in_half_precision_what_it_learns_in_single(how: str) -> None:
    first, last, _ = trained("float32", how)
    for dtype in ("bfloat16", "float16"):
        begun, ended, scale = trained(dtype, how)
        np.testing.assert_allclose(begun, first, rtol=0.01)
        if dtype == "bfloat16":
            np.testing.assert_allclose(ended, last, rtol=0.05)
            assert scale == 2.0**17  # which has grown twice
        else:  # its numbers end at 65504: steps in which gradients pass that are left out, and the scale shrinks
            assert last <= ended < 0.6 * first
            assert scale in (2.0**14, 2.0**15, 2.0**16)
