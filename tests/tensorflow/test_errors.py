"""What goes wrong on TensorFlow's kernels is an error of tapegrad's, that names the op and what it was given; the original is chained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import BoundsError, KernelError, MatrixError, ResourceError, ShapeError, TapegradError
from tapegrad.registry.backends import making_on, tensorflow
from tapegrad.registry.op import OPS
from tapegrad.testing import Case, Draw, law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.registry.op import Op

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: What an argument becomes that the op was not given it for.
MISFITS: dict[str, Callable[[Any], Any]] = {
    "longer": lambda x: np.concatenate([np.zeros((*x.shape[:-1], 5), x.dtype), x], axis=-1) if x.ndim else np.zeros(5, x.dtype),
    "without axes": lambda x: np.zeros((), x.dtype),
    "boolean": lambda x: x.real > 0,
    "complex": lambda x: x.astype(np.complex128),
    "far away": lambda x: np.full_like(x, 99),
}
#: Ops that others call with what fits alone: these look at their arguments only as they come to them.
INNER = ("matrix_exp_along", "polygamma_gap", "bessel_i")


def misfits(op: Op, change: Callable[[Any], Any]) -> Iterator[tuple[Case, list[Any]]]:
    for i, x in enumerate(Case(op, Draw(3)).xs):
        if isinstance(x, np.ndarray | np.generic):
            case = Case(op, Draw(3))
            xs = list(case.xs)
            xs[i] = change(np.asarray(x))
            yield case, xs


def foreign(case: Case, xs: list[Any]) -> Exception | None:
    """An error of somebody else's that the op, or its derivative, raises for these arguments."""
    try:
        tensors = [tg.asarray(x) if isinstance(x, np.ndarray) else x for x in xs]
        sources = [t for t in tensors if isinstance(t, tg.Tensor)]
        with tg.GradientTape() as tape:
            tape.watch(sources)
            ys = case.call(tensors)
        tape.gradient(ys, sources)
    except TapegradError:
        return None
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("what", MISFITS)
def test_arguments_that_do_not_fit_are_refused_by_tapegrad(what: str) -> None:
    with making_on("tensorflow"):
        found = {
            op.name: error
            for op in OPS.values()
            if law.testable(op) and op.name not in INNER
            for case, xs in misfits(op, MISFITS[what])
            if (error := foreign(case, xs)) is not None
        }
    assert not found


@pytest.mark.parametrize(
    ("compute", "error", "match"),
    [
        (lambda x: tg.mean(x + tg.ones((4,))), ShapeError, r"add\(x1, x2\): Incompatible shapes: \[2,3\] vs. \[4\]\n  x1: float32"),
        (lambda x: tg.linalg.inv(tg.zeros((2, 2))), MatrixError, r"inv\(x\): Input is not invertible.\n  x: float32 \(2, 2\) on CPU:0"),
        (
            lambda x: tg.take(x, tg.asarray([7]), axis=0),
            BoundsError,
            r"take\(x, indices\): indices\[0\] = 7 is not in \[0, 2\)\n  x: float32 \(2, 3\) on CPU:0",
        ),
    ],
)
def test_the_message_is_that_of_tensorflow_without_its_names_and_the_original_is_the_cause(
    compute: Callable[[Any], Any], error: type[Exception], match: str
) -> None:
    with making_on("tensorflow"):
        x = tg.ones((2, 3))
        with tg.GradientTape() as tape:
            tape.watch(x)
            with pytest.raises(error, match=match) as caught:
                compute(x)
    assert "function_node" not in str(caught.value)
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__ is not caught.value


def test_where_there_is_no_room_the_error_is_one_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(x: Any) -> Any:  # TensorFlow itself tries for ten seconds
        raise tf.errors.ResourceExhaustedError(None, None, "{{function_node __wrapped__Exp}} OOM when allocating tensor [Op:Exp]")

    x = tg.ones((2, 3), backend="tensorflow")
    monkeypatch.setattr(tensorflow(), "exp", full)
    with pytest.raises(ResourceError, match=r"^exp\(x\): OOM when allocating tensor\n  x: float32 \(2, 3\) on CPU:0$") as caught:
        tg.exp(x)
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value.__cause__, tf.errors.ResourceExhaustedError)


def test_an_error_of_tensorflows_inside_a_derivative_is_one_of_tapegrads() -> None:
    @tg.custom_gradient
    def fails(x: Any) -> Any:
        def backward(g: Any) -> Any:
            raise tf.errors.InternalError(None, None, "the kernel has failed [Op:Exp]")

        return x * 1.0, backward

    x = tg.ones((2, 3), backend="tensorflow")
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = fails(x)
    with pytest.raises(KernelError, match=r"the derivative of .*: the kernel has failed\n  cotangent: float32 \(2, 3\) on CPU:0") as caught:
        tape.gradient(y, x)
    assert isinstance(caught.value.__cause__, tf.errors.InternalError)
