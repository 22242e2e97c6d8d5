from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, ShapeError, SpentError

RNG = np.random.default_rng(3)


def by_loop(tape: tg.GradientTape, y: tg.Tensor, x: tg.Tensor) -> np.ndarray:
    """The Jacobian, one gradient for each element of the target."""
    rows = []
    for k in range(y.size):
        seed = np.zeros(y.size, y.dtype)
        seed[k] = 1
        g = tape.gradient(y, x, output_gradients=seed.reshape(y.shape), unconnected_gradients="zero")
        rows.append(g.numpy())
    return np.reshape(rows, (*y.shape, *x.shape))


PROGRAMS: dict[str, Any] = {
    "elementwise": lambda x, w: tg.tanh(x) * tg.exp(x),
    "broadcast": lambda x, w: x[:, None] * x + w[0, 0],
    "matmul": lambda x, w: w @ x,
    "reductions": lambda x, w: tg.sum(x * w, axis=1) / tg.max(x) + tg.mean(x),
    "scalar": lambda x, w: tg.sum(x * x * w),
    "shape ops": lambda x, w: tg.reshape(tg.stack([x, 2 * x]), (-1, 2)).mT,
    "slices": lambda x, w: tg.concat([x[1:], x[::-1] * x[0]]),
    "gather": lambda x, w: tg.take(x, tg.asarray([0, 0, 2])) ** 2,
    "softmax": lambda x, w: tg.nn.softmax(w @ x),
    "where": lambda x, w: tg.where(x > 0, x * x, tg.sin(x)),
    "sort": lambda x, w: tg.sort(x) * x,
    "solve": lambda x, w: tg.linalg.solve(w @ w.mT + 3 * tg.eye(3, dtype=tg.float64), x),
    "cumulative": lambda x, w: tg.cumulative_sum(x) * tg.cumulative_prod(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_jacobian_is_that_of_a_loop_over_rows(name: str) -> None:
    x, w = tg.asarray(RNG.normal(size=3)), tg.asarray(RNG.normal(size=(3, 3)))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = PROGRAMS[name](x, w)
    found = tape.jacobian(y, {"x": x, "w": w}, unconnected_gradients="zero")
    for key, source in (("x", x), ("w", w)):
        assert found[key].shape == (*y.shape, *source.shape)
        assert found[key].dtype == source.dtype
        np.testing.assert_allclose(found[key].numpy(), by_loop(tape, y, source), rtol=1e-10, atol=1e-12)


def test_shapes_are_those_of_target_and_source() -> None:
    x, s = tg.asarray(RNG.normal(size=(2, 3))), tg.asarray(np.float64(1.5))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([x, s])
        for shape in [(), (1,), (4, 1), (0,), (2, 0, 3)]:
            y = tg.ones(shape, dtype=tg.float64) * s * tg.sum(x)
            jx, js = tape.jacobian(y, [x, s])
            assert jx.shape == (*shape, 2, 3)
            assert js.shape == shape
            assert (js.numpy() == np.sum(x.numpy())).all()


def test_size_0_sources() -> None:
    x = tg.asarray(np.zeros((0, 2)))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(x, axis=0) + 1
    assert tape.jacobian(y, x).shape == (2, 0, 2)


def test_unconnected_sources_are_none_or_zeros() -> None:
    x, v = tg.asarray(3.0), tg.Variable([1.0, 2.0])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * tg.ones((3,))
    jx, jv, none = tape.jacobian(y, [x, v, None])
    assert (jx.tolist(), jv, none) == ([1, 1, 1], None, None)
    jv, none = tape.jacobian(y, [v, None], unconnected_gradients="zero")
    assert (jv.tolist(), none) == ([[0, 0]] * 3, None)


def test_a_source_that_is_the_target_gives_the_identity() -> None:
    x = tg.asarray([[1.5, 2.5]])
    with tg.GradientTape() as tape:
        tape.watch(x)
    assert tape.jacobian(x, x).tolist() == [[[[1, 0]], [[0, 1]]]]


def test_an_intermediate_source() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        y = h * x
    jx, jh = tape.jacobian(y, [x, h])
    np.testing.assert_allclose(jx.numpy(), np.diag(3 * np.asarray([1.5, 2.5]) ** 2))
    np.testing.assert_allclose(jh.numpy(), np.diag([1.5, 2.5]))


def test_an_ordinary_tape_is_spent() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.jacobian(y, x).tolist() == [[3, 0], [0, 5]]
    with pytest.raises(SpentError):
        tape.jacobian(y, x)


def test_targets_that_are_no_single_tensor_are_refused() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    for bad in ([y], 1.5, None):
        with pytest.raises(ArgumentError, match="expected a Tensor as target"):
            tape.jacobian(bad, x)
    with pytest.raises(ArgumentError, match="expected Tensors or Variables, got float"):
        tape.jacobian(y, [x, 1.5])


def test_integer_targets_have_none() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.argmax(x)
    assert tape.jacobian(y, x) is None


def test_the_jacobian_of_a_gradient_is_the_hessian() -> None:
    x = tg.asarray(np.asarray([1.0, 2.0, 3.0]))
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = x[0] ** 2 * x[1] + tg.sin(x[2]) * x[0]
        g = inner.gradient(y, x)
    c, s = np.cos(3.0), np.sin(3.0)
    np.testing.assert_allclose(outer.jacobian(g, x).numpy(), [[4, 2, c], [2, 0, 0], [c, 0, -s]])


def test_jacobians_nest_to_third_order() -> None:
    x = tg.asarray(np.asarray([0.5, -1.5]))
    with tg.GradientTape() as third:
        third.watch(x)
        with tg.GradientTape() as second:
            second.watch(x)
            with tg.GradientTape() as first:
                first.watch(x)
                y = x[0] ** 3 * x[1] ** 2
            g = first.gradient(y, x)
        hessian = second.jacobian(g, x)
    found = third.jacobian(hessian, x)
    a, b = x.tolist()
    np.testing.assert_allclose(hessian.numpy(), [[6 * a * b**2, 6 * a**2 * b], [6 * a**2 * b, 2 * a**3]])
    expected = [[[6 * b**2, 12 * a * b], [12 * a * b, 6 * a**2]], [[12 * a * b, 6 * a**2], [6 * a**2, 0]]]
    np.testing.assert_allclose(found.numpy(), expected)


def test_a_jacobian_is_recorded_by_an_outer_tape_and_by_an_accumulator() -> None:
    x = tg.asarray(np.asarray([0.5, -1.5]))
    t = np.asarray([2.0, 3.0])
    with tg.GradientTape() as outer, tg.ForwardAccumulator(x, tg.asarray(t)) as acc:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        j = inner.jacobian(y, x)
    np.testing.assert_allclose(outer.gradient(j, x).numpy(), 6 * x.numpy())
    np.testing.assert_allclose(acc.jvp(j).numpy(), np.diag(6 * x.numpy() * t))


def test_the_jacobian_of_a_jacobian_inside_a_persistent_tape() -> None:
    x = tg.asarray(np.asarray([0.5, -1.5]))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        j = tape.jacobian(y, x)
    h = tape.jacobian(j, x).numpy()
    assert h[0, 0, 0] == pytest.approx(3)
    assert h[1, 1, 1] == pytest.approx(-9)
    assert np.count_nonzero(h) == 2


def test_complex_jacobians_are_those_of_the_loop() -> None:
    x = tg.asarray(np.asarray([1 + 2j, -0.5j]))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * tg.asarray(np.asarray([1j, 2.0]))
        r = tg.abs(x) ** 2
    for target in (y, r):
        np.testing.assert_allclose(tape.jacobian(target, x).numpy(), by_loop(tape, target, x))
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag(np.conj(2 * x.numpy() * [1j, 2])))


def test_an_unconnected_mode_that_does_not_exist_is_refused_before_the_tape_is_spent() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.jacobian(y, x, unconnected_gradients="nonsense")  # type: ignore[arg-type]
    assert tape.jacobian(y, x).tolist() == [[3, 0], [0, 5]]


def test_batch_jacobian_is_the_jacobian_of_each_row():
    x = tg.asarray([[1.5, 2.0, -1.0], [0.5, -3.0, 2.0]])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2], axis=1)
    found = tape.batch_jacobian(y, x)
    full = tape.jacobian(y, x)
    np.testing.assert_allclose(found.raw, np.stack([full.raw[i, :, i] for i in range(2)]))
    other = tg.ones((2, 4))
    assert tape.batch_jacobian(y, other) is None
    assert tape.batch_jacobian(y, other, "zero").shape == (2, 2, 4)
    with pytest.raises(ShapeError, match=r"target.shape\[0\]"):
        tape.batch_jacobian(y, tg.ones((3,)))
