"""Tape-based automatic differentiation for eager-mode scripts, on NumPy arrays.

>>> import tapegrad as tg
>>> x = tg.asarray([1.5, -0.5])
>>> with tg.GradientTape() as tape:
...     tape.watch(x)
...     y = tg.sum(x * x)
>>> tape.gradient(y, x)
Tensor([ 3., -1.], dtype=float32)
"""

from typing import Any

from tapegrad import ops as _ops  # noqa: F401  declares the ops
from tapegrad._version import __version__
from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import (
    bool,  # noqa: A004
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tapegrad.forward import ForwardAccumulator
from tapegrad.ops import methods as _methods  # noqa: F401  gives Tensor its operators
from tapegrad.ops.convert import asarray
from tapegrad.recording import no_grad, stop_gradient
from tapegrad.registry import (
    composite,
    constant,
    elementwise,
    linear,
    multilinear,
    no_derivative,
    not_implemented,
    primitive,
)
from tapegrad.registry.op import OPS as _OPS
from tapegrad.tape import GradientTape
from tapegrad.transforms import custom_gradient
from tapegrad.variable import Variable
from tapegrad import nn, random  # isort: skip  they need the ops

e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")
newaxis = None

globals().update({name: op.entry for name, op in _OPS.items() if op.public})

__all__ = sorted(name for name in globals() if not name.startswith("_")) + ["__version__"]


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # ml_dtypes is imported when it is wanted
        from tapegrad import dtypes

        return dtypes.bfloat16
    raise AttributeError(f"module 'tapegrad' has no attribute {name!r}")
