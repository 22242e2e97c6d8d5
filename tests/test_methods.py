import copy
import operator
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DetachedError, DTypeError, ShapeError
from tapegrad.ops.habits import HABITS


def test_conversion_to_python_numbers() -> None:
    for x in (tg.asarray(2.5), tg.asarray([[2.5]]), tg.Variable(2.5)):
        assert (bool(x), int(x), float(x), complex(x)) == (True, 2, 2.5, 2.5 + 0j)
    assert bool(tg.asarray(0)) is False
    assert int(tg.asarray(True)) == 1


@pytest.mark.parametrize("convert", [int, float, complex])
def test_a_python_number_is_made_of_one_element_only(convert: type) -> None:
    for x in (tg.asarray([1.5, 2.5]), tg.zeros((0,))):
        with pytest.raises(TypeError, match="one element"):
            convert(x)


def test_truth_is_for_one_element_only() -> None:
    for x in (tg.asarray([1.5, 2.5]), tg.zeros((0,))):
        with pytest.raises(ShapeError, match=r"expected x.size == 1, got shape .*tapegrad.any"):
            bool(x)


def test_a_0_d_tensor_of_integers_is_an_index() -> None:
    assert ["a", "b", "c"][tg.asarray(1)] == "b"
    assert list(range(5))[tg.asarray(1) : tg.asarray(3)] == [1, 2]
    assert operator.index(tg.asarray(3, dtype=tg.uint8)) == 3
    for x in (tg.asarray(1.0), tg.asarray(True), tg.asarray([1])):
        with pytest.raises(DTypeError, match="an index is a 0-d tensor of integers"):
            operator.index(x)


def test_length_and_iteration_are_over_the_first_axis() -> None:
    x = tg.asarray([[1.5, 2.5], [3.5, 4.5]])
    with tg.GradientTape() as tape:
        tape.watch(x)
        total = sum(weight * a * b for weight, (a, b) in zip([1, 10], x, strict=True))
    assert len(x) == 2
    assert tape.gradient(total, x).tolist() == [[2.5, 1.5], [45, 35]]
    for ask in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            ask(tg.asarray(1.5))


def test_hashes_are_by_identity() -> None:
    x, y = tg.asarray([1.5]), tg.asarray([1.5])
    assert len({x, y, tg.asarray(x)}) == 2


def test_comparison_with_none_is_by_identity_and_with_numbers_by_element() -> None:
    x = tg.asarray([1.5, 2.5])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False
    assert (x == 1.5).tolist() == [True, False]
    assert (x != np.asarray([1.5, 0])).tolist() == [False, True]


def test_comparison_chains_take_scalars_only() -> None:
    assert 1 < tg.asarray(1.5) < 2
    assert not 1 < tg.asarray(2.5) < 2
    with pytest.raises(ShapeError, match=r"tapegrad.all"):
        assert 1 < tg.asarray([1.5, 2.5]) < 2


def test_an_array_on_the_left_leaves_the_operator_to_the_tensor() -> None:
    x, a = tg.asarray([1.5, 2.5]), np.asarray([2, 4], np.float32)
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod, operator.matmul):
        y = op(a, x)
        assert type(y) is tg.Tensor
        np.testing.assert_allclose(y.numpy(), op(a, x.numpy()), rtol=1e-6)
    assert (a < x).tolist() == [False, False]
    assert (np.float32(2) - x).tolist() == [0.5, -0.5]


def test_text_shows_values_dtype_and_who_records() -> None:
    x = tg.asarray([1.5, -2.0])
    assert repr(x) == "Tensor([ 1.5, -2. ], dtype=float32)"
    with tg.GradientTape() as tape:
        tape.watch(x)
        assert repr(x) == "Tensor([ 1.5, -2. ], dtype=float32, recorded by a tape)"
    assert "recorded" not in repr(x)
    assert repr(tg.asarray(True)) == "Tensor(True, dtype=bool)"
    assert "bfloat16" in repr(tg.asarray(1.5, dtype="bfloat16"))
    assert len(repr(tg.zeros((1000, 1000)))) < 2000


def test_a_format_is_that_of_the_only_element() -> None:
    for x in (tg.asarray(2.5), tg.asarray([[2.5]]), tg.Variable(2.5)):
        assert f"{x:.3f}" == "2.500"
    assert f"{tg.asarray([1.5, 2.5])}" == "Tensor([1.5, 2.5], dtype=float32)"
    with pytest.raises(TypeError, match=r"the format '.3f' takes an array of one element, got shape \(2,\)"):
        f"{tg.asarray([1.5, 2.5]):.3f}"


