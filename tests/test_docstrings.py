"""Every example in a docstring runs and prints what it says; every public op's docstring keeps the house rules."""

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import tapegrad as tg
from tapegrad import errors
from tapegrad.registry import public
from tapegrad.registry.docs import summary
from tapegrad.registry.op import OPS, Op

NAMES = ["tapegrad", *(found.name for found in pkgutil.walk_packages(tg.__path__, "tapegrad."))]
# Modules of tapegrad.keras.backend are imported while Keras is, and by nobody else; tapegrad.tf.keras imports it.
ELSEWHERE = ("tapegrad.keras.backend.", "tapegrad.tf.keras")


def modules() -> Iterator[ModuleType]:
    for name in NAMES:
        if not name.endswith("__main__") and not name.startswith(ELSEWHERE):
            try:
                yield importlib.import_module(name)
            except ModuleNotFoundError as error:  # those of TensorFlow's kernels, where TensorFlow is missing
                if error.name != "tensorflow":
                    raise


MODULES = list(modules())
PUBLIC = public.names()


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    parser = doctest.DocTestParser()
    seen: set[tuple[str | None, str]] = set()
    for module in MODULES:
        for example in finder.find(module, module.__name__):
            if example.examples and (key := (example.filename, example.docstring)) not in seen:
                seen.add(key)
                yield example
    for op in OPS.values():
        doc = inspect.cleandoc(op.body.__doc__ or "")
        example = parser.get_doctest(doc, {}, f"{op.body.__module__}.{op.name}", op.body.__code__.co_filename, None)
        if example.examples and (example.filename, example.docstring) not in seen:
            yield example


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_prints_what_it_says(example: doctest.DocTest) -> None:
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert not said, "".join(said)


@pytest.fixture(params=sorted(PUBLIC))
def op(request: pytest.FixtureRequest) -> Op:
    return PUBLIC[request.param]


#: First words of sentences that tell what a function does, where the house says what the value is.
COMMANDS = {"apply", "calculate", "compute", "create", "evaluate", "find", "get", "make", "perform", "return", "take"}


def test_the_first_sentence_says_what_the_value_is(op: Op) -> None:
    first = inspect.cleandoc(op.body.__doc__ or "").split("\n\n")[0]
    assert first.endswith("."), f"the first paragraph is a sentence, and ends with a full stop: {first!r}"
    assert not re.match(r"\s", first)
    word = first.split()[0].lower()
    assert word not in COMMANDS
    assert word.removesuffix("s") not in COMMANDS
    assert summary(op).endswith(".")


def test_a_kink_is_told_with_the_derivative_that_is_taken_there(op: Op) -> None:
    if callable(op.kinks) or op.kinks:
        assert re.search(r"derivative|gradient", op.body.__doc__ or "")


def test_what_an_op_refuses_is_told_with_its_error() -> None:
    told = [(op.name, word) for op in PUBLIC.values() for word in re.findall(r"Raises (\w+)", op.body.__doc__ or "")]
    known = {name for name in dir(tg.errors) if name.endswith("Error")} | {"IndexError", "TypeError", "ValueError"}
    assert {word for _, word in told} <= known | {"NotDifferentiable"}


