"""What NumPy's functions on tensors are given besides arrays: `out`, `where`, and arguments that have no counterpart."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DetachedError, ShapeError

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 0.9, (3, 4))
W = RNG.uniform(0.2, 0.9, (3, 4))


def test_a_constant_argument_that_is_recorded_is_refused() -> None:
    q = tg.asarray(0.5)
    with tg.GradientTape() as tape:
        tape.watch(q)
        with pytest.raises(DetachedError, match=r"quantile\(x, q\) has no derivative"):
            np.quantile(tg.asarray(X), q)
    with pytest.raises(ArgumentError, match="expected one of 'linear', 'lower'"):
        np.quantile(tg.asarray(X), 0.5, method="hazen")


def test_an_argument_without_a_counterpart_is_refused() -> None:
    x = tg.asarray(X)
    with pytest.raises(ArgumentError, match=r"np.nanstd\(where=...\): tapegrad does not have this argument"):
        np.nanstd(x, where=X > 0.5)
    with pytest.raises(ArgumentError, match=r"np.hypot.reduce: tapegrad does not have this argument"):
        np.hypot.reduce(x, where=X > 0.5)


def test_usual_values_of_such_arguments_are_taken() -> None:
    x = tg.asarray(X)
    assert np.reshape(x, (4, 3), order="C").shape == (4, 3)
    assert np.sum(x, where=True, initial=None).shape == ()


def test_out_rebinds_a_tensor_with_its_history() -> None:
    x, out = tg.asarray(X), tg.zeros((3, 4), dtype=tg.float64)
    with tg.GradientTape() as tape:
        tape.watch(x)
        found = np.multiply(x, W, out=out)
        loss = tg.sum(out)
    assert found is out
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), W)


def test_where_and_out_keep_what_is_not_computed() -> None:
    x, out = tg.asarray(X), tg.asarray(W)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([x, out])
        start = +out
        out2 = +out
        np.multiply(x, 3.0, out=out2, where=X > 0.5)
        loss = tg.sum(out2 * out2)
    np.testing.assert_allclose(out2.numpy(), np.where(X > 0.5, 3 * X, W))
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), np.where(X > 0.5, 18 * X, 0))
    np.testing.assert_allclose(tape.gradient(loss, out).numpy(), np.where(X > 0.5, 0, 2 * W))
    assert tape.gradient(loss, start) is None
    with pytest.raises(ArgumentError, match="without out, what is not computed has no value"):
        np.multiply(x, 3.0, where=X > 0.5)


def test_an_array_does_not_swallow_a_recorded_tensor() -> None:
    x, a = tg.asarray(X), W.copy()
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(DetachedError, match="cannot keep the derivative"):
            a += x
        with pytest.raises(DetachedError, match="lose its derivative"):
            a[0] = x[0]
        with pytest.raises(DetachedError, match="lose its derivative"):
            np.asarray(x)
    np.testing.assert_array_equal(a, W)
    a += x
    np.testing.assert_allclose(a, W + X)


def test_out_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected out of shape \(3, 4\), got \(3,\)"):
        np.sin(tg.asarray(X), out=tg.zeros(3, dtype=tg.float64))
