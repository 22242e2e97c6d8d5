"""Keras's array functions where tapegrad has a shorter way than NumPy's protocol, or NumPy's arguments are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from keras.src.backend import config, standardize_dtype
from keras.src.backend.common import KerasVariable, dtypes

from tapegrad.core.tensor import Tensor
from tapegrad.keras import look
from tapegrad.keras.backend.arrays import array
from tapegrad.keras.backend.composites import is_ragged, reduced
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.keras.backend.values import by_values
from tapegrad.numpy_compositions import COMPOSITIONS
from tapegrad.ops.convert import asarray
from tapegrad.registry.places import has_values
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable

_FLOATS = frozenset(["float32", "float64", "float16", "bfloat16"])
_WEAK = frozenset([int, float])


# -- promotion -------------------------------------------------------------------------------------------------
def _common(x1: Any, x2: Any, *also: Any) -> tuple[Any, Any]:
    """Two arguments in the dtype that Keras has them meet in; Python numbers are weak."""
    a = x1 if type(x1) in _WEAK else convert_to_tensor(x1)
    b = x2 if type(x2) in _WEAK else convert_to_tensor(x2)
    dtype = dtypes.result_type(getattr(a, "dtype", type(a)), getattr(b, "dtype", type(b)), *also)
    return convert_to_tensor(a, dtype), convert_to_tensor(b, dtype)


def _binary(name: str, *also: Any, key: str = "") -> Callable[..., Any]:
    op = getattr(F, key or name)

    def run(x1: Any, x2: Any) -> Any:
        if isinstance(x1, Tensor):
            d = x1.array.dtype
            if isinstance(x2, Tensor):
                if d is x2.array.dtype and (not also or d.kind == "f"):
                    return op(x1, x2)
            elif type(x2) in _WEAK and d.kind == "f":
                return op(x1, x2)
        a, b = _common(x1, x2, *also)
        return op(a, b)

    return _named(run, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


add = _binary("add")
subtract = _binary("subtract")
multiply = _binary("multiply")
maximum = _binary("maximum")
minimum = _binary("minimum")
divide = _binary("divide", float)
true_divide = _binary("true_divide", float, key="divide")
power = _binary("power", key="pow")
floor_divide = _binary("floor_divide")


def _comparison(name: str) -> Callable[..., Any]:
    op = getattr(F, name)

    def run(x1: Any, x2: Any) -> Any:
        a, b = _common(x1, x2)
        return op(a, b)

    return _named(run, name)


equal = _comparison("equal")
not_equal = _comparison("not_equal")
less = _comparison("less")
less_equal = _comparison("less_equal")
greater = _comparison("greater")
greater_equal = _comparison("greater_equal")


def _floating(name: str, key: str = "") -> Callable[..., Any]:
    """A function of real numbers: integers become floats, as Keras has it."""
    op = getattr(F, key or name)

    def run(x: Any) -> Any:
        x = convert_to_tensor(x)
        d = x.array.dtype
        if d.kind in "bui":
            x = F.astype(x, config.floatx() if d == numpy.int64 else dtypes.result_type(d, float))
        return op(x)

    return _named(run, name)


exp, expm1, log, log1p, log2, log10, sqrt, sin, cos, tan, sinh, cosh, tanh = (
    _floating(name)
    for name in (
        *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
    )
)
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = (
    _floating(f"arc{name}", f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
)


def square(x: Any) -> Any:
    """x * x."""
    x = convert_to_tensor(x)
    return F.square(F.astype(x, numpy.int32) if x.array.dtype.kind == "b" else x)


def divide_no_nan(x1: Any, x2: Any) -> Any:
    """x1 / x2, and 0 where x2 is 0, with a derivative of 0 there."""
    a, b = _common(x1, x2, float)
    if isinstance(b.array, numpy.ndarray | numpy.generic) and b.array.all():
        return F.divide(a, b)  # as for the metrics of each step
    zero = F.equal(b, 0)
    return F.where(zero, F.zeros_like(b), a / F.where(zero, F.ones_like(b), b))


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """Elements of x1 where the condition is true, else of x2; with the condition alone, where it is true."""
    condition = convert_to_tensor(condition, "bool")
    if x1 is None and x2 is None:
        return tuple(F.astype(i, numpy.int32) for i in F.nonzero(condition))
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    a, b = _common(x1, x2)
    return F.where(condition, a, b)


# -- reductions ------------------------------------------------------------------------------------------------
def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean over axes; in floats for integers."""
    x = convert_to_tensor(x)
    if type(x) is not Tensor:
        return reduced("mean", x, axis, keepdims)
    if x.array.dtype.kind in "bui":
        x = F.astype(x, dtypes.result_type(x.array.dtype, "float32"))
    return F.mean(x, axis=_axes(axis), keepdims=keepdims)


