"""`torch.nn.init`: filling parameters, with the numbers that PyTorch gives under the same seed.

`orthogonal_` goes through a QR decomposition, of which the last bits depend on the linear algebra library.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tapegrad.torch import _arrays, _normal, _uniform
from tapegrad.torch import _generator as generators
from tapegrad.torch._functions import random_fill
from tapegrad.torch._missing import refusing
from tapegrad.torch._modes import no_grad

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

#: From this share of accepted numbers on, a truncated normal distribution is drawn from the whole one.
_ENOUGH = 0.3

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)
_GAINS = {**dict.fromkeys(_LINEAR, 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which a nonlinearity asks for wider weights."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, int | float) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Numbers evenly spread over [a, b)."""
    with no_grad():
        return random_fill.uniform_(tensor, a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers."""
    with no_grad():
        return random_fill.normal_(tensor, mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """One value."""
    return _written(tensor, np.full(tuple(tensor.shape), val))


def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """Ones on the diagonal of a matrix, else zeros."""
    if len(tensor.shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _written(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """A convolution's weight that passes its channels on, in each group as many as there are."""
    shape = tuple(tensor.shape)
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    size = shape[0] // groups
    centre = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for d in range(min(size, shape[1])):
            values[(group * size + d, d, *centre)] = 1
    return _written(tensor, values)


def _written(tensor: Any, values: np.ndarray[Any, Any]) -> Any:
    with no_grad():
        return _arrays.fill(tensor, values.astype(_arrays.raw(tensor).dtype))


# -- numbers that depend on how many inputs and outputs there are ------------------------------------------------
def _fans(tensor: Any) -> tuple[int, int]:
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_calculate_fan_in_and_fan_out = _fans


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode.lower() == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Even numbers of variance gain**2 * 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _fans(tensor)
    a = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers of variance gain**2 * 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Even numbers of variance gain**2 / fan (He et al. 2015)."""
    if 0 in tensor.shape:
        return _nothing(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal numbers of variance gain**2 / fan."""
    if 0 in tensor.shape:
        return _nothing(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def _nothing(tensor: Any) -> Any:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor


# -- other distributions -----------------------------------------------------------------------------------------
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal numbers within [a, b]: those outside are drawn anew, the whole tensor at a time."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
    source, dtype = generators.of(generator), _arrays.raw(tensor).dtype
    n = math.prod(tensor.shape)
    if _share(a, b, mean, std) >= _ENOUGH:

        def draw() -> tuple[Any, Any]:
            x = _normal.normal(source, n, mean, std, dtype)
            return x, (x >= a) & (x <= b)

    else:
        nearest = min(max(mean, a), b)

        def draw() -> tuple[Any, Any]:  # even numbers, accepted in proportion to the density
            x = _uniform.uniform(source, n, a, b, dtype)
            u = _uniform.uniform(source, n, 0, 1, dtype)
            density = -0.5 * ((x - mean) / std) ** 2 + 0.5 * ((nearest - mean) / std) ** 2
            return x, u <= np.exp(density)

    found, missing = np.zeros(n, dtype), np.ones(n, np.bool_)
    while missing.any():
        x, accepted = draw()
        take = missing & accepted
        found[take] = x[take]
        missing &= ~accepted
    return _written(tensor, found)


def _share(a: float, b: float, mean: float, std: float) -> float:
    """The probability that a normal number lies within [a, b]."""
    return (math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2))) / 2


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A matrix with orthonormal rows or columns, of normal numbers made orthogonal (Saxe et al. 2013)."""
    if len(tensor.shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape:
        return tensor
    raw = _arrays.raw(tensor)
    rows, columns = raw.shape[0], raw.size // raw.shape[0]
    flat = _normal.normal(generators.of(generator), raw.size, 0, 1, raw.dtype).reshape(rows, columns)
    wide = rows < columns
    q, r = np.linalg.qr(flat.T if wide else flat)
    q = q * np.sign(np.diag(r))
    return _written(tensor, (q.T if wide else q) * raw.dtype.type(gain))


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers in a matrix, with this share of each column set to zero (Martens 2010)."""
    if len(tensor.shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    source, raw = generators.of(generator), _arrays.raw(tensor)
    rows, columns = raw.shape
    zeros = math.ceil(sparsity * rows)
    values = _normal.normal(source, raw.size, 0, std, raw.dtype).reshape(rows, columns)
    for column in range(columns):
        # Which rows: always drawn from the default generator, as in PyTorch.
        values[_uniform.permutation(generators.default_generator(), rows)[:zeros], column] = 0
    return _written(tensor, values)


# -- names of old --------------------------------------------------------------------------------------------------
def _old(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def deprecated(*args: Any, **words: Any) -> Any:
        new = function.__name__
        warnings.warn(
            f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **words)

    deprecated.__name__ = function.__name__[:-1]
    return deprecated


uniform = _old(uniform_)
normal = _old(normal_)
constant = _old(constant_)
eye = _old(eye_)
dirac = _old(dirac_)
xavier_uniform = _old(xavier_uniform_)
xavier_normal = _old(xavier_normal_)
kaiming_uniform = _old(kaiming_uniform_)
kaiming_normal = _old(kaiming_normal_)
orthogonal = _old(orthogonal_)
sparse = _old(sparse_)


__getattr__ = refusing(globals())

#: PyTorch's inner names, which libraries of models import.
_no_grad_uniform_, _no_grad_normal_, _no_grad_fill_, _no_grad_trunc_normal_ = uniform_, normal_, constant_, trunc_normal_
