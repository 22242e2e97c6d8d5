"""Loss scaling: what it does to gradients, when it grows and shrinks, in compiled functions."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError

BACKENDS = ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))]


def gradient(scale: tg.LossScale | None, backend: str, x: float) -> tg.Tensor:
    """The gradient of the mean of squares in float16, with a loss scale or without one."""
    w = tg.asarray(np.asarray([x, 2 * x], np.float32), backend=backend)
    with tg.GradientTape() as tape:
        tape.watch(w)
        half = tg.astype(w, tg.float16)
        loss = tg.mean(half * tg.asarray(1e-4, dtype=tg.float16, backend=backend))
        loss = loss * tg.asarray(1e-4, dtype=tg.float16, backend=backend)
        target = loss if scale is None else scale.scale(loss)
    found = tape.gradient(target, w)
    return found if scale is None else scale.unscale(found)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_would_be_lost_is_kept(backend: str) -> None:
    assert gradient(None, backend, 1.5).numpy()[0] == 0
    found = gradient(tg.LossScale(2.0**14, backend=backend), backend, 1.5)
    assert found.dtype == tg.float32
    np.testing.assert_allclose(found.numpy(), [0.5e-8, 0.5e-8], rtol=1e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_shrinks_where_a_gradient_overflows_and_grows_after_good_steps(backend: str) -> None:
    scale = tg.LossScale(64.0, interval=2, backend=backend)
    good, bad = tg.asarray([0.5], backend=backend), tg.asarray([np.inf], backend=backend)
    steps = (good, bad, good, good, good, tg.asarray([np.nan], backend=backend))
    seen = [(bool(scale.update({"w": [g, None]})), float(scale.value.numpy())) for g in steps]
    assert seen == [(True, 64), (False, 32), (True, 32), (True, 64), (True, 64), (False, 32)]


def test_a_fixed_one_stays_and_still_tells() -> None:
    scale = tg.LossScale(8.0, dynamic=False)
    assert not scale.update([tg.asarray([np.nan])])
    assert scale.value.item() == 8


def test_it_ends_neither_in_infinity_nor_in_zero() -> None:
    scale = tg.LossScale(2.0**127, interval=1)
    scale.update(tg.asarray([0.5]))
    assert scale.value.item() == 2.0**127
    scale = tg.LossScale(2.0**-149)
    scale.update(tg.asarray([np.inf]))
    assert scale.value.item() == 2.0**-149


def test_structures_none_and_sparse_gradients() -> None:
    scale = tg.LossScale(4.0)
    sparse = tg.SparseRows([1], np.asarray([[8.0, 4.0]], np.float16), (3, 2))
    found = scale.unscale({"a": None, "b": (tg.asarray([2.0]), sparse)})
    assert found["a"] is None
    assert found["b"][0].item() == 0.5
    np.testing.assert_array_equal(found["b"][1].to_dense().numpy(), [[0, 0], [2, 1], [0, 0]])
    assert found["b"][1].dtype == tg.float32
    assert scale.update(found)


@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize("jit", [False, True])
def test_a_compiled_step_skips_and_adapts(jit: bool) -> None:
    w = tg.Variable(tg.asarray([1.5, 2.5], backend="tensorflow"))
    scale = tg.LossScale(2.0**12, backend="tensorflow")

    @tg.function(jit_compile=jit)
    def step(x: tg.Tensor) -> tg.Tensor:
        with tg.GradientTape() as tape:
            y = tg.sum(tg.astype(w, tg.float16) * tg.astype(x, tg.float16))
            scaled = scale.scale(y)
        g = scale.unscale(tape.gradient(scaled, w))
        ok = scale.update(g)
        w.assign(tg.where(ok, w - 0.5 * g, w))
        return ok

    assert bool(step(tg.asarray([1.0, 2.0], backend="tensorflow")))
    np.testing.assert_array_equal(w.numpy(), [1.0, 1.5])
    assert not step(tg.asarray([100.0, 2.0], backend="tensorflow"))
    np.testing.assert_array_equal(w.numpy(), [1.0, 1.5])
    assert scale.value.item() == 2.0**11


@pytest.mark.parametrize(
    ("words", "match"),
    [({"initial": 0.0}, "positive"), ({"initial": np.inf}, "positive"), ({"factor": 1.0}, "factor > 1"), ({"interval": 0}, "interval")],
)
def test_what_makes_no_sense_is_refused(words: dict[str, float], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        tg.LossScale(**words)
