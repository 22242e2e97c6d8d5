import threading
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, ShapeError

FLOATS = ["float16", "bfloat16", "float32", "float64"]


def test_the_same_seed_gives_the_same_numbers() -> None:
    def draw() -> list[Any]:
        return [
            tg.random.normal((3,)).tolist(),
            tg.random.uniform((2, 2), low=-1, high=3).tolist(),
            tg.random.integers((4,), high=10).tolist(),
            tg.random.permutation(5).tolist(),
            tg.random.bernoulli(0.3, (6,)).tolist(),
        ]

    tg.random.seed(7)
    first = draw()
    tg.random.seed(7)
    assert draw() == first
    tg.random.seed(8)
    assert draw() != first


def test_generators_are_independent_of_the_default_one_and_of_each_other() -> None:
    a, b = tg.random.Generator(1), tg.random.Generator(1)
    tg.random.seed(0)
    assert a.normal((3,)).tolist() == b.normal((3,)).tolist()
    a.normal((5,))
    expected = b.uniform((3,)).tolist()
    assert a.uniform((3,)).tolist() != expected
    assert tg.random.Generator().normal((3,)).tolist() != tg.random.Generator().normal((3,)).tolist()


def test_a_state_can_be_put_back() -> None:
    g = tg.random.Generator(3)
    state = g.state
    first = g.normal((4,)).tolist()
    g.state = state
    assert g.normal((4,)).tolist() == first


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), 4, [2, 3]])
@pytest.mark.parametrize("dtype", FLOATS)
def test_shapes_and_dtypes(shape: Any, dtype: str) -> None:
    expected = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    for x in (
        tg.random.normal(shape, dtype=dtype),
        tg.random.uniform(shape, dtype=dtype),
        tg.random.bernoulli(0.5, shape, dtype=dtype),
    ):
        assert (x.shape, x.dtype.name) == (expected, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, -2.9), (100, 102), (-1e-3, 1e-3)])
def test_uniform_numbers_stay_below_the_upper_end(dtype: str, low: float, high: float) -> None:
    g = tg.random.Generator(0)
    x = tg.astype(g.uniform((50_000,), low=low, high=high, dtype=dtype), tg.float64).numpy()
    one = float(tg.astype(tg.asarray(high, dtype=dtype), tg.float64))
    assert x.max() < one
    assert x.min() >= float(tg.astype(tg.asarray(low, dtype=dtype), tg.float64))


def test_moments_are_those_of_the_distribution() -> None:
    g = tg.random.Generator(0)
    n = 100_000
    normal, uniform = g.normal((n,), mean=2, std=3, dtype=tg.float64).numpy(), g.uniform((n,), low=2, high=6).numpy()
    bernoulli, integers = g.bernoulli(0.3, (n,)).numpy(), g.integers((n,), low=-2, high=3).numpy()
    for x, mean, std in [(normal, 2, 3), (uniform, 4, 4 / 12**0.5), (bernoulli, 0.3, 0.21**0.5), (integers, 0, 2**0.5)]:
        assert abs(x.mean() - mean) < 5 * std / n**0.5
        assert x.std() == pytest.approx(std, rel=0.02)
    assert sorted(set(integers.tolist())) == [-2, -1, 0, 1, 2]


def test_integers_of_every_dtype_reach_their_ends() -> None:
    g = tg.random.Generator(0)
    x = g.integers((5000,), low=-128, high=128, dtype=tg.int8)
    assert (x.dtype, x.numpy().min(), x.numpy().max()) == (tg.int8, -128, 127)
    assert g.integers((2,), high=2**64, dtype=tg.uint64).dtype == tg.uint64


def test_a_permutation_holds_every_number_once() -> None:
    for n in (5, np.int64(5), 0):
        assert sorted(tg.random.permutation(n).tolist()) == list(range(n))


def test_rows_are_permuted_whole_and_recorded() -> None:
    v = tg.Variable(np.arange(12.0).reshape(4, 3))
    with tg.GradientTape() as tape:
        y = tg.random.permutation(v)
        loss = tg.sum(y * np.arange(4.0)[:, None])
    place = (y.numpy()[:, 0] / 3).astype(int)
    assert sorted(place) == [0, 1, 2, 3]
    expected = np.zeros((4, 3))
    expected[place] = np.arange(4.0)[:, None]
    assert tape.gradient(loss, v).tolist() == expected.tolist()


def test_a_seed_is_for_the_whole_process() -> None:
    tg.random.seed(5)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tg.random.normal((2,)).tolist()))
    thread.start()
    thread.join()
    tg.random.seed(5)
    assert tg.random.normal((2,)).tolist() == found[0]


@pytest.mark.parametrize(
    ("draw", "error", "text"),
    [
        (lambda: tg.random.normal((2,), dtype=tg.int32), DTypeError, r"normal\(dtype=...\): expected a real floating dtype"),
        (lambda: tg.random.uniform((2,), dtype=tg.complex64), DTypeError, r"uniform\(dtype=...\): .* got complex64"),
        (lambda: tg.random.integers((2,), high=3, dtype=tg.float32), DTypeError, "an integer dtype, got float32"),
        (lambda: tg.random.normal((-1,)), ShapeError, r"normal\(shape, ...\): expected integers >= 0, got \(-1,\)"),
        (lambda: tg.random.uniform((1.5,)), ShapeError, r"uniform\(shape, ...\): expected integers >= 0, got \(1.5,\)"),
        (lambda: tg.random.bernoulli(0.5, "x"), ShapeError, "got 'x'"),
        (lambda: tg.random.normal((2,), std=-1), ValueError, "expected std >= 0, got -1"),
        (lambda: tg.random.uniform((2,), low=1, high=1), ValueError, "expected low < high, got 1 and 1"),
        (lambda: tg.random.integers((2,), low=3, high=3), ValueError, "expected low < high, got 3 and 3"),
        (lambda: tg.random.bernoulli(1.5), ValueError, "expected 0 <= p <= 1, got 1.5"),
        (lambda: tg.random.permutation(tg.asarray(1.5)), ShapeError, "an array with rows, got a 0-d array"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(draw: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        draw()