#: What narrow integers are summed in.
_WIDER = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001  Keras's name
    """The sum over axes."""
    x = convert_to_tensor(x)
    if type(x) is not Tensor:
        return reduced("sum", x, axis, keepdims)
    dtype = x.array.dtype.name
    found = F.sum(x, axis=_axes(axis), keepdims=keepdims)
    return found if dtype in _FLOATS else F.astype(found, _WIDER.get(dtype, dtype))


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product over axes."""
    x = convert_to_tensor(x)
    name = x.array.dtype.name
    return F.astype(F.prod(x, axis=_axes(axis), keepdims=keepdims), dtype or _WIDER.get(name, name))


def _extreme(name: str, pair: str) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        x = convert_to_tensor(x)
        if type(x) is not Tensor:
            return reduced(name, x, axis, keepdims)
        if initial is not None and x.size == 0:
            sizes = numpy.empty(x.shape).max(axis=_axes(axis), keepdims=keepdims, initial=0).shape
            return F.full(sizes, numpy.asarray(initial, x.array.dtype)[()])
        found = getattr(F, name)(x, axis=_axes(axis), keepdims=keepdims)
        return found if initial is None else getattr(F, pair)(found, convert_to_tensor(initial, x.array.dtype))

    return _named(run, name)


max = _extreme("max", "maximum")  # noqa: A001  Keras's name
min = _extreme("min", "minimum")  # noqa: A001  Keras's name


def amax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element over axes."""
    return max(x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element over axes."""
    return min(x, axis, keepdims)


def _deviation(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = convert_to_tensor(x)
        kept = dtypes.result_type(x.dtype, float)
        found = getattr(F, name)(F.astype(x, dtypes.result_type(x.dtype, "float32")), axis=_axes(axis), keepdims=keepdims)
        return F.astype(found, kept)

    return _named(run, name)


std, var = _deviation("std"), _deviation("var")


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal."""
    return sum(F.diagonal(F.moveaxis(convert_to_tensor(x), (axis1, axis2), (-2, -1)), offset=offset), axis=-1)


# -- products --------------------------------------------------------------------------------------------------
def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product; int8 is multiplied in int32."""
    a, b = convert_to_tensor(x1), convert_to_tensor(x2)
    if type(a) is not Tensor:
        return a._map_values(lambda v: matmul(look.plain(v), b)) if is_ragged(a) else a._matmul(b)  # else a sparse one
    d, e = a.array.dtype, b.array.dtype
    if d is e and d.kind == "f":
        return F.matmul(a, b)
    dtype = "int32" if d == e == numpy.int8 else dtypes.result_type(d, e)
    return F.matmul(F.astype(a, dtype), F.astype(b, dtype))


def cross(x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The cross product of vectors in three dimensions, or in the plane, where it is a number."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _alike([x1, x2])
    a, b = F.moveaxis(a, axisa, -1), F.moveaxis(b, axisb, -1)
    plane = a.shape[-1] == b.shape[-1] == 2
    a, b = (F.concat([v, F.zeros_like(v[..., :1])], axis=-1) if v.shape[-1] == 2 else v for v in (a, b))
    (a1, a2, a3), (b1, b2, b3) = (F.unstack(v, axis=-1) for v in (a, b))
    last = a1 * b2 - a2 * b1
    return last if plane else F.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, last], axis=axisc)


def round(x: Any, decimals: int = 0) -> Any:  # noqa: A001  Keras's name
    """Each number to the nearest of so many decimals; a negative number of them rounds integers too."""
    x = convert_to_tensor(x)
    if x.array.dtype.kind in "biu" and decimals < 0:
        return asarray(numpy.round(convert_to_numpy(x), decimals))
    return COMPOSITIONS["around"](x, decimals=decimals)


# -- shapes ----------------------------------------------------------------------------------------------------
def _sizes(shape: Any) -> Any:
    """A shape of integers, each of which may be a tensor."""
    if isinstance(shape, Tensor):
        return tuple(int(n) for n in convert_to_numpy(shape).reshape(-1))
    return tuple(int(n) for n in shape) if hasattr(shape, "__iter__") else (int(shape),)


def reshape(x: Any, newshape: Any) -> Any:
    """The same elements in another shape."""
    return F.reshape(convert_to_tensor(x), _sizes(newshape))


def broadcast_to(x: Any, shape: Any) -> Any:
    """The elements repeated to a larger shape."""
    return F.broadcast_to(convert_to_tensor(x), _sizes(shape))


def transpose(x: Any, axes: Any = None) -> Any:
    """The axes in another order."""
    x = convert_to_tensor(x)
    return F.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def expand_dims(x: Any, axis: Any) -> Any:
    """New axes of length one."""
    x, axis = convert_to_tensor(x), _axes(axis)
    if isinstance(axis, int):
        return F.expand_dims(x, axis=axis)
    return F.reshape(x, numpy.expand_dims(numpy.empty(x.shape, numpy.bool_), tuple(axis)).shape)


def _alike(xs: Any) -> list[Any]:
    """Tensors of a common dtype."""
    arrays = [convert_to_tensor(x) for x in xs]
    kinds = {x.array.dtype for x in arrays}
    if len(kinds) == 1:
        return arrays
    dtype = dtypes.result_type(*kinds)
    return [convert_to_tensor(x, dtype) for x in arrays]


def concatenate(xs: Any, axis: Any = 0) -> Any:
    """Tensors one after the other along an axis."""
    return F.concat(_alike(xs), axis=axis)


def stack(x: Any, axis: Any = 0) -> Any:
    """Tensors beside each other along a new axis."""
    return F.stack(_alike(x), axis=axis)


def _made(name: str, value: int) -> Callable[..., Any]:
    def run(shape: Any, dtype: Any = None) -> Any:
        kind = standardize_dtype(dtype)
        if kind == "bfloat16":
            return F.astype(F.full(_sizes(shape), value, dtype=numpy.dtype("float32")), kind)
        return F.full(_sizes(shape), value, dtype=numpy.dtype(kind))

    return _named(run, name)


zeros, ones, empty = _made("zeros", 0), _made("ones", 1), _made("empty", 0)


def take(x: Any, indices: Any, axis: Any = None) -> Any:
    """Slices by their number; negative numbers count from the end."""
    rows = axis == 0 and look.has_slices() and isinstance(x, KerasVariable)
    if is_ragged(indices):
        return indices._map_values(lambda i: take(x, look.plain(i), axis))
    x, indices = convert_to_tensor(x), convert_to_tensor(indices, sparse=False)
    if rows and x.array.dtype.kind == "f" and _are_rows(indices.array):
        return F.take_rows(x, indices)  # whose gradient is of the rows alone
    if indices.array.dtype.kind not in "iu":
        indices = F.astype(indices, numpy.int32)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    return F.take(x, indices, axis=axis)


def _are_rows(indices: Any) -> bool:
    """Whether these are known to be numbers of rows, none of them counted from the end."""
    return has_values(indices) and indices.dtype.kind in "iu" and bool(indices.size) and numpy.min(numpy.asarray(indices)) >= 0


def view(x: Any, dtype: Any = None) -> Any:
    """The same memory read as another dtype."""
    return asarray(convert_to_numpy(x).view(standardize_dtype(dtype)))


def vectorize(pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None) -> Callable[..., Any]:
    """A function of numbers as one of arrays, called element by element; it computes with values, not their history."""
    function = numpy.vectorize(lambda *args: convert_to_numpy(pyfunc(*args)), excluded=excluded, signature=signature)

    def run(*args: Any, **kwargs: Any) -> Any:
        return array(function(*args, **kwargs))

    return run


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
]


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    by_values(names, ("unique",))
    names.update({name: globals()[name] for name in __all__})
