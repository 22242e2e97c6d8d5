"""Methods that arrays have elsewhere and tensors do not: asked for one, a tensor says what is written here."""

from __future__ import annotations

from typing import Any, final

from tapegrad.core.tensor import Tensor

_TAPE = "record under `with tapegrad.GradientTape() as tape:` after `tape.watch(x)`, and write `tape.gradient(y, x)`"
_COPY = "a tensor keeps its values; for memory of its own write tapegrad.asarray(x, copy=True)"
_FLAT = "write x.reshape(-1)"
_CHANGE = "a tensor is a value, and what it is called can be given another one: x = x + 1; tapegrad.Variable(x) has assign()"
_AXES = "write tapegrad.permute_dims(x, axes), or x.T for a matrix"

#: Names of PyTorch's, NumPy's and TensorFlow's, and what an error says after them.
HABITS = {
    "backward": (
        f"{_TAPE}; the tensors of tapegrad.torch have backward(), and for others that came from them there is its autograd.backward"
    ),
    "requires_grad": f"{_TAPE}; the tensors of tapegrad.torch have requires_grad",
    "requires_grad_": f"{_TAPE}; the tensors of tapegrad.torch have requires_grad_()",
    "grad": f"{_TAPE}; the tensors of tapegrad.torch have grad",
    "detach": "write tapegrad.stop_gradient(x)",
    "clone": _COPY,
    "copy": _COPY,
    "cpu": 'write x.to_device("cpu")',
    "cuda": 'write x.to_device("GPU:0")',
    "flatten": _FLAT,
    "ravel": _FLAT,
    "view": "write x.reshape(shape)",
    "transpose": _AXES,
    "permute": _AXES,
    "swapaxes": _AXES,
    "unsqueeze": "write tapegrad.expand_dims(x, axis=axis)",
    "dot": "write x @ y, or tapegrad.vecdot(x, y)",
    "mm": "write x @ y",
    "matmul": "write x @ y",
    "cumsum": "write tapegrad.cumulative_sum(x, axis=axis)",
    "cumprod": "write tapegrad.cumulative_prod(x, axis=axis)",
    "clamp": "write tapegrad.clip(x, low, high)",
    "get_shape": "write x.shape",
    "assign": "a tensor is a value; tapegrad.Variable(x) has assign()",
    "double": "write x.astype(tapegrad.float64)",
    "float": "write x.astype(tapegrad.float32)",
    "half": "write x.astype(tapegrad.float16)",
    "type": "write x.astype(dtype), or x.dtype",
    "t": "write x.T",
    "norm": "write tapegrad.linalg.vector_norm(x)",
    "fill_": _CHANGE,
    "zero_": _CHANGE,
    "add_": _CHANGE,
    "sub_": _CHANGE,
    "mul_": _CHANGE,
    "copy_": _CHANGE,
    "flags": "write x.numpy().flags; how its array lies in memory is not a tensor's matter",
    "nbytes": "write x.size * x.dtype.itemsize",
    "_id": (  # what a tape of TensorFlow's asks its targets for
        "a tf.GradientTape differentiates TensorFlow's tensors: give it y.raw if TensorFlow's tensors or variables are "
        "differentiated by, else record under tapegrad.GradientTape, which watches TensorFlow's too"
    ),
    **{
        name: f"write tapegrad.{name}(x)"
        for name in (
            *("abs", "argsort", "clip", "conj", "cos", "exp", "imag", "log", "median", "nonzero", "pow", "quantile", "real", "repeat"),
            *("round", "sin", "softmax", "sort", "sqrt", "square", "take", "tanh"),
        )
    },
    **{name: f"write tapegrad.nn.{name}(x)" for name in ("relu", "sigmoid")},
    **{name: f"write tapegrad.linalg.{name}(x)" for name in ("diagonal", "trace")},
}


@final
class Habit:
    """An attribute that is not there, with a hint: `hasattr` says no, as for any other."""

    __slots__ = ("_hint", "_name")

    def __init__(self, name: str, hint: str) -> None:
        self._name = name
        self._hint = hint

    def __get__(self, x: Any, cls: type) -> Any:
        if self._name in getattr(x, "__dict__", ()):
            return x.__dict__[self._name]
        raise AttributeError(f"{cls.__name__!r} object has no attribute {self._name!r}; {self._hint}", name=self._name)


    def __set__(self, x: Any, value: Any) -> None:
        if not hasattr(x, "__dict__"):
            self.__get__(x, type(x))
        x.__dict__[self._name] = value  # an attribute of a class that somebody derived


def _dir(x: Tensor) -> list[str]:
    """The attributes that are there."""
    lacking = {name for name in HABITS if isinstance(_found(type(x), name), Habit)}
    return [name for name in object.__dir__(x) if name not in lacking]


def _found(cls: type, name: str) -> Any:
    """What a class has by that name, as it stands there."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


for _name, _hint in HABITS.items():
    setattr(Tensor, _name, Habit(_name, _hint))
Tensor.__dir__ = _dir  # type: ignore[assignment]
