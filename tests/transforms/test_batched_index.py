"""Indices that differ within a batch pick, and write, what the loop does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, BatchedValueError, BoundsError, DTypeError

RNG = np.random.default_rng(11)
SIZE = 3
ONE = RNG.normal(size=(4, 5, 3))
ALL = RNG.normal(size=(SIZE, 4, 5, 3))
FIRST, J, K = (tg.asarray(RNG.integers(-n, n, (SIZE, *shape))) for n, shape in [(4, ()), (5, (2,)), (3, (2, 1))])
MASK = np.asarray([True, False, True, True])

INDICES: dict[str, Any] = {
    "i": lambda i, j, k: i,
    "j": lambda i, j, k: j // 2,
    "i, j": lambda i, j, k: (i, j),
    ":, j": lambda i, j, k: (slice(None), j),
    "i, :, k": lambda i, j, k: (i, slice(None), k[:, 0]),
    "..., k": lambda i, j, k: (..., k),
    "i, ..., k": lambda i, j, k: (i, ..., k),
    "None, 1:3, j, None": lambda i, j, k: (None, slice(1, 3), j, None),
    "mask, j": lambda i, j, k: (MASK, j[0]),
    ":, j, k": lambda i, j, k: (slice(None), j, k),
    "::-1, None, j, ::2": lambda i, j, k: (slice(None, None, -1), None, j, slice(None, None, 2)),
    "0, :, k": lambda i, j, k: (0, slice(None), k),
    "i, ::2, None, k": lambda i, j, k: (i, slice(None, None, 2), None, k),
    "lists": lambda i, j, k: ([0, 1], [[1], [2]], i % 3),
}


def read(x: Any, index: Any) -> Any:
    return x[index] ** 2


def write(x: Any, index: Any) -> Any:
    y = x * 1.0
    y[index] = tg.sum(x) * tg.sin(x[index])
    return y


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("what", [read, write])
@pytest.mark.parametrize("name", INDICES)
def test_it_is_the_loop(name: str, what: Any, axis: int | None) -> None:
    x = tg.asarray(ONE if axis is None else ALL)

    def f(x: Any, i: Any, j: Any, k: Any) -> Any:
        return what(x, INDICES[name](i, j, k))

    def loop(x: Any) -> Any:
        return tg.stack([f(x if axis is None else x[n], FIRST[n], J[n], K[n]) for n in range(SIZE)])

    def batch(x: Any) -> Any:
        return tg.vmap(f, (axis, 0, 0, 0))(x, FIRST, J, K)

    np.testing.assert_allclose(batch(x).numpy(), loop(x).numpy(), rtol=1e-12)
    scale = RNG.normal(size=loop(x).shape)
    expected = tg.grad(lambda x: tg.sum(loop(x) * scale))(x).numpy()
    np.testing.assert_allclose(tg.grad(lambda x: tg.sum(batch(x) * scale))(x).numpy(), expected, rtol=1e-11, atol=1e-13)
    change = tg.jvp(loop, (x,), (tg.sin(x),))[1].numpy()
    np.testing.assert_allclose(tg.jvp(batch, (x,), (tg.sin(x),))[1].numpy(), change, rtol=1e-11, atol=1e-13)


def test_of_several_values_for_one_place_the_last_stays() -> None:
    def f(x: Any, v: Any, i: Any) -> Any:
        y = x * 1.0
        y[i] = v
        return y

    x, v = tg.asarray(np.zeros((2, 3))), tg.asarray(np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    i = tg.asarray(np.asarray([[0, 0, 2], [1, 1, 1]]))
    assert tg.vmap(f)(x, v, i).tolist() == [[2, 0, 3], [0, 6, 0]]
    gx, gv = tg.grad(lambda x, v: tg.sum(tg.vmap(f)(x, v, i)), (0, 1))(x, v)
    assert gx.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert gv.tolist() == [[0, 1, 1], [0, 0, 1]]


def test_a_mask_that_differs_writes_what_is_the_same_for_all_places() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[x > 0] = 0.5
        return y

    x = tg.asarray([[1.0, -2.0], [-3.0, 4.0]])
    assert tg.vmap(f)(x).tolist() == [[0.5, -2], [-3, 0.5]]
    assert tg.grad(lambda x: tg.sum(tg.vmap(f)(x)))(x).tolist() == [[0, 1], [1, 0]]

    def several(x: Any) -> Any:
        y = x * 1.0
        y[x > 0] = tg.ones((2,))
        return y

    with pytest.raises(BatchedValueError, match=r"x\[mask\] = value: .* write tapegrad.where\(mask, value, x\)"):
        tg.vmap(several)(x)


def test_in_nested_batches() -> None:
    x = tg.asarray(ALL)
    found = tg.vmap(lambda x, i: tg.vmap(lambda j: x[i, j])(tg.arange(5)))(x, FIRST)
    np.testing.assert_array_equal(found.numpy(), np.stack([ALL[n, FIRST.numpy()[n]] for n in range(SIZE)]))
    crossed = tg.vmap(lambda j: tg.vmap(lambda x: x[1, j])(x))(tg.asarray([3, 0]))
    np.testing.assert_array_equal(crossed.numpy(), ALL[:, 1, [3, 0]].swapaxes(0, 1))


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x, i: x[i + 9], BoundsError, r"expected -4 <= index < 4 for axis 0, got"),
        (lambda x, i: tg.take(x * i, i + 9, axis=0), BoundsError, "expected -4 <= indices < 4"),
        (lambda x, i: x[i * 1.5], DTypeError, "an index is of integers or booleans, got"),
        (lambda x, i: x[i, i % 3, i % 3, i], BoundsError, r"at most 3 indices for shape \(4, 5, 3\), got 4"),
        (lambda x, i: x[..., i, ...], ArgumentError, "one `...` at most"),
    ],
)
def test_what_does_not_fit_is_refused(f: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tg.vmap(f, (None, 0))(tg.asarray(ONE), FIRST)
