"""`tf.experimental.numpy`: NumPy's functions on tensors, by the functions of tapegrad that NumPy's protocols find."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf import random_functions
from tapegrad.tf.convert import cast, fresh
from tapegrad.tf.dtypes import DType, as_dtype, numpy_dtype
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.tensor import Tensor, made

#: Functions that mean what NumPy's of that name means.
_SAME = """
    abs absolute add all allclose amax amin angle any append arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax
    argmin argsort around array_equal atleast_1d atleast_2d atleast_3d average bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_arrays broadcast_to cbrt ceil clip compress concatenate conj conjugate copy cos cosh count_nonzero cross
    cumprod cumsum deg2rad diag diag_indices diagflat diagonal diff divide divmod dot dsplit dstack einsum equal exp exp2
    expand_dims expm1 eye fabs fix flip fliplr flipud float_power floor floor_divide full full_like gcd geomspace greater
    greater_equal heaviside hsplit hstack hypot identity imag inner isclose iscomplex isfinite isinf isnan isneginf
    isposinf isreal kron lcm less less_equal linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor logspace matmul max maximum mean meshgrid min minimum mod moveaxis multiply nanmean nanprod nansum negative
    nextafter nonzero not_equal ones ones_like outer pad polyval positive power prod ptp rad2deg ravel real reciprocal remainder
    repeat reshape roll rot90 round select sign signbit sin sinc sinh sort split sqrt square squeeze stack std subtract sum
    swapaxes take take_along_axis tan tanh tensordot tile trace transpose tri tril triu true_divide vander var vdot vsplit vstack
    where zeros zeros_like
"""
#: Names of NumPy's that are values or types.
_VALUES = {
    "e": math.e, "pi": math.pi, "inf": math.inf, "newaxis": None, "ndarray": Tensor, "bool_": np.bool_, "object_": np.object_,
    "string_": np.bytes_, "unicode_": np.str_, "inexact": np.inexact, "int_": np.int64, "float_": np.float64,
    "complex_": np.complex128,
    **{name: getattr(np, name) for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64",
        "complex128")},
}  # fmt: skip


def plain(x: Any) -> Any:
    """An argument as NumPy's protocols take it: tensors without this facade's look, dtypes as NumPy's."""
    if isinstance(x, core.Tensor):
        raw, node = x.read()
        if isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind == "O":
            return np.asarray(raw)
        t = object.__new__(core.Tensor)
        t.array, t.node, t.like = raw, node, None
        return t
    if isinstance(x, DType):
        return np.dtype(x.as_numpy_dtype)
    if isinstance(x, list | tuple):
        return type(x)(map(plain, x)) if not hasattr(x, "_fields") else x
    return x


def tensor(y: Any) -> Any:
    """What NumPy gives as tensors: arrays, and what it gives as numbers of Python's."""
    if isinstance(y, core.Tensor):
        return made(*y.read())
    if isinstance(y, np.ndarray | np.generic | bool | int | float | complex):
        return fresh(np.asarray(y))
    if isinstance(y, list | tuple) and not hasattr(y, "_fields"):
        return type(y)(map(tensor, y))
    return y


