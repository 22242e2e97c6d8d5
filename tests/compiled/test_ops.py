"""Ops of every family inside compiled functions, plain and by XLA: values, cotangents of two orders and tangents as on NumPy."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import fft, linalg, nn, special  # noqa: F401  declares their ops
from tapegrad.errors import BoundsError, CompilationError, OpenLengthError, ShapeError
from tapegrad.registry.op import OPS, Op
from tapegrad.testing import Case, Draw
from tapegrad.testing.law import same
from tapegrad.testing.subject import is_floating

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]

FAMILIES = {
    "arithmetic": "multiply divide pow maximum remainder hypot",
    "functions": "exp log tanh asinh log1p",
    "choice": "where clip copysign",
    "reductions": "sum prod max std logsumexp cumulative_sum",
    "shape": "reshape permute_dims concat broadcast_to roll tril",
    "indexing": "getitem take take_along_axis put",
    "products": "matmul einsum tensordot inner outer",
    "sorting": "sort argsort",
    "linalg": "solve inv det cholesky eigh svd matrix_norm",
    "fft": "fft irfft",
    "special": "erf gammaln digamma xlogy i0",
    "activations": "relu sigmoid gelu softmax log_softmax softplus",
    "layers": "linear conv max_pool layer_norm embedding",
    "losses": "cross_entropy huber_loss",
    "complex": "real conj abs",
}
#: What XLA does not have, 2.21: the op of TensorFlow's.
NO_XLA = {"det": "MatrixDeterminant", "i0": "BesselI0"}
#: What needs a length to choose what it computes.
NOT_OPEN = {"fft", "irfft"}
#: XLA iterates until vectors are good to about the square root of rounding.
LOOSE = {"eigh": 1e4, "svd": 1e4}
CASES = [(family, name) for family, names in FAMILIES.items() for name in names.split() if name in OPS]


def test_every_family_is_there() -> None:
    assert {family for family, _ in CASES} == set(FAMILIES)
    assert len(CASES) > 50


def derived(op: Op, case: Case, xs: list[Any], gs: list[Any], ts: list[Any]) -> list[Any]:
    """Values, cotangents, cotangents of these, and tangents."""
    sources = [x for x in xs if isinstance(x, tg.Tensor) and is_floating(x)]
    with tg.GradientTape() as outer:
        outer.watch(sources)
        with tg.GradientTape() as tape:
            tape.watch(sources)
            ys = case.call(xs)
        if op.kind == "constant" or not sources or not gs:
            return list(ys)
        active = [y for y in ys if is_floating(y)]
        first = tape.gradient(active, sources, output_gradients=gs)
        total = sum(tg.sum(tg.real(f * tg.conj(f))) for f in first if f is not None)
    second = outer.gradient(total, sources) if isinstance(total, tg.Tensor) else []
    with tg.ForwardAccumulator(sources, ts) as forward:
        tangents = [forward.jvp(y) for y in case.call(xs) if is_floating(y)]
    return [*ys, *first, *second, *tangents]


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "xla"])
@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_an_op_and_its_derivatives_are_the_same_compiled(family: str, name: str, jit: bool) -> None:
    op = OPS[name]
    case = Case(op, Draw(7, (3, 3), complex=family == "complex"))
    given = [np.asarray(x) if hasattr(x, "dtype") else x for x in case.xs]
    gs = [tg.asarray(g) for g in case.cotangents()] if case.differentiable else []
    ts = [tg.asarray(t) for t in case.tangents()] if case.differentiable else []
    eager = derived(op, case, [tg.asarray(x) if isinstance(x, np.ndarray) else x for x in given], gs, ts)

    @tg.function(jit_compile=jit)
    def compiled(xs: list[Any], gs: list[Any], ts: list[Any]) -> list[Any]:
        return derived(op, case, xs, gs, ts)

    if jit and name in NO_XLA:
        with pytest.raises(CompilationError, match=f"compiled by XLA, given float(?s:.*){NO_XLA[name]}") as caught:
            compiled(given, gs, ts)
        assert caught.value.__cause__ is not None
        return
    found = compiled(given, gs, ts)
    assert [None if y is None else (y.dtype, y.shape) for y in found] == [None if y is None else (y.dtype, y.shape) for y in eager]
    pairs = [(a.numpy(), b.numpy()) for a, b in zip(found, eager, strict=True) if a is not None and b is not None]
    eps = max((np.finfo(b.dtype).eps for _, b in pairs if b.dtype.kind in "fc"), default=0.0)
    rtol = 2e4 * op.tolerance * float(eps) * (LOOSE.get(name, 1.0) if jit else 1.0)
    same([a for a, _ in pairs], [b for _, b in pairs], rtol, "compiled", scale=1.0)


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_an_op_and_its_derivatives_of_lengths_that_are_open(family: str, name: str) -> None:
    op = OPS[name]
    case = Case(op, Draw(7, (3, 3), complex=family == "complex"))
    given = [np.asarray(x) if hasattr(x, "dtype") else x for x in case.xs]
    gs = [tg.asarray(g) for g in case.cotangents()] if case.differentiable else []
    ts = [tg.asarray(t) for t in case.tangents()] if case.differentiable else []
    inputs: list[Any] = [*(x for x in given if isinstance(x, np.ndarray)), *gs, *ts]
    shapes = [tuple(None if n > 1 else n for n in x.shape) for x in inputs]
    compiled = tg.function(lambda xs, gs, ts: derived(op, case, xs, gs, ts), shapes=shapes)
    if name in NOT_OPEN:
        with pytest.raises(OpenLengthError, match=r"give it in the input_signature of tf.function, or the `shapes`"):
            compiled(given, gs, ts)
        return
    eager = derived(op, case, [tg.asarray(x) if isinstance(x, np.ndarray) else x for x in given], gs, ts)
    for a, b in zip(compiled(given, gs, ts), eager, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "xla"])
def test_an_error_of_tensorflow_in_a_call_names_the_function_and_what_it_was_given(jit: bool) -> None:
    @tg.function(jit_compile=jit)
    def picks(x: Any, index: Any) -> Any:
        return tg.take(x, index, axis=0) @ tg.ones((3, 2))

    picks(np.ones((2, 3), np.float32), np.asarray([1]))
    picks(np.ones((4, 3), np.float32), np.asarray([3]))
    if not jit:  # XLA moves an index into the array
        given = r"given float32 \(5, 3\) on CPU:0, int64 \(1,\) on CPU:0"
        said = rf"picks at .*, compiled, {given}: indices\[0\] = 7 is not in \[0, 5\) \(in GatherV2\)$"
        with pytest.raises(BoundsError, match=said) as caught:
            picks(np.ones((5, 3), np.float32), np.asarray([7]))
        assert caught.value.__cause__ is not None


def test_shapes_that_do_not_fit_while_a_function_is_traced_are_told_without_the_graphs_names() -> None:
    said = r"^add\(x1, x2\): Dimensions must be equal, but are 2 and 4\n  x1: float32 \(2, 3\), x2: float32 \(4, 5\)(\n|$)"
    with pytest.raises(ShapeError, match=said) as caught:
        tg.function(lambda x, y: x + y)(np.ones((2, 3), np.float32), np.ones((4, 5), np.float32))
    assert caught.value.__cause__ is not None
