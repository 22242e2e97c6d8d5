"""Functions of Keras's NumPy backend that write into arrays, run as they are, on values that no tape records."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import numpy
from keras.src import tree

from tapegrad.core.tensor import Tensor
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def by_values(names: dict[str, Any], wanted: Iterable[str]) -> None:
    """Put functions of a module in the place of themselves, which compute with arrays of NumPy and give tensors."""
    plain = {**names, "np": numpy, **_CONVERSIONS}
    if "draw_seed" in names:
        plain["draw_seed"] = lambda seed, draw=names["draw_seed"]: convert_to_numpy(draw(seed))
    for name, value in names.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is names:
            copy = types.FunctionType(value.__code__, plain, name, value.__defaults__, value.__closure__)
            copy.__kwdefaults__ = value.__kwdefaults__
            plain[name] = copy
    for name in wanted:
        if name not in plain:  # of another version of Keras
            continue
        names[name] = _on_values(name, plain[name])


def _array(x: Any, dtype: Any = None, **_: Any) -> Any:
    return convert_to_numpy(convert_to_tensor(x, dtype))


_CONVERSIONS = {
    "convert_to_tensor": _array,
    "cast": _array,
    "is_tensor": lambda x: isinstance(x, numpy.ndarray | numpy.generic),
}


def _on_values(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def bare(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        raw, node = x.read()
        if is_recorded(node):
            raise NotImplementedError(f"{name} of values that a tape records: tapegrad has no derivative of it")
        return numpy.array(raw)

    @functools.wraps(function)
    def run(*args: Any, **words: Any) -> Any:
        found = function(*tree.map_structure(bare, args), **tree.map_structure(bare, words))
        return tree.map_structure(lambda y: asarray(y) if isinstance(y, numpy.ndarray | numpy.generic) else y, found)

    return run
