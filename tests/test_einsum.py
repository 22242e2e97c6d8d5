"""Every equation that NumPy takes gives what NumPy gives, and has the gradient of its sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.errors import ArgumentError, ShapeError

LENGTHS = {"a": 2, "b": 3, "c": 1, "d": 2}


@st.composite
def problems(draw):
    """An equation, with letters repeated inside terms and between them, ellipses and lengths of 1, and its arrays."""
    letters = st.text("abcd", max_size=3)
    ellipsis = draw(st.booleans())
    terms, arrays = [], []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for _ in range(draw(st.integers(1, 3))):
        term = draw(letters)
        shape = [LENGTHS[k] for k in term]
        for i, k in enumerate(term):
            if term.count(k) == 1 and draw(st.integers(0, 5)) == 0:
                shape[i] = 1
        if ellipsis and draw(st.booleans()):
            at = draw(st.integers(0, len(term)))
            inside = draw(st.sampled_from([[], [2], [1], [3, 2], [1, 2], [3, 1]]))
            shape[at:at] = inside
            term = term[:at] + "..." + term[at:]
        terms.append(term)
        arrays.append(rng.standard_normal(shape))
    equation = draw(st.sampled_from([",", " , "])).join(terms)
    if draw(st.booleans()):
        known = sorted(set("".join(terms)) - {"."})
        output = "".join(draw(st.permutations(known))[: draw(st.integers(0, len(known)))])
        equation += "->" + ("..." if "..." in equation else "") + output
    return equation, arrays


def reference(equation, arrays):
    try:
        return np.einsum(equation, *arrays)
    except ValueError:
        return None


@given(problems())
def test_values_are_those_of_numpy(problem):
    equation, arrays = problem
    expected = reference(equation, arrays)
    if expected is None:
        with pytest.raises((ShapeError, ArgumentError), match="einsum"):
            tg.einsum(equation, *arrays)
        return
    np.testing.assert_allclose(tg.einsum(equation, *arrays).numpy(), expected, rtol=1e-12, atol=1e-12)


@given(problems())
def test_gradients_are_differences(problem):
    equation, arrays = problem
    expected = reference(equation, arrays)
    if expected is None:
        return
    w = np.cos(np.arange(expected.size)).reshape(expected.shape)
    tensors = [tg.asarray(a) for a in arrays]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        y = tg.sum(tg.einsum(equation, *tensors) * w)
    for i, g in enumerate(tape.gradient(y, tensors)):  # linear in each array: a step of 1 is exact
        step = np.sin(1 + np.arange(arrays[i].size)).reshape(arrays[i].shape)
        moved = np.einsum(equation, *(step if j == i else a for j, a in enumerate(arrays)))
        assert g.shape == step.shape
        assert np.sum(g.numpy() * step) == pytest.approx(np.sum(moved * w), rel=1e-9, abs=1e-9)


def test_many_arrays_are_contracted_in_pairs():
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(s) for s in ((2, 3), (3, 4), (4, 5), (5, 2), (2,))]
    equation = "ij,jk,kl,li,i->k"
    np.testing.assert_allclose(tg.einsum(equation, *arrays).numpy(), np.einsum(equation, *arrays), rtol=1e-12)


def test_the_form_with_lists():
    x = np.arange(12.0).reshape(2, 2, 3)
    np.testing.assert_array_equal(tg.einsum(x, [0, 0, 1]).numpy(), np.einsum(x, [0, 0, 1]))
    given = (x, [..., 0], x, [..., 1], [1, 0, ...])
    np.testing.assert_allclose(tg.einsum(*given).numpy(), np.einsum(*given), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "complex64", "bool", "bfloat16"])
def test_dtypes_stay(dtype):
    x = tg.astype(tg.asarray(np.array([[1, 0], [1, 1]])), tg.bfloat16 if dtype == "bfloat16" else getattr(tg, dtype))
    y = tg.einsum("ij,kj->ik", x, x)
    assert y.dtype == x.dtype
    assert y.tolist() == ([[1, 1], [1, 2]] if dtype != "bool" else [[True, True], [True, True]])


@pytest.mark.parametrize(("equation", "shapes", "message"), [
    ("i->ii", [(2,)], "once in the output"),
    ("i->j", [(2,)], "in none of the terms"),
    ("ij,jk", [(2, 3)], "2 terms, for 1 arrays"),
    ("ij", [(2,)], "does not fit"),
    ("i", [(2, 3)], "does not fit"),
    ("i,i", [(2,), (3,)], "got 2 and 3 for i in shapes"),
    ("ii", [(2, 3)], "got 2 and 3 for i in shapes"),
    ("i%", [(2, 3)], "expected letters"),
    ("...i->i", [(2, 3)], "no '...'"),
])
def test_an_equation_that_says_nothing_is_refused(equation, shapes, message):
    with pytest.raises((ArgumentError, ShapeError), match=message):
        tg.einsum(equation, *(np.ones(s) for s in shapes))
