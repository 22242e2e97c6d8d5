"""The formula of one of Keras's optimisers, run on arrays of NumPy: Keras's own code, with NumPy's functions as its `ops`.

An optimiser's step is a dozen small ops for each variable, none of which a tape has to see.  As ops they are half of the
time of a training step of a small model; as functions of NumPy a fifth of that.  What is not plainly one of Keras's own
formulas on NumPy's arrays (another backend's, a subclass of a script's, an op without its row in `_OPS`) goes Keras's way.

A gradient of some rows of a table stays that, as it does in Keras on TensorFlow.  It matters where a row is there several
times: what a formula squares, or clips, is then each of them, and not their sum.
"""

from __future__ import annotations

import functools
import types
from typing import Any, final

import numpy as np
from keras.src import ops
from keras.src.backend import floatx
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers.base_optimizer import BaseOptimizer

from tapegrad.core.tensor import Tensor
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.ops.inplace import is_alone
from tapegrad.registry.space import BUILDING
from tapegrad.sparse import SparseRows
from tapegrad.variable import STAND_INS

#: Where Keras's formulas are: a class that is defined elsewhere is a script's.
_OF_KERAS = "keras.src.optimizers."
_FLOATS = frozenset([np.dtype("float32"), np.dtype("float64")])
#: What a formula calls that is here in another way.
_ASSIGNING = ("assign", "assign_add", "assign_sub")
_INDEX = "_get_variable_index"


def _cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype, copy=False) if isinstance(x, np.ndarray | np.generic) else dtype.type(x)


def _root(x: Any) -> Any:
    return np.sqrt(x if getattr(x, "dtype", None) in _FLOATS else np.asarray(x, floatx()))


#: What Keras's ops are on arrays.
_OPS: dict[str, Any] = {
    "abs": np.abs,
    "add": np.add,
    "cast": _cast,
    "clip": np.clip,
    "divide": np.divide,
    "expand_dims": np.expand_dims,
    "greater": np.greater,
    "maximum": np.maximum,
    "mean": np.mean,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "negative": np.negative,
    "norm": np.linalg.norm,
    "power": np.power,
    "shape": np.shape,
    "sign": np.sign,
    "sqrt": _root,
    "square": np.square,
    "subtract": np.subtract,
    "sum": np.sum,
    "transpose": np.transpose,
    "where": np.where,
}
_NUMPY = types.SimpleNamespace(**_OPS)

#: What keeps rows apart from each other.
_BY_ROW = frozenset(["abs", "cast", "negative", "sign", "square"])
#: And where among two arguments rows stay that, with a number or a whole array in the other's place.
_BY_FACTOR = {"divide": ([True, False],), "multiply": ([True, False], [False, True])}


def _on_rows(name: str, function: Any) -> Any:
    """The op with gradients of rows among its arguments."""

    def run(*args: Any, **words: Any) -> Any:
        of_rows = [type(x) is Rows for x in args]
        if not any(of_rows):
            return function(*args, **words)
        if name in _BY_ROW:
            rows, *others = args
            return Rows(function(rows.g, *others), rows.index, rows.shape)
        if of_rows in _BY_FACTOR.get(name, ()):
            rows, factor = args if of_rows[0] else args[::-1]
            return Rows(function(rows.g, factor if np.ndim(factor) == 0 else factor[rows.index]), rows.index, rows.shape)
        return function(*[x.dense() if type(x) is Rows else x for x in args], **words)

    return run


_WITH_ROWS = types.SimpleNamespace(**{name: _on_rows(name, function) for name, function in _OPS.items()})


# -- a step ----------------------------------------------------------------------------------------------------
def stepped(optimizer: Any, grads: Any, variables: Any, learning_rate: Any) -> bool:
    """Run the step on arrays, and say so; False where it is not a case for that, and nothing was changed."""
    kind: Any = type(optimizer)
    if not _is_formula(kind) or STAND_INS or in_stateless_scope():
        return False
    if BUILDING and not BUILDING[0].is_eager:
        return False
    if not all(_fit(g, v) for g, v in zip(grads, variables, strict=True)):
        return False
    own = optimizer._variables
    rate = learning_rate if type(learning_rate) is float else _memory(learning_rate)
    if rate is None or any(_memory(v) is None for v in own):
        return False
    numbers = []
    for v in (*variables, *own):
        held = v._value
        if not is_alone(held):  # the formula is to write into it
            if type(held.array) is not np.ndarray:
                numbers.append(held)
            held.array = np.array(held.array)
    dense, by_rows = _Step(optimizer, _NUMPY), _Step(optimizer, _WITH_ROWS)
    try:
        with np.errstate(all="ignore"):
            for g, v in zip(grads, variables, strict=True):
                rows = type(g) is SparseRows
                here = by_rows if rows else dense
                here._index = optimizer._get_variable_index(v)
                here.update_step(g.rows if rows else g.array, v._value.array, rate)
    finally:
        for held in numbers:
            held.array = held.array[()]  # NumPy's scalars, as they were
    return True


