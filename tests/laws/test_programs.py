"""Laws of whole programs: values used many times, gradients that are added up, targets and sources in the middle.

One op at a time never meets the engine's bookkeeping: who may write to which buffer, what is freed when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, reject

import tapegrad as tg
from tapegrad.registry import Op
from tapegrad.testing import LAWS, Case, Draw, Unresolved
from tapegrad.testing.planting import planted
from tapegrad.testing.strategies import draws

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[Any, Any, Any], Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: Functions of two arrays (n, m) that give another one.  None saturates: near 1, what `1 - tanh(x)**2` has of digits is noise,
#: and so is what a numeric derivative is compared with (met in a program of products, whose numbers grow).  Nor is what is
#: centred quite so: its mean would be nothing but rounding.
STEPS: dict[str, Step] = {
    "add": lambda F, a, b: a + b,
    "subtract": lambda F, a, b: a - b,
    "multiply": lambda F, a, b: a * b,
    "itself": lambda F, a, b: a * a,
    "itself once more": lambda F, a, b: a + a,
    "square": lambda F, a, b: F.square(a) - b,
    "positive": lambda F, a, b: F.positive(a),
    "negative": lambda F, a, b: -a,
    "scaled": lambda F, a, b: 0.75 * a,
    "tanh": lambda F, a, b: F.tanh(0.1 * a),
    "sin": lambda F, a, b: F.sin(a) * 0.5 + b,
    "divide": lambda F, a, b: a / (2 + b * b),
    "sqrt": lambda F, a, b: F.sqrt(1 + a * a),
    "where": lambda F, a, b: F.where(b > 0.1, a, b),
    "broadcast row": lambda F, a, b: a + b[:1],
    "broadcast scalar": lambda F, a, b: a * F.mean(b),
    "centred": lambda F, a, b: a - 0.75 * F.mean(a, axis=0, keepdims=True),
    "sum": lambda F, a, b: b + F.sum(a, axis=1, keepdims=True),
    "softmax": lambda F, a, b: F.softmax(a, axis=-1),
    "flip": lambda F, a, b: F.flip(a, axis=0),
    "rows": lambda F, a, b: F.concat([a[:1], b[1:]], axis=0),
    "picked twice": lambda F, a, b: a[np.zeros(a.shape[0], int)] + a,
    "reshape": lambda F, a, b: F.reshape(F.reshape(a, (-1,)), a.shape),
    "transposes": lambda F, a, b: F.matrix_transpose(F.matrix_transpose(a) * F.matrix_transpose(b)),
    "stack": lambda F, a, b: F.sum(F.stack([a, b, a]), axis=0),
    "cumulative": lambda F, a, b: F.cumulative_sum(a, axis=0) * 0.5,
    "product of matrices": lambda F, a, b: F.sin(F.matmul(a, F.matmul(F.matrix_transpose(a), b))),
}


def program(draw: Draw) -> Callable[[], Op]:
    """A program of up to 12 steps on three arrays, each on any two values so far, with up to three targets."""
    rng = np.random.default_rng(draw.seed)
    names = list(STEPS)
    count = int(rng.integers(1, 13))
    # Later values are more likely, earlier ones are used again: chains and fans.
    steps = [
        (names[rng.integers(len(names))], *(int(i) for i in rng.integers(max(0, k - 4), k + 3, 2)))
        for k in range(count)
    ]
    targets = sorted({count + 2, *(int(t) for t in rng.integers(0, count + 3, 2))})

    def body(F: Any, a: Any, b: Any, c: Any, /) -> Any:
        values = [a, b, c]
        for name, i, j in steps:
            values.append(STEPS[name](F, values[i], values[j]))
        return tuple(values[t] for t in targets)

    body.__doc__ = f"{steps} -> {targets}"
    return lambda: Op(body, "composite", laws=_three, public=False)


def _three(draw: Draw) -> Any:
    shape = draw.shape(draw.size("n", least=1), draw.size("m", least=1))
    if draw.seed % 8 == 0:
        shape = (40, 33)
    return tuple(draw.filled(shape, low=-2, high=2) for _ in range(3))


@pytest.mark.parametrize(
    "name",
    [
        "pullback_is_the_derivative",
        "modes_are_adjoint",
        "recorded_is_the_same",
        "second_derivative",
        "nothing_is_written",
        "calls_are_independent",
        "layout_does_not_matter",
        "gradients_fit",
        "pullback_is_linear",
    ],
)
@given(draw=draws(complex=False))
def test_programs_obey(name: str, draw: Draw) -> None:
    with planted(program(draw)) as op:
        try:
            LAWS[name](Case(op, draw.again()))
        except Unresolved:
            reject()
        except AssertionError as error:
            error.add_note(f"program: {op.body.__doc__}")
            raise


@given(draw=draws(complex=False))
def test_sources_in_the_middle_have_the_gradient_of_what_follows(draw: Draw) -> None:
    first, second = program(draw), program(draw.again(sizes=(3, 3)))
    with planted(first) as op:
        xs = [tg.asarray(x) for x in Case(op, draw.again()).xs]
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(xs)
            middle = [*op(*xs), *xs][:3]
            held = [x * 1.0 for x in middle]
            with planted(second) as rest:
                ends = rest(*held)
        whole = tape.gradient(ends, [*held, *xs, *middle], unconnected_gradients="zero")
        copies = [g.numpy().copy() for g in whole]
        again = tape.gradient(ends, [*held, *xs, *middle], unconnected_gradients="zero")
        apart = tape.gradient(held, xs, output_gradients=whole[:3], unconnected_gradients="zero")
    for g, copy, h in zip(whole, copies, again, strict=True):
        np.testing.assert_array_equal(g.numpy(), copy)
        np.testing.assert_array_equal(h.numpy(), copy)
    for g, h in zip(whole[3:6], apart, strict=True):
        np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-9, atol=1e-9)
