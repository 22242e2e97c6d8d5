"""Tape-based automatic differentiation for eager-mode scripts, on NumPy arrays.

>>> import tapegrad as tg
>>> x = tg.asarray([1.5, -0.5])
>>> with tg.GradientTape() as tape:
...     tape.watch(x)
...     y = tg.sum(x * x)
>>> tape.gradient(y, x)
Tensor([ 3., -1.], dtype=float32)
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tapegrad import ops as _ops  # declares the ops
from tapegrad._version import __version__
from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import (
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tapegrad.ecosystem import torch_arrays as _torch_arrays  # what PyTorch's tensors are as arguments
from tapegrad.ecosystem.arrivals import when_imported as _when_imported
from tapegrad.info import namespace_info as __array_namespace_info__
from tapegrad.ops import methods as _methods  # gives Tensor its operators
from tapegrad.ops.convert import asarray
from tapegrad.ops.einsum import einsum
from tapegrad.ops.exchange import from_dlpack
from tapegrad.ops.together import broadcast_arrays, meshgrid
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
from tapegrad.registry.backends import default_backend, set_default_backend
from tapegrad.registry.op import OPS as _OPS
from tapegrad.registry.places import device
from tapegrad.registry.public import at_home as _at_home
from tapegrad.sparse import SparseRows
from tapegrad.tape import GradientTape
from tapegrad.variable import TRACED as _TRACED
from tapegrad.variable import Variable

from tapegrad import errors  # isort: skip

if _TYPE_CHECKING:  # imported when they are first asked for, below
    from tapegrad import fft, functional, linalg, nn, random, special
    from tapegrad.compiled import function
    from tapegrad.forward import ForwardAccumulator
    from tapegrad.loss_scale import LossScale
    from tapegrad.transforms import (
        checkpoint,
        custom_gradient,
        custom_jvp,
        grad,
        hessian,
        hvp,
        jacobian,
        jvp,
        linearize,
        value_and_grad,
        vjp,
        vmap,
    )

e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")
newaxis = None

#: The version of the array API standard that the main namespace follows, and those that it answers to.
__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

globals().update(_at_home(__name__, {name: op.entry for name, op in _OPS.items() if op.public}))

_MODULES = (errors,)  # others are here because they were imported
#: Modules that are imported when they are first asked for.
_LAZY = ("fft", "functional", "linalg", "nn", "random", "special")
#: Single names likewise, and the modules that they are in.
_SINGLE = {"ForwardAccumulator": "forward", "LossScale": "loss_scale", "function": "compiled"}
#: Families of ops whose names are here, declared when one of them is first asked for.
_FAMILIES = {
    "sets": ("unique_all", "unique_counts", "unique_inverse", "unique_values"),
    "signals": ("convolve", "correlate", "interp", "polyval"),
    "statistics": (
        *("corrcoef", "cov", "cumulative_trapezoid", "median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod"),
        *("nanquantile", "nanstd", "nansum", "nanvar", "quantile", "trapezoid"),
    ),
}
#: Functions of functions, likewise.
_TRANSFORMS = (
    *("checkpoint", "custom_gradient", "custom_jvp", "grad", "hessian", "hvp", "jacobian", "jvp", "linearize"),
    *("value_and_grad", "vjp", "vmap"),
)
__all__ = [
    "__version__",
    *_LAZY,
    *_SINGLE,
    *_TRANSFORMS,
    *(name for names in _FAMILIES.values() for name in names),
    *sorted(k for k, v in globals().items() if not k.startswith("_") and (type(v) is not type(_sys) or v in _MODULES)),
]


def __getattr__(name: str) -> _Any:
    if name == "bfloat16":  # ml_dtypes is imported when it is wanted
        from tapegrad import dtypes

        return dtypes.bfloat16
    if name in _LAZY:
        return _importlib.import_module(f"tapegrad.{name}")
    if name in _SINGLE:
        found = getattr(_importlib.import_module(f"tapegrad.{_SINGLE[name]}"), name)
        globals()[name] = found
        return found
    for family, names in _FAMILIES.items():
        if name in names:
            ops = _importlib.import_module(f"tapegrad.ops.{family}")
            globals().update(_at_home(__name__, {n: getattr(ops, n).entry for n in names}))
            return globals()[name]
    if name in _TRANSFORMS:
        found = getattr(_importlib.import_module("tapegrad.transforms"), name)
        globals()[name] = found
        return found
    from tapegrad.elsewhere import missing

    raise missing(__name__, name)


def __dir__() -> list[str]:
    """What is public, with what is imported when it is first asked for; not the modules that it is made of."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__")), "bfloat16"})


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> _Any:
    """The namespace of the array API for tensors: this one."""
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"__array_namespace__(api_version=...): expected one of {_VERSIONS}, got {api_version!r}")
    return _sys.modules[__name__]


Tensor.__array_namespace__ = _array_namespace  # type: ignore[attr-defined]


def _numpy_protocol(name: str) -> _Any:
    def protocol(self: Tensor, /, *args: _Any, **words: _Any) -> _Any:
        from tapegrad import protocols  # imported when NumPy first meets a tensor

        return getattr(protocols, name)(self, *args, **words)

    return protocol


Tensor.__array_ufunc__ = _numpy_protocol("array_ufunc")  # type: ignore[attr-defined]
Tensor.__array_function__ = _numpy_protocol("array_function")  # type: ignore[attr-defined]


def _torch_function(cls: type, function: _Any, types: _Any, args: _Any = (), kwargs: _Any = None) -> _Any:
    """What PyTorch calls for a function of its with a tensor among the arguments: it records."""
    from tapegrad.ecosystem import torch_functions  # imported when PyTorch first meets a tensor

    return torch_functions.torch_function(function, types, args, kwargs or {})


def _tf_tensor(self: Tensor, dtype: _Any = None, name: str | None = None) -> _Any:
    """What TensorFlow calls to have a tensor of its own."""
    from tapegrad.ecosystem import tensorflow_functions

    return tensorflow_functions.tf_tensor(self, dtype, name)


def _tf_tracing_type(self: Tensor, context: _Any) -> _Any:
    """What `tf.function` asks of an argument."""
    from tapegrad.ecosystem import tensorflow_functions

    return tensorflow_functions.tf_tracing_type(self, context)


def _placed(variable: Variable) -> _Any:
    """The raw value of a variable in a graph that TensorFlow builds for somebody else."""
    from tapegrad.compiled import foreign

    return foreign.placed(variable)


def _handed(variable: Variable) -> _Any:
    from tapegrad.ecosystem import tensorflow_functions

    return tensorflow_functions.handed(variable)


def _refuse(label: str) -> None:
    from tapegrad.compiled import foreign

    foreign.refuse(label)


_TRACED.placed, _TRACED.handed, _TRACED.refuse = _placed, _handed, _refuse
Tensor.__tf_tensor__ = _tf_tensor  # type: ignore[attr-defined]
Tensor.__tf_tracing_type__ = _tf_tracing_type  # type: ignore[attr-defined]
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
_when_imported("tensorflow", "tensorflow_functions")
_when_imported("einops", "einops_backend")
