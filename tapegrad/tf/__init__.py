"""TensorFlow 2's eager mode, by its names: ``import tapegrad.tf as tf``."""

from __future__ import annotations

import difflib as _difflib
import importlib as _importlib
from typing import Any as _Any

from tapegrad.tf import errors, nest
from tapegrad.tf.convert import cast, constant, convert_to_tensor, identity, is_tensor, saturate_cast
from tapegrad.tf.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from tapegrad.tf.names import name_scope
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.tape import GradientTape, UnconnectedGradients
from tapegrad.tf.tensor import Tensor
from tapegrad.tf.variable import Variable, VariableAggregation, VariableSynchronization

newaxis = None
__version__ = "2.21.0"
version = VERSION = __version__
__git_version__ = "tapegrad"

#: Modules that are imported when they are first asked for.
_LAZY: dict[str, str] = {"keras": "tapegrad.tf.keras"}


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _importlib.import_module(_LAZY[name])
    near = _difflib.get_close_matches(name, __dir__(), 1)
    hint = f"; did you mean tf.{near[0]}?" if near else ""
    raise AttributeError(f"tapegrad.tf, the TensorFlow-style facade of tapegrad, has no {name!r}{hint}", name=name)


def __dir__() -> list[str]:
    """What is there, with what is imported when it is first asked for."""
    return sorted({k for k in globals() if not k.startswith("_")} | set(_LAZY) | {"__version__"})
