"""The properties beside the numeric derivative: each has a fault that only it sees, and a right twin that it lets pass."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.kernels.batched import Batched
from tapegrad.testing import array, examine, indices
from tapegrad.testing.checking import session_of
from tapegrad.testing.profiles import PROFILES
from tapegrad.testing.properties import PROPERTIES
from tests.testing.planted.plant import unbroadcast

pytestmark = pytest.mark.filterwarnings("ignore")
DEAR = ("third", "compiled", "kernels", "threads", "growth")


def verdict(f: Any, *examples: Any, only: Any = None, **words: Any) -> str:
    result = examine(f, *examples, seed=3, profile="fast", only=only, **words)
    if only:
        assert only in result.properties or not result.ok, f"{only} was not looked at"
    return "ok" if result.failure is None else result.failure.property


def others(name: str) -> list[str]:
    return [p for p in PROPERTIES if p != name]


def only_this_one_sees(name: str, wrong: Any, right: Any, **words: Any) -> None:
    """Caught by this property and by no other one; the right twin passes this one and all others."""
    if isinstance(wrong, tuple):
        (f, wrong_words), (g, right_words) = wrong, right
    else:
        f, wrong_words, g, right_words = wrong, {}, right, {}
    assert verdict(f, only=name, **words, **wrong_words) == name
    assert verdict(f, skip=name, **words, **wrong_words) == "ok"
    assert verdict(g, only=name, **words, **right_words) == "ok"
    assert verdict(g, **words, **right_words) == "ok"


def test_accumulate_a_saved_array_that_is_given_out() -> None:
    def f(x: Any) -> Any:
        y, slope = np.sin(x), np.cos(x)
        return y, lambda g: slope if (g == 1).all() else g * slope

    def twin(x: Any) -> Any:
        y, slope = np.sin(x), np.cos(x)
        return y, lambda g: g * slope

    only_this_one_sees("accumulate", f, twin)


def test_constants_an_index_with_a_gradient() -> None:
    def wrong(g: Any, x: Any, i: Any) -> Any:
        return right(g, x, i)[0], np.ones(i.shape)

    def right(g: Any, x: Any, i: Any) -> Any:
        c = np.zeros_like(x)
        np.add.at(c, i, g)
        return c, np.zeros(i.shape)

    def f(x: Any, i: Any) -> Any:
        return x[i]

    only_this_one_sees("constants", (f, {"vjp": wrong}), (f, {"vjp": right}), x=(4,), i=indices(4, "k"))


@pytest.mark.interop("torch")
def test_constants_another_value_without_a_derivative() -> None:
    import torch

    only_this_one_sees(
        "constants",
        lambda x: torch.sin(x) if torch.is_grad_enabled() else torch.sin(x) + 0.125,
        lambda x: torch.sin(x) if torch.is_grad_enabled() else torch.sin(x) + 0.0,
        x=("n",),
        framework="torch",
    )


@pytest.mark.interop("torch")
def test_subsets_a_gradient_that_is_not_needed() -> None:
    import torch

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @classmethod
        def backward(cls, ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            second = ctx.needs_input_grad[1]
            return g * b * (1.0 if second else 2.0), g * a if second else None

    class Twin(Product):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            first, second = ctx.needs_input_grad
            return g * b if first else None, g * a if second else None

    only_this_one_sees("subsets", Product.apply, Twin.apply, a=("n",), b=("n",))


def test_broadcast_a_mean_over_copies_is_seen() -> None:
    def made(times: float) -> Any:
        def vjp(g: Any, a: Any, b: Any) -> Any:
            k = times if a.shape != b.shape else 1.0
            return unbroadcast(g * b, a), k * unbroadcast(g * a, b)

        return {"vjp": vjp, "only": "broadcast"}

    assert verdict(np.multiply, **made(1.0)) == "ok"
    assert verdict(np.multiply, **made(1.001)) == "broadcast"
    # Words that name shapes leave no room for copies of another one.
    named = examine(np.multiply, x1=("b", "n"), x2=("n",), **made(1.001), profile="fast", seed=1)
    assert "broadcast" not in named.properties


def leaking(g: Any, x: Any) -> Any:
    """Right for the sum of all rows, not for each."""
    c = 2 * g * x
    return c + 1e-3 * (c - c.mean(0)) if len(x) > 1 else c


def test_rows_a_gradient_that_leaks_from_row_to_row() -> None:
    f, words = (lambda x: x * x), {"x": ("b", "n")}
    assert verdict(f, vjp=leaking, only="rows", **words) == "rows"
    assert verdict(f, vjp=lambda g, x: 2 * g * x, only="rows", **words) == "ok"
    # Where the value mixes rows itself, the property is silent.
    centred = examine(
        lambda x: x - x.mean(0), vjp=lambda g, x: g - g.mean(0), only="rows", x=("b", "n"), seed=1, profile="fast"
    )
    assert centred.ok
    assert "rows" not in centred.properties


def test_permuted_a_gradient_that_knows_the_first_element() -> None:
    def wrong(g: Any, x: Any) -> Any:
        c = np.broadcast_to(g[..., None], x.shape).copy()
        c[..., :1] *= 1.001
        return c

    f, words = (lambda x: x.sum(-1)), {"x": ("b", "n")}
    assert verdict(f, vjp=wrong, only="permuted", **words) == "permuted"
    assert verdict(f, vjp=lambda g, x: np.broadcast_to(g[..., None], x.shape).copy(), only="permuted", **words) == "ok"
    # Equal numbers are the same in any order, whatever the function is.
    assert verdict(lambda x: np.cumsum(x, -1), np.ones(3), vjp=lambda g, x: np.cumsum(g[::-1])[::-1]) == "ok"
    flipped = examine(
        lambda x: np.cumsum(x, -1), vjp=lambda g, x: np.cumsum(g[..., ::-1], -1)[..., ::-1], only="permuted", x=("n",)
    )
    assert flipped.ok


def test_batch_a_gradient_that_is_another_one_inside_vmap() -> None:
    def made(factor: float) -> Any:
        @tg.custom_gradient
        def f(x: Any) -> Any:
            slope = tg.cos(x) * (factor if isinstance(x.array, Batched) else 1.0)
            return tg.sin(x), lambda g: g * slope

        return f

    only_this_one_sees("batch", made(1.001), made(1.0), x=("n",), framework="tapegrad")


@pytest.mark.interop("torch")
def test_batch_of_a_function_of_pytorch_with_a_rule_of_its_own() -> None:
    import torch

    def made(factor: float) -> Any:
        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return torch.sin(x)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * torch.cos(ctx.saved_tensors[0])

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                return Sine.apply(factor * x), in_dims[0]

        return Sine.apply

    only_this_one_sees("batch", made(1.001), made(1.0), x=("n",))


@pytest.mark.interop("jax")
def test_batch_and_compilation_in_jax() -> None:
    import jax
    import jax.numpy as jnp

    def made(factor: float) -> Any:
        def f(x: Any) -> Any:  # a tracer of jit has no value; one of vjp has one
            return jnp.sin(x * (factor if _is_compiling(x) else 1.0))

        return f

    def _is_compiling(x: Any) -> bool:
        while isinstance(x, jax.core.Tracer) and hasattr(x, "primal"):
            x = x.primal
        return isinstance(x, jax.core.Tracer)

    assert verdict(made(1.001), only="compiled", x=("n",), framework="jax") == "compiled"
    assert verdict(made(1.0), only="compiled", x=("n",), framework="jax") == "ok"
    assert verdict(lambda x: jnp.exp(x) * x, only="batch", x=("n",), framework="jax") == "ok"


@pytest.mark.interop("torch")
def test_compiled_by_pytorch_each_function_anew() -> None:
    import torch

    def made(factor: float) -> Any:
        return lambda x: torch.sin(x * (factor if torch.compiler.is_compiling() else 1.0))

    words: dict[str, Any] = {"x": ("n",), "framework": "torch", "only": "compiled", "profile": "fast", "seed": 1}
    for k in range(10):  # PyTorch keeps eight of one code, and runs what comes then as it is
        session = session_of(made(1.01 + k), (), **words)
        session.system.fully_compiled = False  # which takes half a minute
        found = session.first_failure()
        assert found is not None
        assert found[1].property == "compiled"
    session = session_of(made(1.0), (), **words)
    assert session.system.fully_compiled
    session.system.fully_compiled = False
    assert session.first_failure() is None
    assert session.result.properties["compiled"]


@pytest.mark.interop("torch")
def test_the_compiler_of_pytorch_leaves_the_process_as_it_was() -> None:
    program = """
