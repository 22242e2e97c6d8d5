"""Arguments in half precision: the derivative is right in double precision, and nearly that in theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.testing import array, examine

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
HALVES = ("float16", "bfloat16")


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("seed", range(3))
def test_right_ones_pass_and_nearly_everything_is_decided(dtype: str, seed: int) -> None:
    word = array("b", "n", dtype=dtype)
    for f in (tg.tanh, lambda x: tg.sum(tg.exp(x) * x, axis=-1)):
        result = examine(f, x=word, seed=seed, profile="default")
        assert result.ok, str(result)
        assert result.unresolved <= 0.01 * result.checks
        assert result.properties["precision"] > 10


@pytest.mark.parametrize("dtype", HALVES)
def test_a_rule_that_is_wrong_in_half_precision_alone(dtype: str) -> None:
    def vjp(g: Any, x: Any) -> Any:
        factor = 2 if x.dtype.name == dtype else 1
        return (factor * g * np.cos(x)).astype(x.dtype)

    result = examine(np.sin, vjp=vjp, x=array("n", dtype=dtype), seed=1)
    assert getattr(result.failure, "property", None) == "precision"
    assert f"array([1], '{dtype}')" in str(result).replace("1.]", "1]")  # small, and as the line to paste has it


def test_bfloat16_by_its_name_and_as_an_example() -> None:
    x = tg.asarray([0.5, 1.5], dtype=tg.bfloat16)
    assert examine(tg.tanh, x, seed=1, profile="fast").ok
    with pytest.raises(ArgumentError, match="'bfloat16'"):
        array("n", dtype="bfloat17")


@pytest.mark.interop("torch")
@pytest.mark.parametrize("word", [array("n", dtype="bfloat16"), ("n",)])
def test_a_function_of_pytorch_that_is_wrong_in_bfloat16(word: Any) -> None:
    import torch

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            (x,) = ctx.saved_tensors
            return gs[0] * x * (2 if x.dtype != torch.bfloat16 else 5)

    assert examine(torch.tanh, input=array("n", dtype="bfloat16"), seed=1).ok
    result = examine(Square.apply, x=word, framework="torch", seed=1)  # type: ignore[no-untyped-call]
    assert getattr(result.failure, "property", None) == "precision", str(result)
    assert "in bfloat16 the gradient" in str(result)


def test_arguments_that_are_not_finite_are_passed_over() -> None:
    result = examine(np.tanh, np.array([0.5, np.inf]), vjp=lambda g, y, x: g * (1 - y * y), seed=1)
    assert result.ok
    assert result.refused


@pytest.mark.interop("tensorflow")
def test_one_number_of_bfloat16_is_an_array_in_tensorflow_too() -> None:
    import tensorflow as tf

    result = examine(
        lambda x, w: tf.reduce_sum(x * w), x=("n",), w=(), framework="tensorflow", only="precision", seed=3
    )
    assert result.ok, str(result)
    one = tf.constant(1.5, tf.bfloat16)
    assert examine(lambda x, w: tf.reduce_sum(x * w), tf.ones(3, tf.bfloat16), one, seed=0, profile="fast").ok


def test_a_vjp_that_does_not_take_half_precision_is_noted_and_strict_where_that_is_asked_for() -> None:
    def solved(a: Any, b: Any) -> Any:
        return b * (1 + 0 * a.sum())

    def vjp(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return np.zeros_like(a), np.linalg.solve(np.eye(len(b), dtype=b.dtype), g)

    for seed in range(3):
        words: dict[str, Any] = {"vjp": vjp, "a": (2, 2), "b": (2,), "seed": seed}
        result = examine(solved, **words)
        assert result.ok, str(result)
        assert "not counted as wrong: in float16 the vjp raises TypeError" in str(result)
        assert not examine(solved, dtypes="fail", **words).ok


def test_a_gradient_that_cancels_is_as_exact_as_those_beside_it() -> None:
    def f(x: Any, b: Any, v: Any) -> Any:
        return tg.nn.softmax(x + b, axis=-1) @ v  # whatever b is

    result = examine(f, x=("n", 4), b=(), v=array(4, "m", lo=20, hi=90), seed=0, only="precision")
    assert result.ok, str(result)
    assert result.checks >= 20
