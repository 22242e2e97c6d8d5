"""Hypothesis' strategies for the array API on tapegrad's namespace, and the standard's functions on what they draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import tapegrad as tg
from tapegrad.registry.backends import making_on

xps = make_strategies_namespace(tg)
BACKENDS = [
    "numpy",
    pytest.param("tensorflow", marks=[pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]),
]
UNARY = """
abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p log2 logical_not
negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc
"""
BINARY = """
add atan2 copysign divide equal greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor
maximum minimum multiply nextafter not_equal remainder subtract
"""
REDUCTIONS = "all any argmax argmin max mean min prod std sum var"


def test_the_namespace_is_known_by_name_and_version() -> None:
    assert (xps.name, xps.api_version) == ("tapegrad", "2024.12")


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=30)
@given(data=st.data())
def test_arrays_of_every_dtype_are_drawn_and_indexed(backend: str, data: st.DataObject) -> None:
    with making_on(backend):
        x = data.draw(xps.arrays(dtype=xps.scalar_dtypes(), shape=xps.array_shapes(min_dims=0, max_dims=3)))
        key = data.draw(xps.indices(x.shape, allow_newaxis=True))
        shapes = data.draw(xps.mutually_broadcastable_shapes(2))
        both = tg.broadcast_arrays(*(tg.zeros(s) for s in shapes.input_shapes))
    assert type(x) is tg.Tensor
    np.testing.assert_array_equal(x[key].numpy(), x.numpy()[key])
    assert {y.shape for y in both} == {shapes.result_shape}


def check(backend: str, name: str, data: st.DataObject, count: int, **words: Any) -> None:
    """Whether a function of floating arrays gives what NumPy's of the same name gives."""
    with making_on(backend):
        dtype = data.draw(xps.floating_dtypes())
        shapes = data.draw(xps.mutually_broadcastable_shapes(count, min_side=1, max_side=4)).input_shapes
        xs = [data.draw(xps.arrays(dtype, s, elements={"min_value": -4, "max_value": 4})) for s in shapes]
        with np.errstate(all="ignore"):
            y = getattr(tg, name)(*xs, **words)
            expected = getattr(np, name)(*(x.numpy() for x in xs), **words)
    assert type(y) is tg.Tensor
    assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
    eps = 64 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(y.numpy(), expected, rtol=eps, atol=eps)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", UNARY.split())
@settings(max_examples=15)
@given(data=st.data())
def test_functions_of_one_array_agree_with_numpys(backend: str, name: str, data: st.DataObject) -> None:
    check(backend, name, data, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", BINARY.split())
@settings(max_examples=15)
@given(data=st.data())
def test_functions_of_two_arrays_agree_with_numpys(backend: str, name: str, data: st.DataObject) -> None:
    check(backend, name, data, 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", REDUCTIONS.split())
@settings(max_examples=15)
@given(data=st.data())
def test_reductions_agree_with_numpys(backend: str, name: str, data: st.DataObject) -> None:
    check(backend, name, data, 1, keepdims=data.draw(st.booleans()))
