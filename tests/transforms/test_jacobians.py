from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError

X = tg.asarray(np.asarray([0.5, -1.5, 2.0]))
S = tg.asarray(np.asarray([[1.0, 0.3], [-0.7, 2.0]]))
MODES = ["auto", "forward", "reverse"]


def many(p: Any, s: Any) -> Any:
    """A structure of structures: more rows than columns."""
    x, b = p["x"], p["b"]
    return [tg.sum(x) * s, {"outer": x[:, None] * x + b, "n": tg.argmax(x)}, None]


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_blocks_of_structures(mode: Any, vectorized: bool) -> None:
    p = {"x": X, "b": tg.asarray(np.float64(0.5)), "none": None}
    first, second, none = tg.jacobian(many, (0, 1), mode=mode, vectorized=vectorized)(p, S)
    of_p, of_s = first
    np.testing.assert_allclose(of_p["x"].numpy(), np.multiply.outer(S.numpy(), np.ones(3)))
    np.testing.assert_allclose(of_p["b"].numpy(), np.zeros((2, 2)))
    np.testing.assert_allclose(of_s.numpy(), X.numpy().sum() * np.eye(4).reshape(2, 2, 2, 2))
    i = np.eye(3)
    x = X.numpy()
    expected = i[:, None, :] * x[None, :, None] + x[:, None, None] * i[None, :, :]
    np.testing.assert_allclose(second["outer"][0]["x"].numpy(), expected)
    np.testing.assert_allclose(second["outer"][0]["b"].numpy(), np.ones((3, 3)))
    np.testing.assert_allclose(second["n"][1].numpy(), np.zeros((2, 2)))
    assert of_p["none"] is second["outer"][0]["none"] is none is None


@pytest.mark.parametrize("mode", MODES)
def test_shapes_are_those_of_value_and_argument(mode: Any) -> None:
    for shape in [(), (1,), (2, 3), (0,), (2, 0)]:
        for source in [(), (1,), (3, 2), (0,), (0, 2)]:
            x = tg.asarray(np.ones(source))
            found = tg.jacobian(lambda x, shape=shape: tg.ones(shape, dtype=tg.float64) * tg.sum(x), mode=mode)(x)
            assert found.shape == (*shape, *source)
            assert (found.numpy() == 1).all()


@pytest.mark.parametrize("mode", MODES)
def test_each_block_has_the_dtype_of_its_argument_or_value(mode: Any) -> None:
    a, b = tg.asarray([1.5, 2.5]), tg.asarray(np.asarray([0.5]))
    ja, jb = tg.jacobian(lambda a, b: a * b, (0, 1), mode=mode)(a, b)
    assert (ja.dtype, jb.dtype) == (tg.float32, tg.float64)


def test_the_function_is_called_once() -> None:
    for mode in MODES:
        calls = []
        tg.jacobian(lambda x, c=calls: (c.append(1), x * x)[1], mode=mode)(X)  # type: ignore[misc]
        assert len(calls) == 1


def test_auto_takes_the_shorter_way() -> None:
    # fewer columns than rows: an op whose pullback is not implemented goes forward
    @tg.primitive(laws="tests/transforms", public=False)
    def forward_only(xp: Any, x: Any) -> Any:
        """Twice x."""
        return 2 * x

    forward_only.pullback(x=tg.not_implemented).pushforward(x=lambda F, t: 2 * t)
    assert tg.jacobian(lambda x: tg.stack([forward_only.entry(x), x]))(1.5).tolist() == [2, 1]
    with pytest.raises(NotImplementedError):
        tg.jacobian(lambda x: tg.sum(forward_only.entry(x)))(X)


def test_aux() -> None:
    for mode in MODES:
        j, aux = tg.jacobian(lambda x: (x * 2.0, "aux"), mode=mode, has_aux=True)(X)
        assert aux == "aux"
        np.testing.assert_allclose(j.numpy(), 2 * np.eye(3))


HESSIANS = ["forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward"]