def test_shapes_and_dtypes_are_plain() -> None:
    x = tg.ones((2, 0, 3), dtype=tg.float64)
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 0, 3), 3, 0, np.dtype("float64"))
    assert type(x.shape) is tuple
    assert tg.asarray(1.5).shape == ()


def test_lists_and_items() -> None:
    assert tg.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert type(tg.asarray([[2.5]]).item()) is float
    assert type(tg.asarray(2).item()) is int
    with pytest.raises(TypeError, match="one element"):
        tg.asarray([1, 2]).item()


# -- copies --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("x", [2.5, [1.5, 2.5], True, [1j]])
def test_tensors_are_copied_and_pickled_by_value(again: object, x: object) -> None:
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        if t.dtype.kind in "fc":
            tape.watch(t)
    found = again(t)  # type: ignore[operator]
    assert type(found) is tg.Tensor
    assert found.node is None
    assert (found.tolist(), found.dtype) == (t.tolist(), t.dtype)
    assert not np.shares_memory(found.numpy(), t.numpy())


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"]
)
def test_a_copied_variable_is_another_variable(again: object) -> None:
    v = tg.Variable([1.5, 2.5], trainable=False, name="kernel")
    with tg.GradientTape() as tape:
        tape.watch(v)
        v * v
        w = again(v)  # type: ignore[operator]
    assert type(w) is tg.Variable
    assert (w.tolist(), w.name, w.trainable, w.node) == ([1.5, 2.5], "kernel", False, None)
    w.assign_add([1.0, 1.0])
    assert v.tolist() == [1.5, 2.5]


def test_a_recorded_tensor_is_not_copied_without_its_history() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        for again in (copy.deepcopy, pickle.dumps):
            with pytest.raises(DetachedError, match="stop_gradient"):
                again(y)
        z = copy.copy(y)
        z += 1
    assert y.tolist() == [2.25, 6.25]
    assert tape.gradient([y, z], x).tolist() == [6, 10]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "var", "all", "any", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_reduction_is_a_method_too(name: str, axis: int | None) -> None:
    x = tg.asarray([[0.5, -1.5, 2.0], [1.5, 0.25, -0.5]])
    expected = getattr(tg, name)(x, axis=axis).numpy()
    np.testing.assert_array_equal(getattr(x, name)(axis).numpy(), expected)
    assert getattr(x, name)(axis, keepdims=True).shape == getattr(tg, name)(x, axis=axis, keepdims=True).shape


def test_methods_that_change_shape_or_dtype_record() -> None:
    x = tg.asarray([[0.5, -1.5], [1.5, 0.25]])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = (x.reshape(4, 1).squeeze() * x.reshape((-1,))).astype(tg.float64).sum()
    assert y.dtype == tg.float64
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * x.numpy())


def test_a_method_that_tensors_have_elsewhere_says_what_is_written_here() -> None:
    x = tg.asarray([1.0, 2.0])
    for name, hint in HABITS.items():
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=f"^'Tensor' object has no attribute '{name}'; {re.escape(hint)}$"):
            getattr(x, name)
        for written in re.findall(r"tapegrad\.([\w.]+)\(", hint):
            found: Any = tg
            for part in written.split("."):
                found = getattr(found, part)
            assert callable(found)
    with pytest.raises(AttributeError, match="'Variable' object has no attribute 'backward'"):
        tg.Variable(1.0).backward()


def test_what_tensors_lack_is_not_listed_among_their_attributes() -> None:
    listed = dir(tg.asarray(1.5))
    assert "reshape" in listed
    assert not {*HABITS} & {*listed}


def test_setting_what_tensors_lack_says_what_is_written_here() -> None:
    x = tg.asarray(1.5)
    with pytest.raises(AttributeError, match="has no attribute 'requires_grad'; record under"):
        x.requires_grad = True


def test_a_derived_class_may_have_what_tensors_lack() -> None:
    class Named(tg.Variable):
        pass

    v = Named(1.5)
    assert not hasattr(v, "grad")
    v.grad = 2.5
    assert v.grad == 2.5


def test_a_none_among_the_arguments_of_an_op_is_taken_for_a_gradient() -> None:
    with pytest.raises(ArgumentError, match=r"expected an array for x2, got NoneType; a gradient is None where"):
        tg.asarray(1.5) - None


@pytest.mark.parametrize(
    ("shape", "end"),
    [
        ((0, 3), "Tensor([], shape=(0, 3), dtype=float32)"),
        ((0,), "Tensor([], dtype=float32)"),
        ((40, 50), "shape=(40, 50), dtype=float32)"),
    ],
)
def test_text_that_does_not_show_the_shape_says_it(shape: tuple[int, ...], end: str) -> None:
    assert repr(tg.zeros(shape)).endswith(end)
    assert "shape" not in repr(tg.zeros((2, 3)))
