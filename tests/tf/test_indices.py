"""What is picked and put at indices: on every kernel set, eager and compiled with indices that are arguments, as in TensorFlow."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tapegrad import tf as ours
from tapegrad.registry.backends import making_on

tf: Any = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.interop("tensorflow")

X = np.random.default_rng(3).normal(size=(6, 2)).astype(np.float32)
X[3] = X[1]  # a tie
IDS = np.array([0, 2, 0, 2, -1, 4], np.int32)
SORTED = [0, 0, 1, 3, 3, 4]


def tuples(t: Any, i: Any) -> Any:
    return t.stack([t.abs(i), t.abs(i) % 2], 1)


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda t, x, i: t.gather(x, i * i % 5),
    "gather along an axis": lambda t, x, i: t.gather(x, t.abs(i) % 2, axis=1),
    "gather in batches": lambda t, x, i: t.gather(x, t.abs(i[:, None]) % 2, batch_dims=1),
    "gather_nd": lambda t, x, i: t.gather_nd(x, tuples(t, i)),
    "gather_nd of rows": lambda t, x, i: t.gather_nd(x, t.abs(i)[:, None]),
    "scatter_nd": lambda t, x, i: t.scatter_nd(t.abs(i)[:, None], x, [5, 2]),
    "tensor_scatter_nd_update": lambda t, x, i: t.tensor_scatter_nd_update(x, t.abs(i[1:4:2])[:, None] + [[1], [2]], x[:2] * 2.0),
    "tensor_scatter_nd_add": lambda t, x, i: t.tensor_scatter_nd_add(x, t.abs(i)[:, None], x * 3.0),
    "tensor_scatter_nd_sub": lambda t, x, i: t.tensor_scatter_nd_sub(x, tuples(t, i), x[:, 0] * 3.0),
    "tensor_scatter_nd_max": lambda t, x, i: t.tensor_scatter_nd_max(x, t.abs(i)[:, None], x * 1.5),
    "tensor_scatter_nd_min": lambda t, x, i: t.tensor_scatter_nd_min(x, t.abs(i)[:, None], x * 1.5),
    **{
        f"unsorted_segment_{name}": lambda t, x, i, name=name: getattr(t.math, f"unsorted_segment_{name}")(x, i, 5)
        for name in ("sum", "mean", "max", "min", "prod", "sqrt_n")
    },
    **{
        f"segment_{name}": lambda t, x, i, name=name: getattr(t.math, f"segment_{name}")(x, SORTED)
        for name in ("sum", "mean", "max", "min", "prod")
    },
}
#: How a variable is changed: the method, and the indices and values that it is given.
WRITES: dict[str, Callable[[Any, Any, Any, Any], None]] = {
    **{
        f"scatter_{how}": lambda t, v, x, i, how=how: getattr(v, f"scatter_{how}")(t.IndexedSlices(x, t.abs(i)))
        for how in ("add", "sub", "mul", "div", "max", "min", "update")
    },
    **{
        f"scatter_nd_{how}": lambda t, v, x, i, how=how: getattr(v, f"scatter_nd_{how}")(tuples(t, i), x[:, 1])
        for how in ("add", "sub", "max", "min", "update")
    },
    "part": lambda t, v, x, i: v[1:3].assign(x[2:4]),
}


@pytest.fixture(params=["numpy", "tensorflow"], autouse=True)
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    with making_on(request.param):
        yield request.param


def run(t: Any, program: Callable[..., Any], compiled: bool) -> list[np.ndarray]:
    def step(x: Any, i: Any) -> Any:
        with t.GradientTape() as tape:
            tape.watch(x)
            y = program(t, x, i)
            loss = t.reduce_sum(t.where(t.abs(y) < 1e30, y, 0.0) ** 2)
        return y, t.convert_to_tensor(tape.gradient(loss, x))

    made = t.function(step) if compiled else step
    return [np.asarray(v) for v in made(t.constant(X), t.constant(IDS))]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("what", PROGRAMS)
def test_values_and_gradients_are_tensorflows(what: str, compiled: bool) -> None:
    for a, b in zip(run(ours, PROGRAMS[what], compiled), run(tf, PROGRAMS[what], False), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def written(t: Any, write: Callable[..., Any], compiled: bool) -> tuple[Any, np.ndarray]:
    v = t.Variable(np.arange(10, dtype=np.float32).reshape(5, 2) / 4 - 1)

    def step(x: Any, i: Any) -> None:
        write(t, v, x, i)

    made = t.function(step) if compiled else step
    for _ in range(2):
        made(t.constant(X), t.constant(IDS))
    return v, v.numpy()


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("what", WRITES)
def test_variables_change_as_tensorflows_and_stay_where_they_are(what: str, compiled: bool, place: str) -> None:
    v, found = written(ours, WRITES[what], compiled)
    np.testing.assert_allclose(found, written(tf, WRITES[what], False)[1], rtol=1e-4, atol=1e-5)
    assert type(v.array).__name__ == ("ndarray" if place == "numpy" else "TFArray")


def test_parts_are_added_to_and_subtracted_from() -> None:
    v = ours.Variable(np.ones((2, 3), np.float32))
    v[:, 1].assign_add([2.5, 3.5])
    v[1].assign_sub([0.5, 0.25, 0.0])
    assert v.numpy().tolist() == [[1, 3.5, 1], [0.5, 4.25, 1]]


def test_an_index_that_is_not_there_is_refused_as_a_compiled_function_runs() -> None:
    v = ours.Variable([1.5, 2.5])

    @ours.function
    def step(i: Any) -> None:
        v.scatter_nd_update(i, [7.5])

    step(ours.constant([[1]]))
    with pytest.raises(Exception, match=r"indices\[0.*\] = \[?2\]? (is not in \[0, 2\)|does not index into shape \[2\])"):
        step(ours.constant([[2]]))
    assert v.numpy().tolist() == [1.5, 7.5]