@pytest.mark.parametrize("mode", HESSIANS)
def test_hessians_of_every_mode(mode: Any) -> None:
    def f(x: Any) -> Any:
        return x[0] ** 2 * x[1] + tg.sin(x[2]) * x[0]

    x = X.numpy()
    c, s = np.cos(x[2]), np.sin(x[2])
    expected = [[2 * x[1], 2 * x[0], c], [2 * x[0], 0, 0], [c, 0, -s * x[0]]]
    np.testing.assert_allclose(tg.hessian(f, mode=mode)(X).numpy(), expected, atol=1e-15)


@pytest.mark.parametrize("mode", HESSIANS)
def test_hessians_of_structures_and_of_vectors(mode: Any) -> None:
    def f(p: Any, q: Any) -> Any:
        return tg.sum(p["x"] ** 2) * q * tg.asarray(np.asarray([1.0, -2.0]))

    p, q = {"x": X}, tg.asarray(np.float64(1.5))
    (first, second) = tg.hessian(f, (0, 1), mode=mode)(p, q)
    a = np.asarray([1.0, -2.0])
    np.testing.assert_allclose(first["x"][0]["x"].numpy(), np.multiply.outer(a, 3 * np.eye(3)), atol=1e-15)
    np.testing.assert_allclose(first["x"][1].numpy(), np.multiply.outer(a, 2 * X.numpy()))
    np.testing.assert_allclose(second[0]["x"].numpy(), np.multiply.outer(a, 2 * X.numpy()))
    np.testing.assert_allclose(second[1].numpy(), [0, 0])


@pytest.mark.parametrize("mode", MODES)
def test_jacobians_are_recorded_and_batched(mode: Any) -> None:
    def f(x: Any) -> Any:
        return tg.jacobian(lambda x: tg.sin(x) * tg.sum(x), mode=mode)(x)

    rows = tg.stack([X, 2 * X])
    batch = tg.vmap(f)(rows)
    np.testing.assert_allclose(batch.numpy(), np.stack([f(X).numpy(), f(2 * X).numpy()]))
    t = tg.jvp(f, (X,), (X,))[1]
    h = 1e-6
    np.testing.assert_allclose(t.numpy(), (f(X * (1 + h)).numpy() - f(X * (1 - h)).numpy()) / (2 * h), rtol=1e-6, atol=1e-8)


def test_a_jacobian_through_a_vmap() -> None:
    def f(x: Any) -> Any:
        return tg.vmap(lambda a: a * tg.sum(x))(x)

    for mode in MODES:
        expected = X.numpy().sum() * np.eye(3) + X.numpy()[:, None]
        np.testing.assert_allclose(tg.jacobian(f, mode=mode)(X).numpy(), expected)


@pytest.mark.parametrize("vectorized", [True, False])
def test_a_tapes_jacobians(vectorized: bool) -> None:
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(S)
        y = tg.tanh(S @ S)
        z = tg.sin(S) * tg.sum(S, axis=1, keepdims=True)
    np.testing.assert_allclose(tape.jacobian(y, S, vectorized=vectorized).numpy(), tape.jacobian(y, S).numpy())
    full = tape.jacobian(z, S).numpy()
    rows = tape.batch_jacobian(z, S, vectorized=vectorized).numpy()
    np.testing.assert_allclose(rows, np.stack([full[i, :, i] for i in range(2)]))


def test_a_loop_over_rows_spends_an_ordinary_tape_once() -> None:
    with tg.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    assert tape.jacobian(y, X, vectorized=False).tolist() == np.diag(2 * X.numpy()).tolist()
    with pytest.raises(tg.errors.SpentError):
        tape.jacobian(y, X)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"jacobian\(mode=...\): expected 'auto', 'forward' or 'reverse', got 'backward'"):
        tg.jacobian(tg.sin, mode="backward")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"hessian\(mode=...\): expected 'forward-over-reverse'"):
        tg.hessian(tg.sin, mode="forward")  # type: ignore[arg-type]
    for mode in MODES:
        with pytest.raises(DTypeError, match="real arguments and values, got complex128"):
            tg.jacobian(lambda x: x * 1j, mode=mode)(X)  # type: ignore[arg-type]
        with pytest.raises(DTypeError, match="real arguments and values, got complex128"):
            tg.jacobian(tg.sin, mode=mode)(X * 1j)  # type: ignore[arg-type]
