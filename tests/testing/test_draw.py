"""What a draw gives: the same for the same seed, inside the domain, of every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.registry.op import OPS
from tapegrad.testing import Case, Draw
from tapegrad.testing.case import arguments

SEEDS = range(200)


def flat(arrays: Any) -> list[Any]:
    return [np.asarray(a) for x in arrays for a in (x if isinstance(x, list) else [x])]


@pytest.mark.parametrize("name", ["tanh", "matmul", "getitem", "sum", "concat", "cholesky"])
def test_the_same_seed_and_sizes_give_the_same_arguments(name: str) -> None:
    for seed in range(10):
        first, second = (arguments(OPS[name], Draw(seed, (2, 3))) for _ in range(2))
        assert repr(first[1]) == repr(second[1])
        for a, b in zip(flat(first[0]), flat(second[0]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_sizes_are_taken_in_order_and_a_name_has_one_size() -> None:
    draw = Draw(0, (2, 0, 3))
    assert draw.array("n", 4, "m", "n").shape == (2, 4, 0, 2)
    assert draw.array("m", "k").shape == (0, 3)
    assert draw.size("n") == 2


def test_a_size_can_have_a_lower_bound() -> None:
    assert Draw(0, (0, 1)).size("n", least=2) == 2


def test_arrays_without_dims_have_every_rank_and_are_empty_at_times() -> None:
    shapes = {Draw(seed).array().shape for seed in SEEDS}
    assert {len(s) for s in shapes} == {0, 1, 2, 3}
    assert {n for s in shapes for n in s} == {0, 1, 2, 3, 4}


def test_values_stay_inside_their_bounds_and_are_at_times_round() -> None:
    drawn = [Draw(seed).array(5, low=0.5, high=3) for seed in SEEDS]
    assert all((x > 0.5).all() and (x < 3).all() for x in drawn)
    assert sum((x == np.round(x)).sum() > 1 for x in drawn) > 5


@pytest.mark.parametrize("op", ["sqrt", "asin", "acosh", "divide", "pow", "atan2"])
def test_arguments_lie_in_the_domain_of_the_op(op: str) -> None:
    with np.errstate(all="raise"):
        for seed in SEEDS:
            case = Case(OPS[op], Draw(seed))
            assert all(np.isfinite(y).all() for y in case.subject.value(case.xs))


def test_arguments_of_elementwise_ops_broadcast_in_every_way() -> None:
    kinds = set()
    for seed in SEEDS:
        a, b = (np.shape(x) for x in Case(OPS["add"], Draw(seed)).xs)
        kinds.add("alike" if a == b else "0-d" if () in (a, b) else "ranks" if len(a) != len(b) else "ones")
        np.broadcast_shapes(a, b)
    assert kinds == {"alike", "0-d", "ranks", "ones"}


def test_values_keep_away_from_kinks_or_lie_on_them() -> None:
    assert all((np.abs(Case(OPS["relu"], Draw(s)).xs[0]) > 0.05).all() for s in SEEDS)
    assert sum((Case(OPS["relu"], Draw(s, (2, 3, 2), ties=True)).xs[0] == 0).any() for s in SEEDS) > 100
    assert all((np.subtract(*Case(OPS["maximum"], Draw(s)).xs) != 0).all() for s in SEEDS)


def test_distinct_values_differ_by_more_than_a_step() -> None:
    for seed in SEEDS:
        draw = Draw(seed)
        x = draw.array(4, 5, distinct=True)
        gap = np.diff(np.sort(x.reshape(-1))).min()
        assert gap > 0.05
        assert np.abs(draw.direction(x)).max() < gap / 2


def test_a_draw_can_be_complex_or_sorted() -> None:
    assert Draw(1, complex=True).array(3).dtype == Draw(1).array(3, complex=True).dtype == np.complex128
    assert Draw(1, complex=True).array(3, complex=False).dtype == np.float64
    assert (np.diff(Draw(1).array(9, sort=True)) >= 0).all()


@pytest.mark.parametrize("is_complex", [False, True])
def test_matrices_are_what_they_are_called(is_complex: bool) -> None:
    for seed in range(50):
        draw = Draw(seed, complex=is_complex)
        assert np.linalg.cond(draw.well_conditioned(3)) < 4
        s, p = draw.symmetric(2, 4), draw.positive_definite(2, 4)
        np.testing.assert_allclose(s, np.conj(np.swapaxes(s, -1, -2)))
        assert np.diff(np.linalg.eigvalsh(s)).min() > 0.5
        assert np.linalg.eigvalsh(p).min() >= 1 - 1e-12
        t = draw.direction(p)
        np.testing.assert_allclose(t, np.conj(np.swapaxes(t, -1, -2)))


def test_axes_of_every_form() -> None:
    x = np.zeros((2, 3, 4))
    drawn = [Draw(seed).axes(x) for seed in SEEDS]
    assert {type(a) for a in drawn} == {type(None), int, tuple}
    assert {len(a) for a in drawn if isinstance(a, tuple)} == {0, 1, 2, 3}
    assert {a for a in drawn if isinstance(a, int)} == set(range(-3, 3))
    assert all(np.sum(x, axis=a) is not None for a in drawn)


def kind_of(part: Any) -> str:
    if isinstance(part, slice):
        return "slice" if part.step is None or part.step > 0 else "negative step"
    if isinstance(part, np.ndarray):
        return "mask" if part.dtype == bool else "repeated" if len(np.unique(part)) < part.size else "integers"
    return "int" if isinstance(part, int) else "..." if part is ... else "None"


def test_indices_of_every_form_fit() -> None:
    kinds, several = set(), 0
    for seed in range(500):
        draw = Draw(seed)
        x = np.zeros(draw.shape("n", 3, "m"))
        index = draw.index(*x.shape)
        assert isinstance(x[index], np.ndarray | np.float64)
        parts = index if isinstance(index, tuple) else (index,)
        kinds |= {kind_of(p) for p in parts}
        several += sum(isinstance(p, np.ndarray) for p in parts) > 1
    assert kinds == {"slice", "negative step", "mask", "repeated", "integers", "int", "...", "None"}
    assert several > 20


def test_the_repr_of_a_draw_gives_it_again() -> None:
    draw = Draw(7, (2, 1), complex=True)
    assert repr(draw) == "Draw(7, (2, 1), complex=True)"
    np.testing.assert_array_equal(draw.array("n"), eval(repr(draw)).array("n"))
