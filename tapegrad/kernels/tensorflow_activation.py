"""TensorFlow kernels of neural networks' activations, and of cotangents times their partials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import abs, add, divide, maximum, multiply, negative, same_dtype, subtract
from tapegrad.kernels.tensorflow_array import TFArray, made
from tapegrad.kernels.tensorflow_basics import greater
from tapegrad.kernels.tensorflow_calls import BOOL, F32, F64
from tapegrad.kernels.tensorflow_functions import exp, log1p
from tapegrad.kernels.tensorflow_promotion import asarray, converted

if TYPE_CHECKING:
    from collections.abc import Callable

_relu = same_dtype("Relu")


def relu(x: Any) -> Any:
    """The larger of `x` and 0."""
    x = asarray(x)
    return maximum(x, 0) if x.dtype is BOOL else _relu(x)


def step(x: Any) -> Any:
    """1 where x > 0, else 0, in the dtype of x."""
    return converted(greater(x, 0), x.dtype)


def softplus(x: Any, *, beta: float = 1.0) -> Any:
    """max(x, 0) + log1p(exp(-abs(x)))."""
    if beta != 1:
        x = multiply(x, beta)
    y = add(maximum(x, 0), log1p(exp(negative(abs(x)))))
    return y if beta == 1 else divide(y, beta)


def _gradient(name: str, otherwise: Callable[[Any, Any], Any], *, value_first: bool) -> Callable[[Any, Any], Any]:
    """A cotangent times a partial by TensorFlow's op of this name, where both have one shape and a common real dtype."""
    run = calls.two(name)

    def kernel(g: Any, y: Any) -> Any:
        if type(g) is TFArray and type(y) is TFArray and (d := g.dtype) is y.dtype and (d is F32 or d is F64):
            s = y.shape
            if g.shape == s:
                return made(run(y.bare, g.bare) if value_first else run(g.bare, y.bare), d, s)
        return otherwise(g, y)

    return kernel


def _times_step(g: Any, y: Any) -> Any:
    return multiply(g, step(y) if hasattr(y, "dtype") else float(y > 0))


tanh_grad = _gradient("TanhGrad", lambda g, y: multiply(g, subtract(1, multiply(y, y))), value_first=True)
sigmoid_grad = _gradient("SigmoidGrad", lambda g, y: multiply(g, multiply(y, subtract(1, y))), value_first=True)
relu_grad = _gradient("ReluGrad", _times_step, value_first=False)