def _wrapped(name: str) -> Any:
    theirs = getattr(np, name)

    def function(*args: Any, **words: Any) -> Any:
        return tensor(theirs(*map(plain, args), **{k: plain(v) for k, v in words.items()}))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` on tensors: it gives tensors, and its derivatives are tapegrad's."
    return function


for _name in _SAME.split():
    EXPORTS[f"experimental.numpy.{_name}"] = _wrapped(_name)
for _name, _value in _VALUES.items():
    EXPORTS[f"experimental.numpy.{_name}"] = _value


# -- arrays ----------------------------------------------------------------------------------------------
@export("experimental.numpy.array")
def array(val: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor of values: Python's integers as int64, its floats as float64."""
    if isinstance(val, core.Tensor):
        found: Any = plain(val)
    else:
        found = np.stack([plain(array(v)) for v in val]) if _holds_tensor(val) else np.asarray(val)
    out = tensor(found)
    if dtype is not None:
        out = cast(out, numpy_dtype(dtype)) if out.dtype != as_dtype(numpy_dtype(dtype)) else out
    while len(out.shape) < ndmin:
        out = out[None]
    return out


def _holds_tensor(x: Any) -> bool:
    return isinstance(x, core.Tensor) or (isinstance(x, list | tuple) and any(map(_holds_tensor, x)))


@export("experimental.numpy.asarray", "experimental.numpy.asanyarray", "experimental.numpy.ascontiguousarray")
def asarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor as it is, and all else as `array` reads it."""
    return array(a, dtype)


@export("experimental.numpy.empty")
def empty(shape: Any, dtype: Any = float) -> Tensor:
    """Zeros: a tensor has values."""
    return tensor(np.zeros(plain(shape), plain(dtype)))


@export("experimental.numpy.empty_like")
def empty_like(a: Any, dtype: Any = None) -> Tensor:
    """Zeros of that shape: a tensor has values."""
    return tensor(np.zeros_like(plain(a), dtype=plain(dtype)))


@export("experimental.numpy.flatten")
def flatten(a: Any, order: str = "C") -> Tensor:
    """The elements in one row."""
    return tensor(np.ravel(plain(a), order))  # type: ignore[call-overload]


@export("experimental.numpy.ix_")
def ix_(*args: Any) -> Any:
    """Open meshes of indices."""
    return tensor(np.ix_(*(np.asarray(a) for a in args)))


# -- what is known of arrays -------------------------------------------------------------------------------
@export("experimental.numpy.ndim")
def ndim(a: Any) -> int:
    """The number of axes."""
    return int(np.ndim(plain(a)))


@export("experimental.numpy.shape")
def shape(a: Any) -> tuple[int, ...]:
    """The length of each axis."""
    return tuple(np.shape(plain(a)))


@export("experimental.numpy.size")
def size(x: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis."""
    return int(np.prod(shape(x), dtype=np.int64)) if axis is None else shape(x)[axis]


@export("experimental.numpy.isscalar")
def isscalar(num: Any) -> bool:
    """Whether it is a number, or a tensor without axes."""
    return len(num.shape) == 0 if isinstance(num, core.Tensor) else bool(np.isscalar(num))


@export("experimental.numpy.iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return np.dtype(result_type(x)).kind == "c"


@export("experimental.numpy.isrealobj")
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@export("experimental.numpy.finfo")
def finfo(dtype: Any) -> Any:
    """The limits of a floating dtype."""
    return np.finfo(numpy_dtype(dtype))


@export("experimental.numpy.iinfo")
def iinfo(type: Any) -> Any:
    """The limits of an integer dtype."""
    return np.iinfo(numpy_dtype(type))


@export("experimental.numpy.issubdtype")
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind."""
    return bool(np.issubdtype(plain(arg1), plain(arg2)))


@export("experimental.numpy.result_type")
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that these have together."""

    def known(a: Any) -> Any:
        if isinstance(a, core.Tensor):
            return np.dtype(a.read()[0].dtype)
        return np.asarray(a).dtype if isinstance(a, list | tuple) else plain(a)

    return np.result_type(*map(known, arrays_and_dtypes))


@export("experimental.numpy.promote_types")
def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that two have together."""
    return np.promote_types(np.dtype(plain(type1)), np.dtype(plain(type2)))


# -- random numbers -------------------------------------------------------------------------------------------
@export("experimental.numpy.random.seed")
def seed(s: Any) -> None:
    """Begin the sequence of random numbers again, from a seed."""
    random_functions.set_seed(int(s))


@export("experimental.numpy.random.randn")
def randn(*args: int) -> Tensor:
    """Normal numbers of these lengths."""
    return random_functions.normal(list(args), dtype=np.float64)


@export("experimental.numpy.random.standard_normal")
def standard_normal(size: Any = None) -> Tensor:
    """Normal numbers of a shape."""
    return random_functions.normal(_lengths(size), dtype=np.float64)


@export("experimental.numpy.random.uniform")
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Tensor:
    """Numbers between two."""
    low, high = (plain(x) if isinstance(x, core.Tensor) else np.asarray(x) for x in (low, high))
    lengths = list(np.broadcast_shapes(tuple(low.shape), tuple(high.shape))) if size is None else _lengths(size)
    return tensor(low + plain(random_functions.uniform(lengths, dtype=np.float64)) * (high - low))


@export("experimental.numpy.random.rand")
def rand(*size: int) -> Tensor:
    """Numbers from 0 to 1 of these lengths."""
    return random_functions.uniform(list(size), dtype=np.float64)


@export("experimental.numpy.random.random")
def random(size: Any = None) -> Tensor:
    """Numbers from 0 to 1 of a shape."""
    return random_functions.uniform(_lengths(size), dtype=np.float64)


@export("experimental.numpy.random.poisson")
def poisson(lam: Any = 1.0, size: Any = None) -> Tensor:
    """Counts of a rate."""
    return random_functions.poisson(_lengths(size), lam, dtype=np.int64)


@export("experimental.numpy.random.randint")
def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64) -> Tensor:
    """Integers from `low` (0 with one argument) to `high`, which is left out."""
    low, high = (0, low) if high is None else (low, high)
    return random_functions.uniform(_lengths(size), low, high, dtype=dtype)


def _lengths(size: Any) -> list[int]:
    return [] if size is None else [int(size)] if np.ndim(size) == 0 else [int(n) for n in size]


# -- methods of tensors ----------------------------------------------------------------------------------------
def _astype(self: Tensor, dtype: Any) -> Tensor:
    return cast(self, dtype)


def _method(name: str) -> Any:
    function = EXPORTS[f"experimental.numpy.{name}"]

    def method(self: Tensor, *args: Any, **words: Any) -> Any:
        if name in ("reshape", "transpose") and len(args) > 1:
            args = (list(args),)
        return function(self, *args, **words)

    method.__name__, method.__doc__ = name, f"NumPy's `{name}` of the tensor."
    return method


@export("experimental.numpy.experimental_enable_numpy_behavior")
def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Give tensors the methods of NumPy's arrays that TensorFlow gives them: `T`, `reshape`, `astype`, `ravel`, `clip`, `max`, ...

    Operators stay strict about dtypes: `tf.experimental.numpy.add` and its like promote.
    """
    if dtype_conversion_mode not in ("legacy", "off", "all", "safe"):
        raise ValueError(f"dtype_conversion_mode must be 'off', 'legacy', 'safe' or 'all', got {dtype_conversion_mode!r}")
    cls: Any = Tensor
    for name in ("reshape", "transpose", "ravel", "clip", "max", "min", "mean"):
        setattr(cls, name, _method(name))
    cls.astype = _astype
    cls.T = property(EXPORTS["experimental.numpy.transpose"])
    cls.size = property(lambda self: int(np.prod(tuple(self.array.shape), dtype=np.int64)))
    cls.tolist = lambda self: self.numpy().tolist()
    cls.data = property(lambda self: self.numpy().data)