import torch
from tapegrad.testing import check
check(torch.sin, x=("n",), profile="thorough")
try:
    torch.distributions.Normal(0.0, -1.0)
except ValueError:
    print("still checked")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "still checked\n", done.stderr


@pytest.mark.interop("tensorflow")
def test_compiled_by_tensorflow() -> None:
    import tensorflow as tf

    def made(factor: float) -> Any:
        return lambda x: tf.sin(x * (1.0 if tf.executing_eagerly() else factor))

    assert verdict(made(1.001), only="compiled", x=("n",), framework="tensorflow") == "compiled"
    assert verdict(made(1.0), only="compiled", x=("n",), framework="tensorflow") == "ok"
    assert verdict(made(1.001), x=("n",), framework="tensorflow") == "ok"


@pytest.mark.interop("tensorflow")
def test_compiled_and_on_other_kernels_in_tapegrad() -> None:
    def made(factor: float) -> Any:
        return lambda x: tg.sin(x * (1.0 if type(x.array) is np.ndarray or isinstance(x.array, Batched) else factor))

    assert verdict(made(1.001), only="kernels", x=("n",), framework="tapegrad") == "kernels"
    assert verdict(made(1.0), only="kernels", x=("n",), framework="tapegrad") == "ok"
    assert verdict(made(1.001), only="compiled", x=("n",), framework="tapegrad") == "compiled"
    assert verdict(made(1.0), only="compiled", x=("n",), framework="tapegrad") == "ok"
    assert verdict(made(1.001), x=("n",), framework="tapegrad") == "ok"


