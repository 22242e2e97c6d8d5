"""The parts of the harness: words, inputs, numbers from code, kinks, causes, shrinking, reports, planted mistakes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.testing import array, check, examine, gradcheck, indices, like, psd, strategies
from tapegrad.testing.inputs import Source
from tapegrad.testing.mined import candidates, numbers_in, sizes
from tapegrad.testing.mutators import MUTATORS
from tapegrad.testing.words import Word

LIMIT = 0.375


def source(*words: Word, seed: int = 0) -> Source:
    return Source(words, np.random.default_rng(seed))


def test_named_dimensions_agree_and_every_size_of_each_is_seen() -> None:
    drawn = [p.xs for _, p in zip(range(60), source(array("b", "n"), array("n", "m")).points(1000), strict=False)]
    assert all(x.shape[1] == w.shape[0] for x, w in drawn)
    for k, axis in ((0, 0), (0, 1), (1, 1)):
        assert {0, 1, 2, 3} <= {xs[k].shape[axis] for xs in drawn}
        assert max(xs[k].shape[axis] for xs in drawn) > 32


def test_values_stay_in_the_domain_and_reach_its_ends() -> None:
    drawn = np.concatenate(
        [p.xs[0] for _, p in zip(range(80), source(array("n", lo=0, hi=2)).points(1000), strict=False)]
    )
    assert drawn.min() == 0
    assert drawn.max() == 2
    assert ((drawn > 0) & (drawn < 1e-4)).any()


def test_indices_and_psd_matrices_are_what_they_say() -> None:
    for _, p in zip(range(30), source(indices("n", "k"), psd("n")).points(1000), strict=False):
        rows, matrix = p.xs
        assert not rows.size or rows.max() < matrix.shape[0]
        assert np.allclose(matrix, matrix.T)
        assert not matrix.size or np.linalg.eigvalsh(matrix).min() > 0


def test_numbers_are_mined_from_code_closures_and_callees() -> None:
    edge = 2.75

    def callee(x: Any) -> Any:
        return x > LIMIT

    def f(x: Any) -> Any:
        return np.where(callee(x), x, edge) if x.shape[-1] > 17 else x * 1.0625

    assert {2.75, 0.375, 17.0, 1.0625} <= set(numbers_in(f))
    assert {2.75, 2.75 + 1e-5, -2.75, 2.75 - 1e-9} <= set(candidates([2.75]))
    assert sizes([17.0, 0.5, 3.0]) == [17, 18]


@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-7])
def test_a_narrow_branch_is_found_by_its_number(width: float) -> None:
    def vjp(g: Any, x: Any) -> Any:
        return g * np.where(abs(x - 1.4375) < width, 0.0, np.cos(x))

    for seed in range(3):
        assert not examine(np.sin, vjp=vjp, seed=seed, profile="fast").ok


@pytest.mark.parametrize("at_zero", [0.0, 0.5, 1.0])
def test_every_convention_at_the_corner_of_relu_is_accepted(at_zero: float) -> None:
    assert examine(
        lambda x: np.maximum(x, 0), vjp=lambda g, x: g * np.where(x == 0, at_zero, x > 0).astype(x.dtype), seed=1
    ).ok


@pytest.mark.parametrize("at_zero", [2.0, -0.5])
def test_a_slope_that_none_nearby_has_is_refused_and_can_be_a_warning(at_zero: float) -> None:
    def vjp(g: Any, x: Any) -> Any:
        return g * np.where(x == 0, at_zero, x > 0).astype(x.dtype)

    found = examine(lambda x: np.maximum(x, 0), vjp=vjp, seed=1)
    assert found.failure is not None
    assert found.failure.property == "kink"
    assert examine(lambda x: np.maximum(x, 0), vjp=vjp, seed=1, kinks="warn").ok


def cause(f: Any, vjp: Any, **words: Any) -> str:
    return dict(examine(f, vjp=vjp, seed=2, **words).lines).get("cause", "")


def test_likely_causes_in_words() -> None:
    assert "wrong sign" in cause(np.cos, lambda g, x: g * np.sin(x))
    assert "is zero" in cause(np.sin, lambda g, x: 0 * g)
    assert "is transposed" in cause(
        lambda a, b: a @ b, lambda g, a, b: ((g @ b.T).T, a.T @ g), a=("n", "n"), b=("n", "n")
    )
    exchanged = cause(lambda a, b: a * b, lambda g, a, b: (g * a, g * b), a=("n",), b=("n",))
    assert "exchanged" in exchanged or "that of" in exchanged


def test_a_report_is_one_number_and_reproduces_in_a_fresh_process() -> None:
    code = """
