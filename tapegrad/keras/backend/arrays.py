"""What Keras's NumPy backend finds under the name `np`: NumPy's functions, which here take tensors, record, and give tensors.

A function of NumPy's that tapegrad has no counterpart of computes with values, and refuses what a tape is recording: no
derivative is lost silently.  Types and constants are NumPy's own.
"""

from __future__ import annotations

import types
from typing import Any, final

import numpy

from tapegrad import protocols
from tapegrad.core.tensor import Tensor, linked, standing_for
from tapegrad.ops.convert import asarray as _asarray
from tapegrad.registry.space import F
from tapegrad.tree import flatten


def array(x: Any, dtype: Any = None, **_: Any) -> Tensor:
    """A tensor of these values; Python floats in double precision, as NumPy has them."""
    x = _plain(x)
    if isinstance(x, Tensor):
        return F.astype(x, dtype) if dtype is not None and x.dtype != numpy.dtype(dtype) else x
    leaves, _rebuild = flatten(x)
    if any(isinstance(leaf, Tensor) for leaf in leaves):
        return _asarray(_rebuild(leaves), dtype=dtype)
    return _asarray(numpy.array(x, dtype=dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> Tensor:
    """A tensor of one value."""
    value = array(fill_value, dtype=dtype)
    return F.broadcast_to(value, tuple(shape) if hasattr(shape, "__iter__") else (int(shape),))


def _plain(x: Any) -> Any:
    """A tensor or dtype without the look of a facade, which has methods of its own; anything else as it is."""
    x = standing_for(x)
    if hasattr(x, "as_numpy_dtype"):
        return x.as_numpy_dtype
    return linked(*x.read()) if isinstance(x, Tensor) and type(x) is not Tensor else x


def _ufunc(function: Any) -> Any:
    def call(*args: Any, **words: Any) -> Any:
        given = [_plain(x) for x in args]
        return protocols.array_ufunc(None, function, "__call__", *given, **words)  # type: ignore[arg-type]

    return call


def _function(function: Any) -> Any:
    def call(*args: Any, **words: Any) -> Any:
        leaves, rebuild = flatten([list(args), words])
        plain, named = rebuild([_plain(x) for x in leaves])
        return protocols.array_function(None, function, (), tuple(plain), named)  # type: ignore[arg-type]

    return call


@final
class Namespace:
    """A module of NumPy's, whose functions are wrapped as they are first asked for."""

    def __init__(self, module: types.ModuleType, **ours: Any) -> None:
        self._module = module
        vars(self).update(ours)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, types.ModuleType):
            made: Any = Namespace(value) if name in ("linalg", "fft") else value
        elif isinstance(value, numpy.ufunc):
            made = _ufunc(value)
        elif callable(value) and not isinstance(value, type):
            made = _function(value)
        else:
            made = value
        setattr(self, name, made)
        return made

    def __repr__(self) -> str:
        return f"<{self._module.__name__} on tapegrad>"


np = Namespace(numpy, array=array, asarray=array, full=full)
