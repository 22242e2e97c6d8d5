"""Ops that move, repeat and surround elements: values against NumPy's, gradients by counting, batches by looping."""

import itertools
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.tensor import tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.registry.batching import batched

X = np.arange(1.0, 13.0).reshape(3, 4)

# Each gives, of an array, what NumPy's function of the same name gives.
CASES: dict[str, tuple[Any, Any]] = {
    "repeat": (lambda x: tg.repeat(x, 3), lambda x: np.repeat(x, 3)),
    "repeat along an axis": (lambda x: tg.repeat(x, 2, axis=-1), lambda x: np.repeat(x, 2, -1)),
    "repeat each as often": (lambda x: tg.repeat(x, tg.asarray([2, 0, 3]), axis=0), lambda x: np.repeat(x, [2, 0, 3], 0)),
    "repeat by one number in an array": (lambda x: tg.repeat(x, tg.asarray([2]), axis=1), lambda x: np.repeat(x, [2], 1)),
    "repeat nothing": (lambda x: tg.repeat(x, 0, axis=0), lambda x: np.repeat(x, 0, 0)),
    "tile": (lambda x: tg.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "tile by fewer axes": (lambda x: tg.tile(x, (2,)), lambda x: np.tile(x, (2,))),
    "tile by none": (lambda x: tg.tile(x, (0, 2)), lambda x: np.tile(x, (0, 2))),
    "roll": (lambda x: tg.roll(x, -5), lambda x: np.roll(x, -5)),
    "roll along axes": (lambda x: tg.roll(x, (1, 2), axis=(0, 1)), lambda x: np.roll(x, (1, 2), (0, 1))),
    "flip": (lambda x: tg.flip(x, axis=(0, -1)), lambda x: np.flip(x, (0, -1))),
    "rot90": (tg.rot90, np.rot90),
    "rot90 backwards": (lambda x: tg.rot90(x, k=-1), lambda x: np.rot90(x, -1)),
    "rot90 twice in other axes": (lambda x: tg.rot90(x, k=2, axes=(1, 0)), lambda x: np.rot90(x, 2, (1, 0))),
    "kron": (lambda x: tg.kron(x, tg.asarray([[0.5, 2.0]])), lambda x: np.kron(x, [[0.5, 2.0]])),
    "kron of fewer axes": (lambda x: tg.kron(tg.asarray([0.5, 2.0]), x), lambda x: np.kron([0.5, 2.0], x)),
    "diff": (lambda x: tg.diff(x, axis=0), lambda x: np.diff(x, axis=0)),
    "diff twice": (lambda x: tg.diff(x * x, n=2), lambda x: np.diff(x * x, n=2)),
    "diff none": (lambda x: tg.diff(x, n=0), lambda x: np.diff(x, n=0)),
    "diff between ends": (
        lambda x: tg.diff(x, prepend=x[:, :2], append=x[:, :1]),
        lambda x: np.diff(x, prepend=x[:, :2], append=x[:, :1]),
    ),
    "unstack": (lambda x: tg.unstack(x, axis=1)[2], lambda x: np.unstack(x, axis=1)[2]),
    "moveaxis": (lambda x: tg.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "take with negative indices": (lambda x: tg.take(x, tg.asarray([-1, 0, -1]), axis=1), lambda x: x[:, [-1, 0, -1]]),
    **{
        f"pad {mode} by {width}": (
            lambda x, mode=mode, width=width: tg.pad(x, width, mode),
            lambda x, mode=mode, width=width: np.pad(x, width, mode),
        )
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        for width in (2, (0, 3), ((1, 0), (9, 5)))
    },
    "pad with a value": (
        lambda x: tg.pad(x, 1, constant_values=(2.5, -1)),
        lambda x: np.pad(x, 1, constant_values=(2.5, -1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys_and_each_element_has_its_share_of_the_gradient(name: str) -> None:
    ours, theirs = CASES[name]
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = ours(x)
    np.testing.assert_allclose(y.numpy(), theirs(X), rtol=1e-12)
    g = np.random.default_rng(0).integers(-5, 5, y.shape).astype(float)
    found = tape.gradient(y, x, output_gradients=tg.asarray(g)).numpy()
    for i in np.ndindex(X.shape):
        e = np.zeros_like(X)
        e[i] = 2.0**-10
        np.testing.assert_allclose(found[i], np.sum(g * (theirs(X + e) - theirs(X - e))) * 2.0**9, rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_what_a_loop_gives(name: str) -> None:
    ours, theirs = CASES[name]
    xs = np.stack([X, X[::-1] ** 2, -X])
    found = ours(tensor(batched(xs))).raw.value
    np.testing.assert_allclose(found, np.stack([theirs(x) for x in xs]), rtol=1e-12)


@pytest.mark.parametrize("index", [1, (..., 0), slice(None, None, -2), np.array([2, 0, 2]), X > 4, (None, slice(1, 2))])
@pytest.mark.parametrize("scalar", [False, True])
def test_overwriting_in_a_batch_is_what_a_loop_gives(index: Any, scalar: bool) -> None:
    xs = np.stack([X, -X])
    vs = np.random.default_rng(1).normal(size=(2,) if scalar else (2, *np.shape(X[index])))
    expected = []
    for x, v in zip(xs, vs, strict=True):
        y = x.copy()
        y[index] = v
        expected.append(y)
    level = batched(xs)
    found = tg.put(tensor(level), tensor(batched(vs, level.level)), index)
    np.testing.assert_array_equal(found.raw.value, np.stack(expected))


def test_prepended_and_appended_arrays_have_gradients() -> None:
    x, p = tg.asarray([1.5, 2.5, 4.5]), tg.asarray([0.5])
    with tg.GradientTape() as tape:
        tape.watch(p)
        y = tg.diff(x, prepend=p, append=2 * p)
        loss = tg.sum(y * tg.asarray([1.0, 10.0, 100.0, 1000.0]))
    assert tape.gradient(loss, p).tolist() == [1999.0]


def test_booleans_differ_or_not() -> None:
    assert tg.diff(tg.asarray([True, True, False])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tg.pad(x, -1), ValueError, "expected widths >= 0"),
        (lambda x: tg.pad(x, 1, "mean"), ValueError, "got 'mean'"),
        (lambda x: tg.pad(x, (1, 2, 3)), ValueError, "a pair for each of 2 axes"),
        (lambda x: tg.diff(x, n=-1), ValueError, "expected n >= 0, got -1"),
        (lambda x: tg.diff(x, axis=2), ShapeError, "expected an axis of x"),
        (lambda x: tg.rot90(x, axes=(1, -1)), ValueError, "expected two different axes"),
        (lambda x: tg.repeat(x, tg.asarray([1, 2])), ShapeError, "repeat"),
        (lambda x: tg.repeat(tensor(batched(x.raw)), tensor(batched(np.ones((3, 4), int)))), ArgumentError, "differ within a batch"),
    ],
)
def test_what_cannot_be_meant_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tg.asarray(X))


def test_numpys_integers_do_where_pythons_do():
    one, x = np.int64(1), tg.ones((2, 3))
    images, kernel = tg.ones((1, 4, 4, 2)), tg.ones((2, 2, 2, 3))
    cases = {
        "conv2d": tg.nn.conv2d(images, kernel, stride=one, padding=one, dilation=(one, one), groups=one),
        "max_pool2d": tg.nn.max_pool2d(images, np.int64(2)),
        "padding in pairs": tg.nn.conv2d(images, kernel, padding=((one, 0), (0, one))),
        "adaptive_avg_pool2d": tg.nn.adaptive_avg_pool2d(images, np.int64(2)),
        "interpolate": tg.nn.interpolate(images, scale=np.float32(2)),
        "layer_norm": tg.nn.layer_norm(x, axis=one),
        "mean": tg.mean(x, axis=one),
        "tensordot": tg.tensordot(x, x.T, axes=one),
        "fftn": tg.fft.fftn(x, axes=one),
        "split": tg.split(x, one)[0],
        "np.split": np.split(x, one)[0],
        "np.linalg.norm": np.linalg.norm(x, axis=one),
    }
    assert {name: y.shape for name, y in cases.items()} == {
        "conv2d": (1, 5, 5, 3),
        "max_pool2d": (1, 2, 2, 2),
        "padding in pairs": (1, 4, 4, 3),
        "adaptive_avg_pool2d": (1, 2, 2, 2),
        "interpolate": (1, 8, 8, 2),
        "layer_norm": (2, 3),
        "mean": (2,),
        "tensordot": (2, 2),
        "fftn": (2, 3),
        "split": (2, 3),
        "np.split": (2, 3),
        "np.linalg.norm": (2,),
    }


def test_numpys_integers_are_axes_of_a_jacobian_too():
    x, axis = tg.ones((2, 3)), np.int64(0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.expand_dims(x, axis=axis)
    assert tape.jacobian(y, x).shape == (1, 2, 3, 2, 3)


@pytest.mark.parametrize("cuts", [[2, 4], [0, 0, 6], [-2], [5, 3], [4, 9], [], (np.int64(2), 5)])
def test_cuts_of_a_split_are_those_of_numpy(cuts: Any) -> None:
    x = tg.asarray(np.arange(12.0).reshape(2, 6))
    with tg.GradientTape() as tape:
        tape.watch(x)
        parts = tg.split(x, cuts, axis=1)
        total = sum((k + 1) * tg.sum(part) for k, part in enumerate(parts))
    expected = np.split(x.numpy(), cuts, axis=1)
    assert [p.numpy().tolist() for p in parts] == [p.tolist() for p in expected]
    counted = np.zeros((2, 6))
    for k, (a, b) in enumerate(itertools.pairwise([0, *cuts, 6])):
        counted[:, a:b] += k + 1
    assert np.array_equal(tape.gradient(total, x).numpy(), counted)


def test_parts_of_a_split_that_nobody_uses_have_no_gradient() -> None:
    x = tg.asarray(np.arange(6.0))
    with tg.GradientTape() as tape:
        tape.watch(x)
        _, middle, _ = tg.split(x, 3)
        y = tg.sum(middle**2)
    assert tape.gradient(y, x).numpy().tolist() == [0, 0, 4, 6, 0, 0]
