"""Tests of the tests: deliberately wrong ops, each with the law that has to catch it; their right twins pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.registry.op import OPS, no_derivative
from tapegrad.registry.space import NUMPY, F
from tapegrad.testing import LAWS
from tapegrad.testing.planting import breach, copy_of, planted

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DERIVATIVE, SECOND = "pullback_is_the_derivative", "second_derivative"


def detached(x: Any) -> Any:
    """The value, without its history: what a rule must not do."""
    return tensor(x.raw) if isinstance(x, Tensor) else x


def raw(x: Any) -> Any:
    return x.raw if isinstance(x, Tensor) else x


def with_rows_first(F: Any, g: Any, indices: Any) -> Any:
    """The cotangent with all but the first pick of each index forgotten."""
    picks = raw(indices).reshape(-1) % 4
    first = np.isin(np.arange(picks.size), np.unique(picks, return_index=True)[1]).reshape(raw(indices).shape)
    return F.where(first, g, 0)


def written(x: Any, y: Any) -> Any:
    """The same array, overwritten."""
    np.asarray(raw(x))[...] = raw(y)
    return x


def stateful() -> Any:
    calls = []

    def rule(F: Any, g: Any, x: Any) -> Any:
        calls.append(1)
        return g * F.cos(x) * (1 + 1e-3 * (len(calls) % 3))

    return copy_of("sin", kind="primitive", x=rule)


def one_buffer() -> Any:
    """A rule that gives out the same array each time."""
    buffers: dict[Any, Any] = {}

    def rule(F: Any, g: Any, x: Any) -> Any:
        c = g * F.cos(x)
        if F is not NUMPY or np.shape(c) == ():
            return c
        buffer = buffers.setdefault((c.shape, c.dtype), np.empty(c.shape, c.dtype))
        buffer[...] = c
        return buffer

    return copy_of("sin", kind="primitive", x=rule)


def softmax_weights(F: Any, g: Any, y: Any) -> Any:
    return y * g


def extreme(F: Any, g: Any, x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """All of the derivative to each of those that tie."""
    axes = tuple(range(len(x.shape))) if axis is None else axis
    if not keepdims:
        g, y = F.expand_dims(g, axis=axes), F.expand_dims(y, axis=axes)
    return g * F.cast_like(F.equal(x, y), x)


def sum_body(xp: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return xp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def in_place_body(xp: Any, x: Any, /) -> Any:
    if np.ndim(x):
        x *= 2
        return x / 2
    return x * 1


def degrees_body(xp: Any, x: Any, /) -> Any:
    return x * 0.0174533


def shifted_body(xp: Any, x: Any, /) -> Any:
    return x + 1


#: name -> (the law that catches it, how it is made).  A rule that is not given is the right one.
MUTANTS: dict[str, tuple[str, Any]] = {
    # -- wrong values -------------------------------------------------------------------------------------
    "sign": (DERIVATIVE, lambda: copy_of("cos", x=lambda F, x: F.sin(x))),
    "factor": (DERIVATIVE, lambda: copy_of("square", x=lambda F, x: 3 * x)),
    "off by 1e-4": (DERIVATIVE, lambda: copy_of("exp", x=lambda F, y: y * (1 + 1e-4))),
    "off by 1e-7": (DERIVATIVE, lambda: copy_of("exp", x=lambda F, y: y * (1 + 1e-7))),
    "single precision inside": (
        DERIVATIVE,
        lambda: copy_of("square", words={"real": True}, x=lambda F, x: 2 * F.cast(F.cast(x, np.dtype("f4")), x.dtype)),
    ),
    "wrong argument": (DERIVATIVE, lambda: copy_of("multiply", x1="x1", x2="x2")),
    "second argument only": (DERIVATIVE, lambda: copy_of("divide", x2=lambda F, y, x2: y / x2)),
    "only where negative": (
        DERIVATIVE,
        lambda: copy_of("sin", words={"real": True}, x=lambda F, x: F.cos(x) * F.where(x < 0, 1.01, 1)),
    ),
    "only where large": (
        DERIVATIVE,
        lambda: copy_of("sin", words={"real": True}, x=lambda F, x: F.cos(F.clip(x, -1.5, 1.5))),
    ),
    "only for more than one element": (
        DERIVATIVE,
        lambda: copy_of("sin", x=lambda F, x: F.cos(x) * (1.01 if np.prod(x.shape) > 1 else 1)),
    ),
    "only for 0-d": (DERIVATIVE, lambda: copy_of("sin", x=lambda F, x: F.cos(x) * (1 if x.shape else 1.01))),
    "only for complex numbers: no conjugate": (
        DERIVATIVE,
        lambda: copy_of(
            "matmul",
            words={"laws": lambda draw: (draw.array("n", 3), draw.array(3, "m"))},
            x1=lambda F, g, x2: F.matmul(g, F.matrix_transpose(x2)),
        ),
    ),
    "only for complex numbers: the imaginary part is lost": (
        DERIVATIVE,
        lambda: copy_of("abs", x=lambda F, g, x: F.cast(g * F.real(F.sign(x)), x.dtype)),
    ),
    "a term is missing": (DERIVATIVE, lambda: copy_of("softmax", x=softmax_weights)),
    "not reversed": (
        DERIVATIVE,
        lambda: copy_of(
            "cumulative_sum",
            words={"laws": lambda draw: (draw.array("n", "m"), {"axis": 1})},
            x=lambda F, g, axis: F.cumulative_sum(g, axis=axis),
        ),
    ),
    "repeated indices are forgotten": (
        DERIVATIVE,
        lambda: copy_of(
            "take",
            words={"laws": lambda draw: (draw.array("n", 4), draw.integers(3, low=-4, high=4), {"axis": 1})},
            x=lambda F, g, x, indices: F.take_add(with_rows_first(F, g, indices), indices, x.shape, 1),
        ),
    ),
    "transposed": (DERIVATIVE, lambda: copy_of("matrix_transpose", x=lambda F, g, x: F.reshape(g, x.shape))),
    "parts exchanged": (
        DERIVATIVE,
        lambda: copy_of(
            "stack",
            words={"laws": lambda draw: ([draw.array("n", 2), draw.array("n", 2)], {"axis": 0})},
            arrays=lambda F, g: [F.getitem(g, 1), F.getitem(g, 0)],
        ),
    ),
    "order of the sort is lost": (
        DERIVATIVE,
        lambda: copy_of(
            "square",
            kind="primitive",
            words={"real": True, "laws": lambda draw: (draw.array("n", distinct=True),)},
            body=lambda xp, x, /: xp.sort(x, axis=-1),
            x=lambda F, g: F.positive(g),
        ),
    ),
    "a mean in the place of the sum over a broadcast axis": (
        DERIVATIVE,
        lambda: copy_of(
            "broadcast_to",
            words={"laws": lambda draw: (draw.array(1, 3), {"shape": (4, 3)})},
            x=lambda F, g: F.mean(g, axis=0, keepdims=True),
        ),
    ),
    "a step with a slope": (DERIVATIVE, lambda: copy_of("floor", kind="elementwise", words={"real": True}, x=1)),
    "a derivative is denied": (DERIVATIVE, lambda: copy_of("multiply", x2=no_derivative)),
    "a cosine in the place of the sine in a second rule": (
        SECOND,
        lambda: copy_of("sin", x=lambda F, x: detached(F.cos(x)) + 0 * x),
    ),
    "a mask that cuts the second order": (SECOND, lambda: copy_of("square", x=lambda F, x: 2 * detached(x))),
    "second order with half of the product rule": (SECOND, lambda: copy_of("tanh", x=lambda F, y: 1 - y * detached(y))),
    "declared constant": (
        "constants_have_no_derivative",
        lambda: copy_of("sin", kind="constant", words={"laws": lambda draw: (draw.array("n"),)}),
    ),
    "wrong value": (
        "values_are_numpys",
        lambda: copy_of("sin", called="deg2rad", body=degrees_body, words={"public": True}, x=0.0174533),
    ),
    # -- the two modes -----------------------------------------------------------------------------------
    "forward mode of its own": (
        "modes_are_adjoint",
        lambda: copy_of("softmax", pushforward={"x": softmax_weights}),
    ),
    "forward mode that cuts the second order": (
        "derivative_of_the_pushforward",
        lambda: copy_of(
            "square",
            kind="primitive",
            words={"real": True},
            x=lambda F, g, x: 2 * x * g,
            pushforward={"x": lambda F, t, x: 2 * detached(x) * t},
        ),
    ),
    "another rule when recorded": (
        "recorded_is_the_same",
        lambda: copy_of("sin", x=lambda F, x: F.cos(x) if F is NUMPY else F.cos(x) * 1.001),
    ),
    "a rule that returns nothing": (
        "declared_derivatives_are_there",
        lambda: copy_of("sin", kind="primitive", x=lambda F, g: None),
    ),
    # -- shapes and dtypes -------------------------------------------------------------------------------
    "no sum over a broadcast axis": (
        DERIVATIVE,
        lambda: copy_of("where", x2=lambda F, g, condition: F.where(condition, 0, g)),
    ),
    "an axis too many": (
        DERIVATIVE,
        lambda: copy_of("flip", x=lambda F, g, axis: F.expand_dims(F.flip(g, axis=axis), axis=0)),
    ),
    "keepdims ignored": (
        DERIVATIVE,
        lambda: copy_of("sum", body=sum_body, x=lambda F, g, x: F.broadcast_to(g, x.shape)),
    ),
    "double precision always": (
        "gradients_fit",
        lambda: copy_of(
            "flip", words={"real": True}, x=lambda F, g, axis: F.cast(F.flip(g, axis=axis), np.dtype("f8"))
        ),
    ),
    "the output's dtype in the place of the argument's": (
        "mixed_dtypes_fit",
        lambda: copy_of(
            "logaddexp",
            kind="primitive",
            words={"laws": lambda draw: (draw.array("n"), draw.array("n")), "weak": True},
            body=lambda xp, x1, x2, /: x1 * x2 + 0 * xp.ones(x1.shape, dtype=np.dtype("f8")),
            x1=lambda F, g, x2: g * x2,
            x2=lambda F, g, x1: g * x1,
        ),
    ),
    "no empty arrays": (
        "small_shapes_work",
        lambda: copy_of("sin", x=lambda F, x: F.cos(x) + 0 * F.max(x)),
    ),
    # -- memory, state, layout --------------------------------------------------------------------------------
    "the cotangent is overwritten": (
        "nothing_is_written",
        lambda: copy_of(
            "sin", kind="primitive", x=lambda F, g, x: written(g, g * F.cos(x)) if F is NUMPY else g * F.cos(x)
        ),
    ),
    "the argument is overwritten": ("nothing_is_written", lambda: copy_of("positive", body=in_place_body)),
    "the saved output is overwritten": (
        "nothing_is_written",
        lambda: copy_of("exp", kind="primitive", x=lambda F, g, y: written(y, g * y) if F is NUMPY else g * y),
    ),
    "one buffer for all gradients": ("nothing_is_written", one_buffer),
    "state between calls": ("calls_are_independent", stateful),
    "elements in the order of memory": (
        "layout_does_not_matter",
        lambda: copy_of("sin", x=lambda F, x: F.reshape(F.cos(np.ravel(raw(x), order="K")), x.shape)),
    ),
    # -- linearity -------------------------------------------------------------------------------------------
    "not linear in the cotangent": (
        "pullback_is_linear",
        lambda: copy_of("sin", kind="primitive", x=lambda F, g, x: g * F.cos(x) + 1e-5 * g * g),
    ),
    "NaN for a zero cotangent": (
        "pullback_is_linear",
        lambda: copy_of("sin", kind="primitive", x=lambda F, g, x: g * g / g * F.cos(x)),
    ),
    "something for a zero cotangent": (
        "pullback_is_linear",
        lambda: copy_of("sin", kind="primitive", x=lambda F, g, x: (g + 1e-13) * F.cos(x)),
    ),
    "declared linear with an offset": (
        "linear_ops_are_linear",
        lambda: copy_of("flip", body=lambda xp, x, /, *, axis=None: xp.flip(x, axis=axis) + 1),
    ),
    "declared multilinear with an offset": (
        "linear_ops_are_linear",
        lambda: copy_of("matmul", body=lambda xp, x1, x2, /: xp.matmul(x1, x2) + 1),
    ),
    # -- kinks ---------------------------------------------------------------------------------------------
    "a slope of 2 at the corner": (
        "kinks_take_a_value_between",
        lambda: copy_of("relu", x=lambda F, x: F.where(x == 0, 2 * F.ones_like(x), F.sign(F.relu(x)))),
    ),
    "ties counted double": ("kinks_take_a_value_between", lambda: copy_of("max", x=extreme)),
    "NaN at a tip": (
        "kinks_take_a_value_between",
        lambda: copy_of("abs", words={"real": True}, x=lambda F, g, x: g * x / F.abs(x)),
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_op_is_caught(mutant: str) -> None:
    law, make = MUTANTS[mutant]
    assert breach(make, [LAWS[law]]) is not None


def copied() -> list[str]:
    seen = []
    for _, make in MUTANTS.values():
        with planted(make) as op:
            seen.append(op.name.removeprefix("planted_"))
    return sorted({name for name in seen if name in OPS})


@pytest.mark.parametrize("name", copied())
def test_its_right_twin_passes(name: str) -> None:
    assert breach(lambda: copy_of(name)) is None


def test_every_law_has_a_mutant_to_catch() -> None:
    assert set(LAWS) == {law for law, _ in MUTANTS.values()}


def test_there_are_at_least_25_kinds() -> None:
    assert len(MUTANTS) >= 25


def test_nothing_stays_planted() -> None:
    assert not [name for name in (*OPS, *vars(NUMPY), *vars(F)) if name.startswith("planted") or name == "deg2rad"]
