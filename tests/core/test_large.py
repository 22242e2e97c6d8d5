"""Cotangents of large arrays, which are added in blocks, are those of small ones."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.registry.accumulate import LARGE, add_product

N = LARGE + 12_345


def gradients(x, w):
    with tg.GradientTape() as tape:
        tape.watch([x, w])
        y = x * w - x
        z = tg.sum(y * w + y * x - w * x)
    return tape.gradient(z, [x, w])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_products_are_added_to_what_is_there(dtype, step):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(N * abs(step)).astype(dtype)[::step][:N] for _ in range(2))
    kept = x.copy(), w.copy()
    large = gradients(tg.asarray(x), tg.asarray(w))
    parts = [gradients(tg.asarray(x[k : k + 9000]), tg.asarray(w[k : k + 9000])) for k in range(0, N, 9000)]
    for whole, pieces in zip(large, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(whole.numpy(), np.concatenate([p.numpy() for p in pieces]))
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(w, kept[1])


def test_a_cotangent_that_a_user_gave_or_holds_is_not_written():
    x, w = tg.ones(N), tg.ones(N)
    seed = tg.ones(N)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = x * w - x + w * x
    first = tape.gradient(y, [x, w], output_gradients=seed)
    held = [g.numpy().copy() for g in first]
    second = tape.gradient(y, [x, w], output_gradients=seed)
    assert np.all(seed.numpy() == 1)
    for a, b, c in zip(first, held, second, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
        np.testing.assert_array_equal(c.numpy(), b)


@pytest.mark.parametrize("partial", [2.0, np.float32(2), np.full(7, 2, "f4")])
def test_any_partial_is_taken(partial):
    total = np.ones(7, "f4")
    add_product(total, np.full(7, 3, "f4"), partial)
    np.testing.assert_array_equal(total, 7)


def test_the_cotangent_of_a_square_from_one_number_for_all_is_that_from_as_many() -> None:
    x = tg.asarray(np.linspace(-3.25, 4.5, 20_000, dtype=np.float32).reshape(100, 200))
    for scale in (0.75, np.inf, 0.0):
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            loss = tg.sum(y) * scale
        many = tg.asarray(np.full(x.shape, scale, np.float32))
        np.testing.assert_array_equal(tape.gradient(loss, x).numpy(), tape.gradient(y, x, output_gradients=many).numpy())