import numpy as np
from tapegrad.testing import check, examine
def huber(x): return np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5)
def vjp(g, x): return g * np.where(abs(x) < 1, x, 1.3 * x)
"""
    found = examine(*_huber(), vjp=_huber_vjp, seed=3)
    assert found.point is not None
    assert sum(np.size(x) for x in found.point.xs) == 1
    shown = float(dict(found.lines)["numeric"].strip("[]"))
    assert abs(abs(shown) - abs(float(np.clip(found.point.xs[0].reshape(-1)[0], -1, 1)))) < 1e-6  # the cotangent is 1
    line = dict(found.lines)["reproduce"].replace("_huber_vjp", "vjp")
    ran = subprocess.run([sys.executable, "-c", code + line], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "huber: the gradient is not the derivative" in ran.stderr


def _huber() -> tuple[Any]:
    def huber(x: Any) -> Any:
        return np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5)

    return (huber,)


def _huber_vjp(g: Any, x: Any) -> Any:
    return g * np.where(abs(x) < 1, x, 1.3 * x)


def test_planted_mistakes_are_counted_and_most_are_caught() -> None:
    proof = examine(np.tanh, vjp=lambda g, y, x: g * (1 - y * y), seed=1, prove=True).mutants
    assert len(MUTATORS) >= 20
    assert proof.planted > 30
    assert len(proof.caught) >= 0.98 * proof.planted
    blind = examine(np.tanh, vjp=lambda g, y, x: g * (1 - y * y), seed=1, prove=True, only="shape").mutants
    assert len(blind.caught) < 10
    assert "the wrong sign" in blind.missed


def test_the_same_seed_gives_the_same_check() -> None:
    def run() -> tuple[Any, ...]:
        found = examine(np.sin, vjp=lambda g, x: g * np.cos(x + 1e-7 * (x > 1)), seed=11)
        return (found.failure and found.failure.property, *map(str, found.point.xs if found.point else ()))

    assert run() == run()


def test_examples_come_first_and_cotangents_can_be_given() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x.copy())
        return x * 2

    x0 = np.array([[1.25, -3.5]])
    result = examine(f, x0, vjp=lambda g, x: 2 * g, seed=0)
    assert any(np.array_equal(x, x0) for x in seen)
    assert all(x.shape == (1, 2) for x in seen)
    assert result.ok
    assert not examine(f, x0, vjp=lambda g, x: np.where(g == 7, 0, 2 * g), cotangent=np.array([[7.0, 1.0]])).ok
    assert like(x0).dims == (1, 2)


def test_a_strategy_of_hypothesis_is_a_word() -> None:
    from hypothesis.extra import numpy as hnp

    drawn = hnp.arrays(np.float64, st.tuples(st.integers(1, 3)), elements=st.floats(0.5, 2))
    assert examine(np.log, vjp=lambda g, x: g / x, x=drawn, seed=0).ok


@settings(max_examples=20, deadline=None)
@given(strategies.arguments(array("b", "n", lo=0), array("n")))
def test_strategies_draw_the_same_words(xs: list[Any]) -> None:
    x, w = xs
    assert x.shape[1:] == w.shape
    assert (x >= 0).all()


def test_importing_the_harness_loads_nothing_heavy() -> None:
    heavy = ("torch", "tensorflow", "jax", "hypothesis", "pytest", "scipy", "autograd", "mygrad")
    program = f"import sys, tapegrad.testing; tapegrad.testing.check; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_dimensions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ArgumentError, match="is a name, such as 'n'"):
        array("n", -1)
    with pytest.raises(ArgumentError, match="expected lo < hi"):
        array("n", lo=2, hi=1)


@pytest.mark.parametrize("arguments", [(np.sin, (np.ones(3),)), (np.sin,), (lambda x: x,), (Word,)])
def test_a_decorator_that_is_given_a_function_refuses(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"gradcheck decorates a test: write @gradcheck\(x=array\('n'\)\)"):
        gradcheck(*arguments)


def test_an_unknown_word_is_one_of_the_functions_though_the_harness_has_it() -> None:
    with pytest.raises(ArgumentError, match="sin has no parameter 'examples'; its parameters are x"):
        check(tg.sin, x=("n",), examples=3)


def test_an_option_that_is_misspelt_is_told() -> None:
    with pytest.raises(ArgumentError, match=r"sin has no parameter 'profil'; .* did you mean profile=\?"):
        check(tg.sin, profil="fast")


@pytest.mark.parametrize("example", [1.5, [1.0, 2.5]])
def test_numbers_that_are_no_arrays_are_passed_on_and_told(example: Any) -> None:
    with pytest.raises(ArgumentError, match=r"is passed on as it is; write np\.array"):
        check(np.sin, example, vjp=lambda g, x: g * np.cos(x))
