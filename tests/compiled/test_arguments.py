"""What compiled functions take and give back, and when they are traced anew."""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import optree
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, EscapedError, SymbolicValueError

pytest.importorskip("tensorflow")  # functions are compiled below as the file is imported
pytestmark = pytest.mark.interop("tensorflow")


def tensor(*values: Any) -> tg.Tensor:
    return tg.asarray(np.asarray(values, np.float32), backend="tensorflow")


@tg.function
def doubled(x: Any) -> Any:
    return x * 2.0


class Model:
    def __init__(self, value: float) -> None:
        self.w = tg.Variable(tensor(value))

    @tg.function
    def scaled(self, x: Any, factor: float = 1.0) -> Any:
        """Doc."""
        return x * self.w * factor

    @classmethod
    @tg.function
    def named(cls, x: Any) -> Any:
        return x * len(cls.__name__)

    @staticmethod
    @tg.function
    def negated(x: Any) -> Any:
        return -x


class Holder:
    """One that compiles its own method."""

    def __init__(self, value: float) -> None:
        self.w = tg.Variable(tensor(value))
        self.call = tg.function(self._call)

    def _call(self, x: Any) -> Any:
        return x * self.w


Pair = namedtuple("Pair", "first second")


@optree.dataclasses.dataclass(namespace="tapegrad")
class Record:
    values: Any
    more: Any
    name: str = optree.dataclasses.field(pytree_node=False)


def test_named_tuples_ordered_dictionaries_and_dataclasses() -> None:
    x, y = tensor(1), tensor(2)
    swapped = tg.function(lambda p: Pair(p.second, p.first))(Pair(x, y))
    assert type(swapped) is Pair
    assert swapped.first.item() == 2
    assert list(tg.function(lambda d: d)(OrderedDict(z=x, a=y))) == ["z", "a"]
    made = tg.function(lambda r: Record(r.values * 2.0, {"k": r.more + 1.0}, r.name))(Record(x, y, "n"))
    assert (made.values.item(), made.more["k"].item(), made.name) == (2, 3, "n")


def test_arguments_that_are_written_in_another_way_are_no_other_kind() -> None:
    f = tg.function(lambda x, n=2, *, m=1: x * n * m)
    for y in (f(tensor(1)), f(tensor(1), 2), f(x=tensor(1), n=2), f(tensor(1), n=2, m=1)):
        assert y.item() == 2
    assert f.trace_count == 1
    g = tg.function(lambda a, b: a - b)
    assert g(b=tensor(1), a=tensor(3)).item() == g(tensor(3), tensor(1)).item() == 2


def test_constants_that_are_equal_and_differ() -> None:
    f = tg.function(lambda x, c: x / c)
    np.testing.assert_array_equal([f(tensor(1), c).item() for c in (0.0, -0.0)], [np.inf, -np.inf])
    for _ in range(3):
        f(tensor(1), float("nan"))
    assert f.trace_count == 3
    g = tg.function(lambda x, s: x * len(s))
    mutable = {1, 2}
    assert g(tensor(1), mutable).item() == 2
    mutable.add(3)
    assert g(tensor(1), mutable).item() == 3


def test_empty_arrays_scalars_and_lengths_of_one_are_traced_apart() -> None:
    f = tg.function(lambda x: (tg.sum(x), x * 2.0))
    for n in (0, 1, 3, 4, 0, 1, 5):
        total, y = f(tensor(*range(n)))
        assert (total.item(), y.shape) == (sum(range(n)), (n,))
    assert f(tg.asarray(3.0))[1].item() == 6
    assert f.trace_count == 5  # 0, 1, 3, an open length, and no axis


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16", "bool", "complex64", "uint8", "bfloat16"])
def test_another_dtype_is_traced_anew_and_promotes_as_without_compiling(dtype: str) -> None:
    f = tg.function(lambda x: x * 2)
    f(tensor(1, 0))
    x = tg.astype(tensor(1, 0), dtype)
    y, expected = f(x), f.python_function(x)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y.numpy(), expected.numpy())


def test_numpy_arrays_however_they_lie_in_memory() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    f = tg.function(lambda x: x + 0.0)
    for x in (a.T, a[:, ::2], a[::-1], a.astype(">f4"), np.float32(2.5), np.broadcast_to(a[0], (3, 4))):
        np.testing.assert_array_equal(f(x).numpy(), x)


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([None, 1], object), np.array(["2020"], "datetime64[D]")])
def test_arrays_of_no_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"expected arrays of numbers, got one of .*; give it as a Python object"):
        tg.function(lambda x: x)(value)


def test_iterators_generators_and_coroutines_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"used up as the function is traced; give it as list\(iterator\)"):
        tg.function(sum)(tensor(i) for i in range(3))

    def generator(x: Any) -> Any:
        yield x

    async def coroutine(x: Any) -> Any:
        return x

    for f in (generator, coroutine):
        with pytest.raises(ArgumentError, match=f"{f.__name__} is a generator or a coroutine"):
            tg.function(f)


