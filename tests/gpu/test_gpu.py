"""On a GPU: `pytest -m gpu`.  Skipped, with the reason, where TensorFlow sees none."""

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.gpu

tf = pytest.importorskip("tensorflow")


@pytest.fixture(autouse=True)
def gpu() -> str:
    if not tf.config.list_logical_devices("GPU"):
        pytest.skip("TensorFlow sees no GPU on this machine")
    return "GPU:0"


def step(device: str, jit: bool | None) -> list[tg.Tensor]:
    """Two training steps of a small network: the loss, and the parameters after it."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((16, 8, 8, 3), (3, 3, 3, 4), (4,), (256, 5), (5,))]
    with tg.device(device):
        x, kernel, bias, w, b = map(tg.asarray, arrays)
        labels = tg.asarray(rng.integers(0, 5, 16))
        params = [tg.Variable(v) for v in (kernel, bias, w, b)]

    def run(x: tg.Tensor, labels: tg.Tensor) -> tg.Tensor:
        kernel, bias, w, b = params
        with tg.GradientTape() as tape:
            y = tg.nn.relu(tg.nn.conv2d(x, kernel, padding=1) + bias)
            loss = tg.nn.cross_entropy(tg.nn.linear(tg.reshape(y, (16, 256)), w, b), labels)
        for v, g in zip(params, tape.gradient(loss, params), strict=True):
            assert g.device == x.device
            v.assign_sub(0.01 * g)
        return loss

    made = run if jit is None else tg.function(run, jit_compile=jit)
    return [made(x, labels), made(x, labels), *params]


@pytest.mark.parametrize("jit", [None, False, True], ids=["eager", "function", "xla"])
def test_a_training_step_gives_what_the_cpu_gives_and_stays_on_the_gpu(gpu: str, jit: bool | None) -> None:
    found, expected = step(gpu, jit), step("cpu", None)
    for x, y in zip(found, expected, strict=True):
        assert x.device == gpu
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=2e-3, atol=2e-4)


def test_new_arrays_constants_and_seeds_are_on_the_gpu(gpu: str) -> None:
    x = tg.asarray([0.5, 1.5], device=gpu)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(tg.where(x > 1, 2.0 * x, np.asarray([3.5, 4.5], np.float32)))
    assert (y.device, tape.gradient(y, x).device, tg.zeros_like(x).device) == (gpu, gpu, gpu)


def test_moving_there_and_back_is_recorded(gpu: str) -> None:
    x = tg.asarray([0.5, 1.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(x.to(gpu) ** 2).to("cpu")
    assert tape.gradient(y, x).device == "cpu"


def test_second_derivatives_stay_there(gpu: str) -> None:
    x = tg.asarray([0.5, 1.5], device=gpu)
    h = tg.hessian(lambda x: tg.sum(tg.tanh(x) ** 3))(x)
    assert h.device == gpu
