"""The stubs that type checkers read: they are up to date, and say what is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tapegrad as tg
from tapegrad.core import tensor
from tapegrad.registry import stubs
from tapegrad.registry.op import OPS


def test_they_are_up_to_date() -> None:
    assert [path.name for path, _ in stubs.stale()] == [], "run python -m tapegrad.registry.stubs"


def test_the_check_fails_on_a_stub_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stubs, "_file", lambda module: str(tmp_path / f"{module.__name__}.py"))
    for module in stubs.modules():
        source = Path(module.__file__ or "").read_text("utf-8")
        (tmp_path / f"{module.__name__}.py").write_text(source, "utf-8")
    assert stubs.main(["--check"]) == 1
    assert stubs.main([]) == 0
    assert stubs.main(["--check"]) == 0
    written = tmp_path / "tapegrad.pyi"
    written.write_text(written.read_text("utf-8").replace("def exp(", "def exq("), "utf-8")
    assert stubs.main(["--check"]) == 1


def test_a_word_that_it_does_not_know_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert stubs.main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("module", [tg, tg.fft, tg.linalg, tg.nn, tg.special], ids=lambda m: m.__name__)
def test_every_public_name_is_declared(module: ModuleType) -> None:
    tree = ast.parse(stubs.stub(module))
    declared = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    declared |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    declared |= {a.asname for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    modules = {name for name in module.__all__ if isinstance(getattr(module, name), ModuleType)} - declared
    assert set(module.__all__) - declared - modules == set()


@pytest.mark.parametrize("module", stubs.modules(), ids=lambda m: m.__name__)
def test_what_is_callable_is_declared_as_a_function_or_class(module: ModuleType) -> None:
    values = [n for n in ast.parse(stubs.stub(module)).body if isinstance(n, ast.AnnAssign)]
    assert [ast.unparse(n) for n in values if callable(getattr(module, ast.unparse(n.target), None))] == []


def test_every_member_of_tensor_is_declared() -> None:
    tree = ast.parse(stubs.stub(tensor))
    (body,) = (n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    declared = {n.name for n in body if isinstance(n, ast.FunctionDef)} | set(tg.Tensor.__annotations__)
    assert set(filter(stubs.is_there, vars(tg.Tensor))) - stubs.HIDDEN - {"__dict__"} == declared


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tanh", "def tanh(x: _ArrayLike, /) -> Tensor: ..."),
        ("concat", "def concat(arrays: Sequence[_ArrayLike], /, *, axis: int | None = 0) -> Tensor: ..."),
        (
            "clip",
            "def clip(x: _ArrayLike, /, min: _ArrayLike | None = None, max: _ArrayLike | None = None) -> Tensor: ...",
        ),
        ("split", "def split(x: _ArrayLike, /, sections: int | Sequence[int], *, axis: int = 0) -> tuple[Tensor, ...]: ..."),
    ],
)
def test_a_declaration_has_the_signature_of_the_body(name: str, expected: str) -> None:
    assert stubs.declaration(OPS[name]) == expected


def test_a_builtin_that_the_module_hides_is_written_out() -> None:
    assert re.search(r"^def all\(x: _ArrayLike, /, .* keepdims: builtins\.bool = False\) -> Tensor", stubs.stub(tg), re.M)


USE = """
import numpy as np
import tapegrad as tg
x = tg.asarray([1.5])
w = tg.Variable(x)
good: list[tg.Tensor] = [np.ones(2) * x, 2 ** w, x @ x + 1, x[0:1, None], x == x, tg.sum(x, axis=(0, 1)), *x]
number: float = float(x)
dtype: np.dtype[np.bool] = tg.bool
tg.sum(x, axs=1)
tg.exp("text")
tg.tahn(x)
x + "text"
def block(x: tg.Tensor, scale: float) -> tg.Tensor:
    return scale * x
tg.checkpoint(block)(x, "text")
a, b, c = tg.value_and_grad(tg.sum)(x)
(w * 2.0).foo
"""


@pytest.mark.slow
def test_a_type_checker_sees_what_is_right_and_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="not installed: mypy")
    program = tmp_path / "use.py"
    program.write_text(USE, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", str(program)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(stubs._file(tg)).parents[1])
    errors = re.findall(r"use\.py:(\d+): error: .*\[([\w-]+)\]", found.stdout)
    first = [("9", "call-arg"), ("10", "arg-type"), ("11", "attr-defined"), ("12", "operator")]
    assert errors == [*first, ("15", "arg-type"), ("16", "misc"), ("17", "attr-defined")], found.stdout