def test_methods_are_compiled_for_each_instance_while_it_lives() -> None:
    a, b = Model(2.0), Model(3.0)
    assert [a.scaled(tensor(1)).item(), b.scaled(tensor(1), 2.0).item(), a.scaled(tensor(5)).item()] == [2, 6, 10]
    assert Model.scaled(a, tensor(1)).item() == 2
    assert (a.scaled.trace_count, a.scaled.__name__, a.scaled.__self__) == (1, "scaled", a)
    assert (Model.named(tensor(1)).item(), a.negated(tensor(1)).item()) == (5, -1)
    c = Model(4.0)
    c.scaled(tensor(1))
    traces, gone = Model.scaled.trace_count, weakref.ref(c)
    del c
    gc.collect()
    assert gone() is None
    assert Model.scaled.trace_count == traces


def test_copies_and_pickles() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.deepcopy(doubled) is doubled
    model = Model(2.0)
    other = copy.deepcopy(model)
    other.w.assign([5.0])
    assert [m.scaled(tensor(1)).item() for m in (model, other, pickle.loads(pickle.dumps(model)))] == [2, 5, 2]
    holder = Holder(2.0)
    holder.call(tensor(1))
    twin = copy.deepcopy(holder)
    twin.w.assign([5.0])
    assert [h.call(tensor(1)).item() for h in (holder, twin, pickle.loads(pickle.dumps(holder)))] == [2, 5, 2]
    method = copy.deepcopy(model.scaled)
    method.__self__.w.assign([7.0])
    assert [m(tensor(1)).item() for m in (model.scaled, method, pickle.loads(pickle.dumps(model.scaled)))] == [2, 7, 2]
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(tg.function(lambda x: x))


def test_a_function_that_is_compiled_already_is_compiled_again() -> None:
    assert tg.function(tg.function(lambda x: x * 2.0), jit_compile=True)(tensor(1)).item() == 2


def test_a_variable_may_be_made_in_the_first_call() -> None:
    class Lazy:
        w: Any = None

    lazy = Lazy()

    @tg.function
    def f(x: Any) -> Any:
        if lazy.w is None:
            lazy.w = tg.Variable(tg.ones((2,)))
        return x * lazy.w

    assert f(tensor(1, 2)).tolist() == [1, 2]
    lazy.w.assign([3.0, 3.0])
    with tg.GradientTape() as tape:
        y = f(tensor(1, 2))
    assert y.tolist() == [3, 6]
    assert tape.gradient(y, lazy.w).tolist() == [1, 2]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x * float(x),
        lambda x: x * x.item(),
        lambda x: x * x.numpy(),
        lambda x: f"{x:.3f}",
    ],
)
def test_values_that_are_not_there_yet(use: Any) -> None:
    with pytest.raises(SymbolicValueError, match=r"write tapegrad.where\(condition, a, b\) for an `if`") as caught:
        tg.function(use)(tg.asarray(2.0, backend="tensorflow"))
    assert "was traced for float32 ()" in caught.value.__notes__[0]


def test_a_tensor_that_is_kept_from_inside_is_refused_outside() -> None:
    kept: list[Any] = []

    @tg.function
    def f(x: Any) -> Any:
        kept.append(x * 2.0)
        return x

    f(tensor(1))
    with pytest.raises(EscapedError, match=r"add\(x1, x2\): a tensor that was made while a function was traced"):
        kept[0] + 1.0


def test_python_that_counts_lengths_is_traced_for_each() -> None:
    sums = tg.function(lambda x: sum(x[i] for i in range(x.shape[0])))
    rows = tg.function(lambda x: [r * 2.0 for r in x])
    for n in (2, 3, 4, 3):
        assert sums(tensor(*range(n))).item() == sum(range(n))
        assert len(rows(tensor(*range(n)))) == n


def test_lengths_that_grow_together_are_known_to_be_the_same() -> None:
    w = tg.Variable(np.full((3, 4), 0.25, np.float32))

    @tg.function
    def step(x: Any, labels: Any) -> Any:
        if x.shape[:1] != labels.shape:
            raise ValueError("x and labels differ")
        with tg.GradientTape() as tape:
            loss = tg.nn.cross_entropy(tg.matmul(tg.tanh(x), w), labels)
        return loss, tape.gradient(loss, w)

    for n in (4, 3, 2, 7):
        x = tg.asarray(np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32))
        labels = tg.asarray(np.arange(n) % 4)
        for a, b in zip(step(x, labels), step.python_function(x, labels), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert step.trace_count == 2
    with pytest.raises(ValueError, match="x and labels differ"):
        step(tensor([1, 2, 3], [1, 2, 3]), tg.asarray([0, 1, 2]))
    sums = tg.function(lambda x, y: tg.sum(x) * tg.sum(y))
    for a, b in ((2, 2), (3, 3), (4, 5), (6, 7), (8, 8), (3, 1)):
        assert sums(tensor(*[1] * a), tensor(*[1] * b)).item() == a * b


def test_new_arrays_of_lengths_that_are_open() -> None:
    @tg.function
    def f(x: Any) -> Any:
        n = x.shape[0]
        return [tg.ones(x.shape) * x.size, tg.full((n, 2), 1.5), tg.arange(n), tg.eye(n), tg.zeros((n,)), tg.reshape(x, (n * 2,))]

    for n in (3, 4, 5):
        x = tensor(*[[1, 2]] * n)
        for a, b in zip(f(x), f.python_function(x), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert f.trace_count == 2
