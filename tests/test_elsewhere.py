"""Names of other libraries, asked of tapegrad: the error says what to write here."""

import importlib
import re
import traceback
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.elsewhere import ADVICE, NAMES


def found(written: str) -> Any:
    """What a name written after `tapegrad.` is; a call in it is left out."""
    value: Any = tg
    for part in written.partition("(")[0].split("."):
        value = getattr(value, part)
    return value


def module_and_name(asked: str) -> tuple[Any, str]:
    part, _, name = asked.rpartition(".")
    return importlib.import_module(f"tapegrad.{part}" if part else "tapegrad"), name


@pytest.mark.parametrize("asked", sorted({*NAMES, *ADVICE}))
def test_a_name_that_is_told_another_way_is_not_there(asked: str) -> None:
    module, name = module_and_name(asked)
    with pytest.raises(AttributeError, match=f"^module '{re.escape(module.__name__)}' has no attribute '{name}'; ."):
        getattr(module, name)


def test_the_names_that_are_told_are_there() -> None:
    for written in NAMES.values():
        assert found(written) is not None


FACADES = ("torch", "tf", "keras", "testing")


def test_the_names_in_advice_are_there() -> None:
    for advice in ADVICE.values():
        for written in re.findall(r"tapegrad\.([\w.]*\w)", advice):
            if written.partition(".")[0] not in FACADES:
                assert found(written) is not None
        for name in re.findall(r"numpy\.([\w.]*\w)", advice):
            assert callable(importlib.import_module(f"numpy.{name.rpartition('.')[0]}".rstrip(".")).__dict__[name.rpartition(".")[2]])


@pytest.mark.parametrize(
    ("ask", "way"),
    [
        (lambda: tg.cholesky, "; here it is tapegrad.linalg.cholesky"),
        (lambda: tg.linalg.einsum, "; here it is tapegrad.einsum"),
        (lambda: tg.special.relu, "; here it is tapegrad.nn.relu"),
        (lambda: tg.nan_to_num, r"; numpy.nan_to_num\(x\) takes tensors"),
        (lambda: tg.linalg.cond, r"; numpy.linalg.cond\(x\) takes tensors"),
        (lambda: tg.linalg.slogdett, r"; did you mean tapegrad.linalg.slogdet\?"),
        (lambda: tg.random.Generator(0).randint, "'Generator' object has no attribute 'randint'; here it is tapegrad.random.integers"),
    ],
)
def test_a_name_is_found_where_it_is(ask: Any, way: str) -> None:
    with pytest.raises(AttributeError, match=f"{way}$"):
        ask()


def test_a_function_of_numpy_that_is_told_takes_tensors() -> None:
    x = tg.asarray([0.5, np.nan])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = np.nan_to_num(x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [1, 0])


def test_a_name_that_nobody_has_gets_pythons_own_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'tapegrad' has no attribute 'xyzzy'$") as caught:
        tg.xyzzy
    assert caught.value.name == "xyzzy"


def test_pythons_guess_does_not_follow_the_way_out() -> None:
    with pytest.raises(AttributeError) as caught:
        tg.tensor  # of which Python would say: did you mean Tensor?
    shown = traceback.format_exception_only(caught.value)
    assert shown == ["AttributeError: module 'tapegrad' has no attribute 'tensor'; here it is tapegrad.asarray\n"]


@pytest.mark.parametrize("name", ["", ".fft", ".functional", ".linalg", ".nn", ".random", ".special"])
def test_what_is_listed_of_a_module_is_what_is_public(name: str) -> None:
    module = importlib.import_module(f"tapegrad{name}")
    listed = {n for n in dir(module) if not n.startswith("_")}
    assert listed == {n for n in {*module.__all__, *(() if name else ("bfloat16",))} if not n.startswith("_")}
    assert all(hasattr(module, n) for n in listed)


def test_what_is_not_there_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import difflib

    from tapegrad import tf, torch

    looked = []

    def counted(word: str, *rest: Any, **words: Any) -> list[str]:
        looked.append(word)
        return []

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    for _ in range(3):  # as in a loop that asks what a library can do
        assert not hasattr(tg, "frobnicated")
        assert not hasattr(torch, "frobnicated")
        assert not hasattr(tf, "frobnicated")
    assert len(looked) == 3
