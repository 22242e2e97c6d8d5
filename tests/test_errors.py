import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        ("ArgumentError", TypeError),
        ("ShapeError", ValueError),
        ("DTypeError", TypeError),
        ("BoundsError", IndexError),
        ("RangeError", OverflowError),
        ("MatrixError", np.linalg.LinAlgError),
        ("GradientError", RuntimeError),
        ("SpentError", RuntimeError),
        ("NotDifferentiable", NotImplementedError),
        ("DeclarationError", TypeError),
        ("DetachedError", TypeError),
    ],
)
def test_errors_have_one_base_and_a_fitting_builtin(error: str, builtin: type[Exception]) -> None:
    kind = getattr(errors, error)
    assert issubclass(kind, errors.TapegradError)
    assert issubclass(kind, builtin)
    assert kind.__doc__


def test_an_error_in_an_op_names_it_and_what_it_was_given() -> None:
    a, b = tg.ones((2, 3)), tg.ones((4, 3), dtype=tg.float64)
    with pytest.raises(errors.ShapeError, match=r"(?s)add\(x1, x2\): .*x1: float32 \(2, 3\), x2: float64 \(4, 3\)"):
        a + b
    with pytest.raises(errors.ShapeError, match=r"(?s)matmul\(x1, x2\): .*\(2, 3\).*float64 \(4, 3\)"):
        a @ b
    with pytest.raises(errors.DTypeError, match=r"bitwise_and\(x1, x2\)"):
        a & 1.5


def test_an_error_in_an_op_keeps_its_cause_and_leaves_recording_as_it_was() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(errors.ShapeError) as caught:
            x + tg.ones((3,))
        y = x * x
    assert isinstance(caught.value.__cause__, ValueError)
    assert tape.gradient(y, x).tolist() == [3, 5]


def test_an_index_out_of_range_is_an_index_error_too() -> None:
    x = tg.ones((2, 3))
    for index in (2, (0, 3), np.asarray([5])):
        with pytest.raises(IndexError, match="getitem") as caught:
            x[index]
        assert isinstance(caught.value, errors.ShapeError)
        assert type(caught.value) is errors.BoundsError
    with pytest.raises(IndexError, match=r"sum\(x\)"):
        tg.sum(x, axis=2)


def test_a_python_integer_that_does_not_fit_is_an_overflow_error_too() -> None:
    with pytest.raises(OverflowError) as caught:
        tg.asarray([1], dtype=tg.int8) + 300
    assert isinstance(caught.value, errors.DTypeError)


def test_an_interrupt_inside_an_op_is_passed_on_as_it_is() -> None:
    @tg.linear(laws="only here", public=False)
    def interrupted(xp: object, x: object, /) -> object:
        """Nothing: it is interrupted."""
        raise KeyboardInterrupt

    interrupted.adjoint(x=lambda F, g: g)
    with pytest.raises(KeyboardInterrupt):
        interrupted(tg.asarray(1.5))


def test_missing_and_unknown_arguments_are_pythons_own_errors() -> None:
    with pytest.raises(TypeError, match="exp"):
        tg.exp()
    with pytest.raises(TypeError, match="axes"):
        tg.sum(tg.ones((2,)), axes=0)


def test_names_of_the_package_are_completed_and_corrected() -> None:
    for name in ("nn", "linalg", "fft", "special", "bfloat16", "sum"):
        assert name in dir(tg)
    with pytest.raises(AttributeError, match=r"; did you mean tapegrad.reshape\?$") as caught:
        tg.reshap
    assert (caught.value.name, caught.value.obj) == ("reshap", None)  # with both Python would say it again


def test_a_kernel_in_another_layout_is_told_the_right_one() -> None:
    images, kernel = tg.ones((2, 3, 8, 8)), tg.ones((4, 3, 3, 3))
    with pytest.raises(errors.ShapeError, match=r"got 3 \* 1 and 8, 3 % 1; a kernel is \(H, W, C / groups, O\), .*channels_first"):
        tg.nn.conv2d(images, kernel)
    with pytest.raises(errors.ShapeError, match=r"expected a kernel \(H, W, C / groups, O\), got shape \(3,\)"):
        tg.nn.conv2d(images, tg.ones((3,)))


def test_what_a_tape_is_given_in_the_place_of_a_tensor_is_refused_with_a_way_out() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(errors.ArgumentError, match=r"got ndarray; write x = tapegrad.asarray\(x\)"):
            tape.watch(np.ones(2))
    with pytest.raises(errors.ArgumentError, match=r"got ndarray; write x = tapegrad.asarray\(x\)"):
        tape.gradient(y, [x, np.ones(2)])
    with pytest.raises(errors.ArgumentError, match="got set; structures are lists, tuples, dicts"):
        tape.gradient(y, {x})
    with pytest.raises(errors.ArgumentError, match=r"got ndarray; .* has no history"):
        tape.gradient(y.numpy(), x)
    assert tape.gradient(y, x).tolist() == [3, 5]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + tg.ones(2),
        lambda x: tg.sum(x, axis=4),
        lambda x: tg.concat([x, tg.ones((2, 2))]),
        lambda x: tg.nn.conv2d(x, x),
        lambda x: tg.linalg.cholesky(-tg.eye(2)),
        lambda x: tg.grad(lambda y: tg.sum(y @ x) * tg.ones(2))(x),
    ],
)
def test_an_error_that_was_caught_holds_nothing_until_the_next_collection(f: Callable[[tg.Tensor], Any]) -> None:
    def failed() -> bool:
        try:
            f(tg.ones(3))
        except errors.TapegradError:
            return True
        return False

    assert failed()  # the first call compiles, and imports
    gc.collect()
    gc.disable()
    try:
        assert failed()
        assert gc.collect() == 0
    finally:
        gc.enable()