M, V, Z = tg.ones((2, 3)), tg.ones(3), tg.zeros((2, 2))
#: Calls that the docstring of the op refuses, and with which error.
REFUSED: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "matmul": (lambda: tg.matmul(M, M), errors.ShapeError),
    "vecdot": (lambda: tg.vecdot(V, tg.ones(1)), errors.ShapeError),
    "tensordot": (lambda: tg.tensordot(M, M, axes=1), errors.ShapeError),
    "linalg.inv": (lambda: tg.linalg.inv(Z), errors.MatrixError),
    "linalg.solve": (lambda: tg.linalg.solve(Z, tg.ones(2)), errors.MatrixError),
    "linalg.solve_triangular": (lambda: tg.linalg.solve_triangular(Z, tg.ones(2)), errors.MatrixError),
    "linalg.lstsq": (lambda: tg.linalg.lstsq(M, V), errors.ShapeError),
    "linalg.cholesky": (lambda: tg.linalg.cholesky(-tg.eye(2)), errors.MatrixError),
    "linalg.det": (lambda: tg.linalg.det(M), errors.MatrixError),
    "linalg.eigh": (lambda: tg.linalg.eigh(M), errors.MatrixError),
    "linalg.matrix_exp": (lambda: tg.linalg.matrix_exp(M), errors.MatrixError),
    "linalg.matrix_power": (lambda: tg.linalg.matrix_power(M, 2), errors.ShapeError),
    "linalg.trace": (lambda: tg.linalg.trace(V), errors.ShapeError),
    "linalg.diagonal": (lambda: tg.linalg.diagonal(V), errors.ShapeError),
    "linalg.cross": (lambda: tg.linalg.cross(tg.ones(4), tg.ones(4)), errors.ShapeError),
    "reshape": (lambda: tg.reshape(M, (4,)), errors.ShapeError),
    "broadcast_to": (lambda: tg.broadcast_to(V, (2,)), errors.ShapeError),
    "concat": (lambda: tg.concat([M, V]), errors.ShapeError),
    "stack": (lambda: tg.stack([M, V]), errors.ShapeError),
    "squeeze": (lambda: tg.squeeze(M, axis=0), errors.ShapeError),
    "expand_dims": (lambda: tg.expand_dims(M, axis=5), errors.BoundsError),
    "permute_dims": (lambda: tg.permute_dims(M, (0, 0)), errors.ShapeError),
    "take": (lambda: tg.take(V, tg.asarray(7)), errors.BoundsError),
    "getitem": (lambda: M[5], errors.BoundsError),
    "split": (lambda: tg.split(V, 2), errors.ShapeError),
    "unstack": (lambda: tg.unstack(M, axis=2), errors.BoundsError),
    "sum": (lambda: tg.sum(M, axis=2), errors.BoundsError),
    "max": (lambda: tg.max(tg.zeros(0)), errors.ShapeError),
    "min": (lambda: tg.min(tg.zeros(0)), errors.ShapeError),
    "sort": (lambda: tg.sort(M, axis=3), errors.BoundsError),
    "where": (lambda: tg.where(M > 0, M, tg.ones(2)), errors.ShapeError),
    "quantile": (lambda: tg.quantile(V, 1.5), errors.RangeError),
    "interp": (lambda: tg.interp(V, V, tg.ones(2)), errors.ShapeError),
    "convolve": (lambda: tg.convolve(M, V), errors.ShapeError),
    "repeat": (lambda: tg.repeat(V, tg.asarray([1, 2])), errors.ShapeError),
    "fft.rfft": (lambda: tg.fft.rfft(tg.asarray([1j])), errors.DTypeError),
    "nn.embedding": (lambda: tg.nn.embedding(V, V), errors.DTypeError),
    "nn.linear": (lambda: tg.nn.linear(M, M, V), errors.ShapeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_docstring_says_is_refused_is_refused_so(name: str) -> None:
    call, error = REFUSED[name]
    assert f"Raises {error.__name__}" in (PUBLIC[name].body.__doc__ or "")
    with pytest.raises(error):
        call()


def test_the_public_function_has_the_docstring_and_signature_of_its_op(op: Op) -> None:
    assert op.entry.__doc__ == op.body.__doc__
    names = list(inspect.signature(op.body).parameters)[1:]  # without the namespace
    before = inspect.signature(op.entry)
    assert list(before.parameters) == names
    assert all(p.annotation is p.empty for p in before.parameters.values())


def test_help_shows_it_before_and_after_the_first_call() -> None:
    shown = []
    for _ in range(2):
        assert str(inspect.signature(tg.sum)) == "(x, /, *, axis=None, dtype=None, keepdims=False)"
        assert tg.sum.__name__ == "sum"
        shown.append(inspect.getdoc(tg.sum))
        tg.sum(tg.asarray([0.5]))
    assert shown[0] == shown[1]
    assert "sum" in (shown[0] or "")


def test_the_source_of_a_public_function_is_the_body_of_its_op() -> None:
    for _ in range(2):
        assert inspect.getsource(tg.tanh).startswith("@elementwise\ndef tanh(xp: Any, x: Any, /) -> Any:")
        tg.tanh(tg.asarray(0.5))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_module_says_what_it_is(module: ModuleType) -> None:
    assert (inspect.getdoc(module) or "").split("\n\n")[0].endswith((".", ":"))
