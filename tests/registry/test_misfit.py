"""Arguments and names from other libraries get errors that say how they are written here."""

import inspect

import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError

x = tg.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tg.sum(x, 1), r"sum\(x, \*, axis=.*\): 1 is one argument too many; write axis=1"),
        (lambda: tg.mean(x, (0, 1)), r"write axis=\(0, 1\)"),
        (lambda: tg.sum(x, dim=1), "there is no 'dim' here; write axis=1"),
        (lambda: x.sum(dim=-1), "there is no 'dim' here; write axis=-1"),
        (lambda: tg.max(x, axis=0, keepdim=True), "there is no 'keepdim' here; write keepdims=True"),
        (lambda: tg.std(x, ddof=1), "there is no 'ddof' here; write correction=1"),
        (lambda: tg.var(x, unbiased=False), "there is no 'unbiased' here; write correction=0"),
        (lambda: tg.var(x, 0, 1), "there are 2 arguments too many; axis, correction, keepdims are given by keyword"),
        (lambda: tg.nn.softmax(x, 1), r"softmax\(x, \*, axis=...\): 1 is one argument too many; write axis=1"),
        (lambda: tg.concat([x, x], dim=1), "there is no 'dim' here; write axis=1"),
        (lambda: tg.concat(x, x), r"Tensor is one argument too many; arrays is one sequence: write concat\(\[x, ...\]\)"),
        (lambda: tg.stack(x, x, x), r"arrays is one sequence: write stack\(\[x, ...\]\)"),
        (lambda: tg.mean(x, axes=1), "there is no 'axes' here; write axis=1"),
        (lambda: tg.sum(x, axsi=1), "there is no 'axsi' here; write axis=1"),
        (lambda: tg.sum(x, weights=1), r"there is no 'weights' here$"),
        (lambda: tg.sum(x, x=x), r"x is given by position; write sum\(x, ...\)"),
        (lambda: tg.zeros(2, 3), r"shape is one tuple: write \(..., 3\)"),
        (lambda: tg.reshape(x, 3, 2), r"shape is one tuple: write \(..., 2\)"),
        (lambda: tg.permute_dims(x, 1, 0), r"axes is one tuple: write \(..., 0\)"),
        (lambda: tg.expand_dims(x, dim=0), "there is no 'dim' here; write axis=0"),
    ],
)
def test_a_habit_gets_the_right_spelling(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


def test_signatures_do_not_show_what_is_taken_only_to_be_refused():
    assert str(inspect.signature(tg.sum)) == "(x, /, *, axis=None, dtype=None, keepdims=False)"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reduce_sum", "; here it is tapegrad.sum"),
        ("cat", "; here it is tapegrad.concat"),
        ("relu", "; here it is tapegrad.nn.relu"),
        ("GradientTap", "; did you mean tapegrad.GradientTape?"),
        ("nothing_like_it", ""),
        ("__wrapped__", ""),
    ],
)
def test_a_name_of_another_library_is_told_with_the_one_here(name, text):
    with pytest.raises(AttributeError) as told:
        getattr(tg, name)
    assert str(told.value) == f"module 'tapegrad' has no attribute {name!r}{text}"