def test_third_order_a_vjp_of_the_vjp_of_the_vjp() -> None:
    def made(factor: float) -> Any:
        @tg.custom_gradient
        def slope(x: Any) -> Any:  # d/dx of cos, whose own derivative is wrong
            return -tg.sin(x), lambda g: -factor * g * tg.cos(x)

        @tg.custom_gradient
        def cosine(x: Any) -> Any:
            return tg.cos(x), lambda g: g * slope(x)

        @tg.custom_gradient
        def sine(x: Any) -> Any:
            return tg.sin(x), lambda g: g * cosine(x)

        return sine

    words = {"x": ("n",), "framework": "tapegrad"}
    assert verdict(made(1.01), only="third", **words) == "third"
    assert verdict(made(1.01), **words) == "ok"
    assert verdict(made(1.0), only="third", **words) == "ok"
    assert verdict(lambda x: tg.exp(x) * tg.sin(x), only="third", **words) == "ok"


def test_threads_that_share_a_place_for_what_is_saved() -> None:
    place: dict[str, Any] = {}

    def wrong(g: Any, x: Any) -> Any:
        place["slope"] = np.cos(x)
        time.sleep(1e-5)
        return g * place["slope"]

    only_this_one_sees("threads", (np.sin, {"vjp": wrong}), (np.sin, {"vjp": lambda g, x: g * np.cos(x)}))


def test_growth_of_what_each_call_leaves() -> None:
    def made(*, keep: bool) -> Any:
        left: list[Any] = []

        def vjp(g: Any, x: Any) -> Any:
            left.append(g.copy())
            if not keep:
                left.clear()
            return g * np.cos(x)

        return np.sin, {"vjp": vjp}

    only_this_one_sees("growth", made(keep=True), made(keep=False))


def test_what_is_dear_is_for_the_thorough_profile_or_asked_for() -> None:
    vjp = lambda g, x: g * np.cos(x)  # noqa: E731
    assert not set(DEAR) & set(examine(np.sin, vjp=vjp, seed=1).properties)
    assert all(PROFILES["thorough"].most[name] for name in DEAR)
    assert "growth" in examine(np.sin, vjp=vjp, seed=1, only=["growth"], profile="fast").properties
    assert all(set(DEAR) <= set(p.most) for p in PROFILES.values())


def test_a_wider_gradient_is_a_note_for_numpy_unless_it_is_asked_for() -> None:
    words = {"vjp": lambda g, x: np.asarray(g * np.cos(x), np.float64), "seed": 1}
    noted = examine(np.sin, **words)
    assert noted.ok
    assert "dtype, not counted as wrong: for float" in str(noted)
    assert not examine(np.sin, dtypes="fail", **words).ok
    assert not examine(np.sin, only="precision", **words).ok
    assert not examine(np.sin, x=array("n", dtype="float32"), **words).ok
    # A narrower one has lost digits, and is wrong in any case.
    assert not examine(np.sin, vjp=lambda g, x: (g * np.cos(x)).astype(np.float16), seed=1).ok
    with pytest.raises(ArgumentError, match="dtypes='maybe': expected 'fail' or 'warn'"):
        examine(np.sin, dtypes="maybe", **words)


def test_nothing_is_said_at_a_pole_that_rounding_hides() -> None:
    singular = np.array([[2.0, 1.0, -1.0], [-2.0, 0.0, 0.0], [-1.0, 2.0, -2.0]])  # whose logarithm comes out finite

    def vjp(g: Any, x: Any) -> Any:
        return np.asarray(g)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)

    result = examine(lambda x: np.linalg.slogdet(x)[1], singular[None], vjp=vjp, cotangent=np.array([0.5]), seed=24)
    assert result.ok, str(result)
