"""Programs that go to and fro between TensorFlow's code and tapegrad's many times under one tape."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]
tf: Any = pytest.importorskip("tensorflow")
STEPS = 6


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tensors TensorFlow's tape is asked for, each time that it is."""
    from tapegrad.ecosystem import tensorflow_pulls

    found: list[int] = []
    ask = tensorflow_pulls._asked
    monkeypatch.setattr(tensorflow_pulls, "_asked", lambda b, ys, *more: (found.append(len(ys)), ask(b, ys, *more))[1])
    return found


def values(n: int) -> np.ndarray:
    return np.linspace(0.2, 0.9, n, dtype=np.float32)


class Model:
    """A recurrent model of TensorFlow's, each of whose states comes over; `words` are the functions around it."""

    def __init__(self, *, fed: bool = False) -> None:
        self.v = tf.Variable(values(3))
        self.fed = fed  # whether it is fed by what was computed of its outputs before

    def loss(self, w: Any, over: Callable[[Any], Any], back: Callable[[Any], Any], total: Callable[[Any], Any]) -> Any:
        h, loss = tf.constant(values(3)), 0.0
        for _ in range(STEPS):
            h = tf.tanh(h * self.v)
            y = over(h) * w
            loss = loss + total(y * y)
            if self.fed:
                h = h + back(y)
        return loss


def here(model: Model, w: Any) -> Any:
    go = tf.function(lambda x: x * 1.0)
    return model.loss(w, tg.asarray, go, tg.sum)


def there(model: Model, w: Any) -> Any:
    return model.loss(w, lambda x: x, lambda x: x, tf.reduce_sum)


def close(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4)


@pytest.mark.parametrize("fed", [False, True])
def test_gradients_are_those_of_the_whole_in_tensorflow(fed: bool) -> None:
    model, w = Model(fed=fed), tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(model.v)
        loss = here(model, w)
    their_w = tf.Variable(values(3))
    with tf.GradientTape() as their_tape:
        their_loss = there(model, their_w)
    expected = their_tape.gradient(their_loss, [model.v, their_w])
    close(tape.gradient(loss, [model.v, w]), expected)
    close(tape.gradient(loss, [model.v, w], output_gradients=tg.asarray(2.0)), [2 * g for g in expected])


@pytest.mark.parametrize("fed", [False, True])
def test_second_derivatives_are_those_of_the_whole_in_tensorflow(fed: bool) -> None:
    model, w = Model(fed=fed), tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    with tg.GradientTape() as outer:
        outer.watch(model.v)
        with tg.GradientTape() as tape:
            tape.watch(model.v)
            loss = here(model, w)
        s = sum(tg.sum(tg.asarray(g) ** 2) for g in tape.gradient(loss, [model.v, w]))
    their_w = tf.Variable(values(3))
    with tf.GradientTape() as their_outer:
        with tf.GradientTape() as their_tape:
            their_loss = there(model, their_w)
        their_s = sum(tf.reduce_sum(g**2) for g in their_tape.gradient(their_loss, [model.v, their_w]))
    close(outer.gradient(s, [model.v, w]), their_outer.gradient(their_s, [model.v, their_w]))


def test_a_jacobian_and_a_gradient_of_the_same_tape() -> None:
    model = Model()
    w = tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(model.v)
        h, ys = tf.constant(values(3)), []
        for _ in range(3):
            h = tf.tanh(h * model.v)
            ys.append(tg.asarray(h) * w)
        y = ys[0] * ys[1] + ys[2]
    their_w = tf.Variable(values(3))
    with tf.GradientTape(persistent=True) as their_tape:
        h, ys = tf.constant(values(3)), []
        for _ in range(3):
            h = tf.tanh(h * model.v)
            ys.append(h * their_w)
        their_y = ys[0] * ys[1] + ys[2]
    close(tape.jacobian(y, [model.v, w]), their_tape.jacobian(their_y, [model.v, their_w]))
    close(tape.gradient(y, [model.v, w]), their_tape.gradient(their_y, [model.v, their_w]))


def test_outputs_of_one_model_are_asked_for_together(asked: list[int]) -> None:
    model, w = Model(), tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    with tg.GradientTape() as tape:
        tape.watch(model.v)
        loss = here(model, w)
    tape.gradient(loss, model.v)
    assert asked == [STEPS]


def test_where_sources_lie_between_each_is_asked_for_by_itself(asked: list[int]) -> None:
    model, w = Model(fed=True), tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    with tg.GradientTape() as tape:
        tape.watch(model.v)
        loss = here(model, w)
    tape.gradient(loss, model.v)
    assert asked == [1] * STEPS


def calls_to_sweep(steps: int) -> int:
    """How many functions Python calls to differentiate a loop that goes to TensorFlow and back in each step."""
    v, w = tf.Variable(values(3)), tg.Variable(tg.asarray(values(3), backend="tensorflow"))
    model = tf.function(lambda x: tf.tanh(x * v))
    with tg.GradientTape() as tape:
        tape.watch(v)
        y = w
        for _ in range(steps):
            y = tg.asarray(model(tg.tanh(y * w)))
        loss = tg.sum(y)
    calls = [0]

    def count(frame: Any, event: str, arg: Any) -> None:
        calls[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = tape.gradient(loss, [v, w])
    finally:
        sys.setprofile(before)
    assert all(g is not None for g in found)
    return calls[0]


def test_the_price_of_a_crossing_is_the_same_however_many_there_are() -> None:
    calls_to_sweep(2)  # what is compiled at first use
    few, many = calls_to_sweep(10), calls_to_sweep(80)
    assert many < 1.3 * 8 * few


def test_what_a_failed_sweep_has_left_is_forgotten() -> None:
    v = tf.Variable(values(3))
    fails = [True]

    @tg.custom_gradient
    def touchy(x: Any) -> Any:
        def derivative(g: Any) -> Any:
            if fails:
                raise RuntimeError("not yet")
            return g

        return x * 1.0, derivative

    with tg.GradientTape(persistent=True) as tape:
        tape.watch(v)
        first = tf.tanh(v)
        a = touchy(tg.asarray(first))
        b = tg.asarray(tf.sin(first))
        y = tg.sum(a * b)
    with pytest.raises(RuntimeError, match="not yet"):
        tape.gradient(y, v)
    fails.clear()
    with tf.GradientTape() as their_tape:
        first = tf.tanh(v)
        their_y = tf.reduce_sum(first * tf.sin(first))
    close([tape.gradient(y, v)], [their_tape.gradient(their_y, v)])