def _fit(gradient: Any, variable: Any) -> bool:
    """Whether both are arrays of NumPy's of one shape and dtype; of a gradient, also some rows of one."""
    v = _memory(variable)
    if type(gradient) is SparseRows:
        rows = gradient.rows
        return v is not None and type(rows.g) is np.ndarray and rows.shape == v.shape and rows.g.dtype is v.dtype in _FLOATS
    g = _memory(gradient)
    return g is not None and v is not None and g.dtype is v.dtype and g.shape == v.shape and v.dtype in _FLOATS


def _memory(x: Any) -> Any:
    """The array of NumPy's that a variable of Keras's holds, or a tensor is; None if it is another thing."""
    held = x._value if isinstance(x, KerasVariable) else x
    if not isinstance(held, Tensor):
        return None
    array = held.array
    return array if type(array) is np.ndarray or isinstance(array, np.generic) else None


@final
class _Step:
    """An optimiser as its formula sees it: its variables are their arrays, and what is assigned is written into them."""

    def __init__(self, optimizer: Any, ops: Any) -> None:
        self._optimizer = optimizer
        self._ops = ops
        self._index = 0

    def __getattr__(self, name: str) -> Any:
        kind: Any = type(self._optimizer)
        method = _method(kind, name, self._ops is _WITH_ROWS)
        found = _arrays(getattr(self._optimizer, name)) if method is None else types.MethodType(method, self)
        setattr(self, name, found)
        return found

    def _get_variable_index(self, variable: Any) -> int:
        return self._index

    @staticmethod
    def assign(array: Any, value: Any) -> None:
        """Replace all elements."""
        array[...] = value

    @staticmethod
    def assign_add(array: Any, value: Any) -> None:
        """Add to all elements."""
        if type(value) is Rows:
            value.add_to(array)
        else:
            np.add(array, value, out=array)

    @staticmethod
    def assign_sub(array: Any, value: Any) -> None:
        """Subtract from all elements."""
        if type(value) is Rows:
            value.scaled(-1).add_to(array)
        else:
            np.subtract(array, value, out=array)


def _arrays(value: Any) -> Any:
    """Keras's variables as their arrays, tensors as theirs, in lists too; anything else as it is."""
    if isinstance(value, list):
        return [_arrays(v) for v in value]
    array = _memory(value)
    return value if array is None else array


# -- whose formula it is ---------------------------------------------------------------------------------------
@functools.cache
def _is_formula(cls: type) -> bool:
    """Whether this class's step, and each method that it calls, is Keras's own, of ops that are known here."""
    if any(getattr(cls, name) is not getattr(BaseOptimizer, name) for name in _ASSIGNING):
        return False
    waiting, seen = ["update_step"], set()
    while waiting:
        name = waiting.pop()
        function = getattr(cls, name)
        seen.add(name)
        if not function.__module__.startswith(_OF_KERAS) or function.__closure__:
            return False
        for code in _codes(function.__code__):
            for used in code.co_names:
                known = used in _OPS or hasattr(cls, used) or hasattr(np.ndarray, used)
                if not known and (hasattr(ops, used) or hasattr(KerasVariable, used)):
                    return False  # an op that is not here, or what variables have and arrays have not
                if used in seen or used in _ASSIGNING or used == _INDEX:
                    continue
                if isinstance(getattr(cls, used, None), types.FunctionType):
                    waiting.append(used)
    return True


def _codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(d for c in inner for d in _codes(c))]


@functools.cache
def _method(cls: type, name: str, rows: bool) -> Any:
    """A method of Keras's class as a function with NumPy's functions as its `ops`, for gradients of rows or whole ones.

    None if it is no method.
    """
    function = getattr(cls, name, None)
    if not isinstance(function, types.FunctionType):
        return None
    names = {**function.__globals__, "ops": _WITH_ROWS if rows else _NUMPY}
    return types.FunctionType(function.__code__, names, name, function.__defaults__)
