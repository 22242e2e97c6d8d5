"""One right and one wrong derivative in each framework: the same check, whoever's function it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.testing import array, examine

pytestmark = pytest.mark.filterwarnings("ignore")


def verdict(f: Any, *examples: Any, **words: Any) -> str:
    result = examine(f, *examples, seed=3, profile="fast", **words)
    assert result.checks > 0
    return "ok" if result.failure is None else result.failure.property


def test_ops_and_functions_of_tapegrad() -> None:
    assert verdict(tg.sin) == "ok"
    assert verdict(lambda x: tg.sum(tg.exp(x) * x, axis=-1), x=("b", "n")) == "ok"
    assert verdict(tg.matmul, x1=("b", "n"), x2=("n", "m")) == "ok"

    @tg.custom_gradient
    def wrong(x: Any) -> Any:
        return tg.exp(x), lambda g: g * 1.01 * tg.exp(x)

    assert verdict(wrong, x=("n",), framework="tapegrad") == "numeric"


def test_the_pytorch_style_of_tapegrad() -> None:
    from tapegrad import torch

    assert verdict(lambda x: torch.sin(x) * x) == "ok"


def test_numpy_functions_that_return_their_pullback() -> None:
    def right(x: Any) -> Any:
        y = np.exp(x)
        return y, lambda g: g * y

    def stale(x: Any) -> Any:
        cell[0] = x
        return np.exp(x), lambda g: g * np.exp(cell[0]) if cell[0].shape == x.shape else g * np.exp(x)

    cell = [np.zeros(1)]
    assert verdict(right) == "ok"
    assert verdict(stale) == "repeat"


def test_nested_arguments_and_several_outputs() -> None:
    def f(p: dict[str, Any], x: Any) -> Any:
        return p["w"] * x, p["b"] + x

    def vjp(g: Any, p: dict[str, Any], x: Any) -> Any:
        return {"w": g[0] * x, "b": g[1]}, g[0] * p["w"] + g[1]

    def wrong(g: Any, p: dict[str, Any], x: Any) -> Any:
        return {"w": g[0] * x, "b": g[1]}, g[0] * p["w"]

    words = {"p": {"w": ("n",), "b": ("n",)}, "x": ("n",)}
    assert verdict(f, vjp=vjp, **words) == "ok"
    assert verdict(f, vjp=wrong, **words) == "numeric"


@pytest.mark.interop("torch")
def test_pytorch() -> None:
    import torch

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x.exp() * 1.01

    assert verdict(lambda x: torch.softmax(x, -1), x=("b", "n")) == "ok"
    assert verdict(torch.sin, torch.ones(2, 3, dtype=torch.float64)) == "ok"
    assert verdict(Wrong.apply, x=("n",)) == "numeric"


@pytest.mark.interop("torch")
def test_a_module_of_pytorch_is_checked_with_its_parameters() -> None:
    import torch

    class Wrong(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            return super().forward(x) + 0.1 * (self.bias.detach() * self.weight.detach().sum())

    result = examine(torch.nn.Linear(3, 2), input=("b", 3), seed=1, profile="fast")
    assert result.ok, str(result)
    assert verdict(Wrong(3, 2), x=("b", 3)) == "numeric"


@pytest.mark.interop("tensorflow")
def test_tensorflow() -> None:
    import tensorflow as tf

    @tf.custom_gradient
    def wrong(x: Any) -> Any:
        return tf.sin(x), lambda g: g * tf.sin(x)

    assert verdict(tf.sin) == "ok"
    assert verdict(tf.nn.softmax, logits=("b", "n")) == "ok"
    assert verdict(wrong, x=("n",)) == "numeric"


@pytest.mark.interop("jax")
def test_jax() -> None:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def wrong(x: Any) -> Any:
        return jnp.exp(x)

    wrong.defvjp(lambda x: (jnp.exp(x), jnp.exp(x)), lambda y, g: (2 * g * y,))
    assert verdict(jnp.sin) == "ok"
    assert verdict(wrong, x=("n",)) == "numeric"
    assert verdict(lambda z: z * z, z=array("n", complex=True), framework="jax") == "ok"


@pytest.mark.interop("autograd")
def test_autograd_and_what_is_wrong_in_it() -> None:
    import autograd.numpy as anp

    assert verdict(lambda x: anp.tanh(x) * anp.sum(x), x=("n",)) == "ok"
    assert verdict(lambda z: z * z, z=array("n", complex=True), framework="autograd") == "ok"
    assert verdict(anp.prod, a=("n",)) == "finite"
    assert verdict(anp.linalg.norm, x=("n",)) == "finite"


@pytest.mark.interop("mygrad")
def test_mygrad() -> None:
    import mygrad as mg

    assert verdict(mg.sin) == "ok"
    assert verdict(mg.prod, a=("n",)) == "ok"


@pytest.mark.parametrize(
    ("f", "words", "message"),
    [
        (lambda x: None, {"vjp": lambda g, x: g}, r"returned None; return the value"),
        (np.sin, {}, r"give check\(\.\.\., vjp=lambda g, x: \.\.\.\)"),
        (lambda n: n, {"n": 3, "vjp": lambda g, n: g}, "no floating argument"),
        (lambda x: x, {"y": ("n",), "vjp": lambda g, x: g}, r"has no parameter .y.; its parameters are x"),
        (lambda x, w: x, {"x": ("n",), "vjp": lambda g, x: g}, r"nothing says what w looks like"),
        (lambda x: x, {"x": "n", "vjp": lambda g, x: g}, r"write x=\('n',\)"),
        (lambda x: x, {"x": ("b n",), "vjp": lambda g, x: g}, r"write x\('b', 'n'\)"),
        (lambda x: x, {"framework": "theano"}, "expected one of"),
        (lambda x: x, {"vjp": lambda g, x: (g, g)}, "gave 2 gradients"),
        (lambda x: x, {"vjp": lambda g, x: g, "profile": "slow"}, "expected one of fast, default"),
        (lambda x: x, {"vjp": lambda g, x: g, "only": "nothing"}, "expected names among"),
        (lambda x: x, {"vjp": 3}, r"check\(vjp=...\): expected a function, got int"),
        (
            lambda x: x,
            {"vjp": lambda g, x: g, "x": np.ones(3), "cotangent": np.ones(2)},
            r"expected cotangent.shape == \(3,\), the output's; got \(2,\)",
        ),
        (
            lambda a, b: a @ b,
            {"vjp": lambda g, a, b: (g @ b.T, a.T @ g), "a": (2, 3), "b": (2, 4)},
            "takes none of the inputs",
        ),
    ],
)
def test_bad_use_is_told_what_to_write_instead(f: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        examine(f, **words)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("cast", [True, False])
def test_arguments_in_lower_precision_are_differentiated_in_double_precision(dtype: str, cast: bool) -> None:
    def made(factor: float) -> Any:
        def vjp(g: Any, y: Any, x: Any) -> Any:
            return (g * np.conj(1 - factor * y * y)).astype(dtype if cast else x.dtype)

        return examine(np.tanh, x=array("n", dtype=dtype), vjp=vjp, seed=1, profile="fast")

    assert made(1.0).ok
    wrong = made(0.5)
    assert wrong.failure is not None
    assert wrong.failure.property == "numeric"
    with pytest.raises(ArgumentError, match="expected a dtype by its name"):
        array("n", dtype="bfloat")


def test_a_framework_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapegrad.testing.systems import choose

    monkeypatch.setattr(choose, "find_spec", lambda module: None)
    with pytest.raises(ArgumentError, match="mygrad is not installed here; pip install mygrad"):
        examine(lambda x: x, framework="mygrad")


def test_a_function_that_is_not_deterministic_is_told_so() -> None:
    rng = np.random.default_rng(0)
    result = examine(lambda x: x * rng.uniform(0.9, 1.1), vjp=lambda g, x: g, only="repeat", seed=1)
    assert "called twice, gives two values" in str(result)
    assert "nondeterministic=" in str(result)


@pytest.mark.interop("torch")
def test_a_framework_is_seen_from_methods_that_its_arrays_alone_have() -> None:
    pytest.importorskip("torch")
    assert examine(lambda x: x.kthvalue(2, -1).values, x=array("b", 5), seed=1, profile="fast").ok
    with pytest.raises(ArgumentError, match="no attribute 'nobody_has_this'; for a function of a framework"):
        examine(lambda x: x.nobody_has_this(), x=("n",))


def test_numbers_in_the_code_of_rules_are_tried() -> None:
    jax = pytest.importorskip("jax")

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def line(x: Any) -> Any:
        return 3 * x

    line.defvjp(lambda x: (3 * x, x), lambda x, g: (g * jax.numpy.where(abs(x - 0.71234) < 1e-6, 2.0, 3.0),))
    assert not examine(line, x=("n",), profile="fast", seed=1).ok


@pytest.mark.interop("torch")
def test_zeros_that_pytorch_gives_no_memory_to() -> None:
    torch = pytest.importorskip("torch")
    result = examine(torch.abs, input=("b", "n"), seed=7, profile="fast")
    assert result.ok, str(result)
    assert result.properties["second"]


def test_the_vjp_of_a_function_of_the_pytorch_style_is_one_too() -> None:
    from tapegrad import torch

    result = examine(lambda x: torch.relu(x) * x.sigmoid(), x=("n",), kinks="warn", profile="fast", seed=1)
    assert result.ok, str(result)
    assert result.properties["second"]


@pytest.mark.interop("torch")
def test_what_pytorch_saves_besides_arguments_is_named_where_the_second_derivative_is_wrong() -> None:
    import torch

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(torch.cos(x))
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    told = str(examine(Scaled.apply, x=("n",), profile="fast", seed=1))
    assert "the derivative of the vjp is wrong" in told
    assert "or decorate backward with torch.autograd.function.once_differentiable" in told


@pytest.mark.interop("tensorflow")
def test_what_tensorflow_refuses_while_an_input_is_made_small_is_no_error_of_the_check() -> None:
    import tensorflow as tf

    def f(x: Any) -> Any:
        return tf.stop_gradient(x[:, 0:1]) * (x @ tf.eye(3, dtype=x.dtype))

    result = examine(
        lambda x: f(tf.reshape(x, (-1, 3))), np.ones((2, 3)), framework="tensorflow", seed=1, profile="fast"
    )
    assert not result.ok


@pytest.mark.parametrize("style", ["torch", "tf"])
def test_second_derivatives_of_a_style_through_steps_that_keep_a_zero_a_zero(style: str) -> None:
    if style == "torch":
        from tapegrad.torch.nn.functional import normalize
    else:
        from tapegrad.tf.math import l2_normalize as normalize

    result = examine(lambda x: normalize(x), x=("b", 4), framework=f"tapegrad.{style}", profile="fast", seed=5)  # noqa: PLW0108
    assert result.ok, str(result)
    assert result.properties["second"]


@pytest.mark.interop("tensorflow")
def test_what_tensorflow_does_not_differentiate_twice_is_not_looked_at_twice() -> None:
    import tensorflow as tf

    result = examine(tf.nn.softsign, features=("n",), profile="fast", seed=5)
    assert result.ok, str(result)
    assert not {"second", "forward"} & set(result.properties)
