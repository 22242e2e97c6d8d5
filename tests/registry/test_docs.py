"""The document of an op shows what it is and the rule itself; the command `ops` prints it."""

import inspect
import os
import subprocess
import sys

import pytest

import tapegrad as tg
from tapegrad.__main__ import main
from tapegrad.registry import docs, public
from tapegrad.registry.op import OPS, Op

PUBLIC = public.names()


def test_a_document_shows_docstring_kind_saved_values_and_rule() -> None:
    assert docs.document(OPS["tanh"]) == "\n".join(
        [
            "tanh(x, /)    [tapegrad.tanh]",
            "",
            inspect.cleandoc(OPS["tanh"].body.__doc__ or ""),
            "",
            "kind:   elementwise, after broadcasting; its rules are partial derivatives",
            "saves:  y",
            "",
            "    tanh.partials(x=lambda F, y: 1 - y * y)",
        ]
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("log", "domain: x from 0.1 to 9"),
        ("abs", "kinks:  x = 0"),
        ("maximum", "kinks:  where x1 - x2 == 0"),
        ("maximum", "takes:  real numbers only"),
        ("multiply", "saves:  x2 for x1; x1 for x2"),
        ("flip", "saves:  axis"),
        ("broadcast_to", "saves:  shape and dtype of x, shape"),
        ("equal", "kind:   constant wherever it is smooth: its derivative is zero"),
        ("multiply", '    multiply.partials(x1="x2", x2="x1")'),
        ("pow", "    def _power_partial_exponent(F: Any, x1: Any, x2: Any, y: Any) -> Any:"),
        ("abs", "    abs.pushforward(x=lambda F, t, x: F.real(t * F.conj(F.sign(x))))"),
        ("linalg.cholesky", "    def _halved(F: Any, x: Any) -> Any:"),
        ("vecdot", "    def vecdot(F: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:"),
        ("sum_to", "    sum_to.adjoint(x=lambda F, g, x: F.broadcast_to(g, x.shape))"),
    ],
)
def test_a_document_has_the_line(name: str, line: str) -> None:
    assert line in docs.document(docs.find(name)).splitlines()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_op_has_a_document_with_its_rule(name: str) -> None:
    op = PUBLIC[name]
    text = docs.document(op)
    assert inspect.cleandoc(op.body.__doc__ or "") in text
    rules = "\n".join(docs.rule_sources(op))
    if op.kind == "composite":
        assert f"def {op.name}(" in rules
        assert (op.body.__doc__ or "").strip().split("\n")[0] not in rules
    else:
        assert all(f"{a}=" in rules for a in op.differentiable)


def test_an_op_without_a_source_file_shows_what_is_known() -> None:
    space: dict[str, object] = {"tg": tg, "__name__": "nowhere"}
    source = 'def halved(xp, x, /):\n    """Half of each element."""\n    return x / 2'
    exec(compile(source, "<nowhere>", "exec"), space)
    before = set(OPS)
    try:
        op = tg.elementwise(space["halved"])  # type: ignore[arg-type]
        op.partials(x=0.5)
        text = docs.document(op)
    finally:
        for name in set(OPS) - before:
            del OPS[name]
    assert text.splitlines()[0] == "halved(x, /)    [nowhere, not public]"
    assert text.splitlines()[-1] == "    x: 0.5"


def test_an_op_declared_inside_a_function_shows_its_statement() -> None:
    before = set(OPS)
    try:

        @tg.elementwise
        def doubled(xp: object, x: float) -> float:
            """Twice each element."""
            return x * 2

        doubled.partials(x=lambda F, x: 2 + 0 * x)
        rules = docs.rule_sources(doubled)
    finally:
        for name in set(OPS) - before:
            del OPS[name]
    assert rules == ["doubled.partials(x=lambda F, x: 2 + 0 * x)"]


@pytest.mark.parametrize("name", ["relu", "nn.relu", "tg.nn.relu", "tapegrad.nn.relu"])
def test_an_op_is_found_with_or_without_its_module(name: str) -> None:
    assert docs.find(name) is tg.nn.relu.op  # type: ignore[attr-defined]


def test_the_command_lists_every_public_op_once_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(listed) == sorted(PUBLIC)
    assert "tapegrad.nn: " in "\n".join(lines)


def test_the_command_prints_the_document_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "tanh"]) == 0
    assert capsys.readouterr().out == docs.document(OPS["tanh"]) + "\n"


@pytest.mark.parametrize(
    ("name", "advice"),
    [("tahn", "did you mean tan or tanh"), ("nn.rleu", "nn.relu"), ("Tanh", "tanh"), ("qqqqq", "`python -m tapegrad ops` lists")],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"python -m tapegrad ops: error: there is no op '{name}'")
    assert advice in error


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "tapegrad", "ops"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_documents_cost_nothing_at_import() -> None:
    program = "import sys, tapegrad; print(*(m for m in ('difflib', 'tapegrad.registry.docs') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_kink_given_as_a_function_is_shown_as_its_expression() -> None:
    op: Op = OPS["remainder"]
    assert "kinks:  where (x1 / x2 + 0.5) % 1 - 0.5 == 0" in docs.document(op)
