"""The operators and the index of tensors and variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.compiled.tracing import open_integer
from tapegrad.core import tensor as core
from tapegrad.registry.places import has_values
from tapegrad.tf.convert import convert, convert_raw, fresh
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.style import S, mismatch, title
from tapegrad.tf.tensor import Tensor, give, made


def plus(x: Any, y: Any) -> Tensor:
    """The sum; strings are joined."""
    try:
        return S.add(x, y)
    except InvalidArgumentError:
        a, b = (convert(v) for v in (x, y))
        if a.array.dtype.kind == b.array.dtype.kind == "O":
            joined = np.add(np.atleast_1d(a.array), b.array)
            return made(joined.reshape(np.broadcast_shapes(a.array.shape, b.array.shape)))
        raise


_BINARY = {
    "add": plus,
    "sub": S.subtract,
    "mul": S.multiply,
    "truediv": S.divide,
    "div": S.divide,
    "floordiv": S.floor_divide,
    "mod": S.remainder,
    "and": S.bitwise_and,
    "or": S.bitwise_or,
    "xor": S.bitwise_xor,
}
_COMPARISONS = {"lt": S.less, "le": S.less_equal, "gt": S.greater, "ge": S.greater_equal}
_INDICES = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid "
    "indices, got {!r}"
)


def _reflected(op: Any) -> Any:
    def reflected(self: Any, other: Any) -> Any:
        return op(other, self)

    return reflected


def _new(self: Any, other: Any) -> Any:
    """`x += y` is `x = x + y`: nothing is written into."""
    return NotImplemented


def _equality(op: Any, otherwise: bool) -> Any:
    def compare(self: Any, other: Any) -> Any:
        if other is None:
            return otherwise
        try:
            return op(self, other)
        except InvalidArgumentError:
            a, b = pair(self, other)
            if a.array.dtype == b.array.dtype:  # it is the shapes: TensorFlow says of these that they are not equal
                return fresh(np.bool_(otherwise))
            raise

    return compare


def matmul(x: Any, y: Any) -> Tensor:
    """The matrix product of the last two axes."""
    if type(x) is Tensor and type(y) is Tensor and x.array.ndim > 1 and y.array.ndim > 1:
        try:
            return S.matmul(x, y)
        except InvalidArgumentError:  # what is wrong is said below
            pass
    x, y = pair(x, y)
    a, b = x.array, y.array
    if len(a.shape) < 2 or len(b.shape) < 2:
        low = 0 if len(a.shape) < 2 else 1
        text = f"In[{low}] ndims must be >= 2: tf.matmul takes matrices, got {shape_text(a)} and {shape_text(b)}"
        raise invalid("MatMul", f"{text}; write tf.linalg.matvec or tf.tensordot for vectors")
    if a.dtype != b.dtype:
        raise mismatch("MatMul", 1, a.dtype, b.dtype)
    if a.shape[-1] != b.shape[-2]:
        raise invalid("MatMul", f"Matrix size-incompatible: In[0]: {shape_text(a)}, In[1]: {shape_text(b)}")
    if a.dtype.kind == "b":
        raise invalid("MatMul", "Value for attr 'T' of bool is not in the list of allowed values")
    return S.matmul(x, y)


def power(x: Any, y: Any) -> Tensor:
    """x to the power y.  For the exponent the derivative is 0 where the base is negative: its logarithm is not taken."""
    if type(y) in (int, float) and isinstance(x, core.Tensor) and x.array.dtype.kind == "f":
        return S.pow(x, y)
    a, b = pair(x, y)
    if a.array.dtype.kind in "iu" and has_values(b.array) and np.any(np.asarray(b.array) < 0):
        raise invalid("Pow", "Integers to negative integer powers are not allowed")
    if b.node is None or a.array.dtype != b.array.dtype or (has_values(a.array) and not np.any(np.asarray(a.array) < 0)):
        return S.pow(a, b)
    negative = S.less(a, 0)
    return S.where(negative, S.pow(a, made(b.array)), S.pow(S.where(negative, a.array.dtype.type(1), a), b))


def shape_text(raw: Any) -> str:
    """A shape in messages."""
    return f"[{','.join(map(str, raw.shape))}]"


def pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two tensors; what is none takes the dtype of the other."""
    if type(x) is Tensor:
        return x, y if type(y) is Tensor else convert(y, _hint(x, y), prefer=True)
    if isinstance(y, core.Tensor):
        return convert(x, _hint(y, x), prefer=True), convert(y)
    x = convert(x)
    return x, convert(y, _hint(x, y), prefer=True)


def _hint(x: core.Tensor, y: Any) -> Any:
    """The dtype for `y` beside a tensor: a tensor keeps its own."""
    return None if isinstance(y, core.Tensor) or hasattr(type(y), "__tapegrad_tensor__") else x.array.dtype


# -- indexing -----------------------------------------------------------------------------------------
def getitem(self: Any, key: Any) -> Any:
    """`self[key]`: integers, slices, `...`, `tf.newaxis`; a tensor of booleans picks what is true."""
    kind = type(key)
    if kind is slice and type(self) is Tensor and type(key.start) in _PLAIN and type(key.stop) in _PLAIN and type(key.step) in _PLAIN:
        raw = self.array
        if raw.ndim and not raw.dtype.hasobject:
            return S.getitem(self, key)
    if kind is not int and kind is not slice and kind is not tuple and key is not None and key is not Ellipsis:
        mask = _mask(key)
        if mask is not None:
            return S.getitem(self if type(self) is Tensor else convert(self), mask)
    index = plain(key)
    x = self if type(self) is Tensor else convert(self)
    raw = x.array
    _check(raw.shape, index)
    if raw.dtype.hasobject and raw.shape:  # NumPy would give one string as Python's
        return made(np.asarray(raw[index], object))
    return S.getitem(x, index)


def _mask(key: Any) -> Any:
    if isinstance(key, core.Tensor | np.ndarray):
        raw = convert_raw(key)[0]
        if raw.dtype.kind == "b":
            return np.asarray(raw)
    return None


def plain(key: Any) -> Any:
    """An index of plain integers and slices."""
    if type(key) is tuple or type(key) is list:
        return tuple([_one(k) for k in key])
    return _one(key)


def _one(k: Any) -> Any:
    kind = type(k)
    if kind is int or k is None or k is Ellipsis:
        return k
    if kind is slice:
        if type(k.start) in _PLAIN and type(k.stop) in _PLAIN and type(k.step) in _PLAIN:
            return k
        return slice(_end(k.start), _end(k.stop), _end(k.step))
    if kind is bool or isinstance(k, np.bool_):
        raise TypeError(_INDICES.format(k))
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, core.Tensor | np.ndarray):
        raw = convert_raw(k)[0]
        if raw.shape == () and raw.dtype.kind in "iu":
            return int(raw) if has_values(raw) else open_integer(raw)
    raise TypeError(_INDICES.format(k))


_PLAIN = (int, type(None))


def _end(k: Any) -> Any:
    return k if k is None or type(k) is int else _one(k)


def _check(shape: tuple[int, ...], index: Any) -> None:
    """Raise what TensorFlow raises for an integer out of range, or too many indices."""
    parts = index if type(index) is tuple else (index,)
    given = sum(1 for k in parts if k is not None and k is not Ellipsis)
    if len(parts) - given > 1 and sum(1 for k in parts if k is Ellipsis) > 1:
        raise invalid("StridedSlice", "Multiple ellipses in slice spec not allowed")
    if given > len(shape):
        if not shape:
            raise invalid("StridedSlice", "Attempting to slice scalar input.")
        raise invalid("StridedSlice", f"Index out of range using input dim {len(shape)}; input has only {len(shape)} dims")
    axis = 0
    for k in parts:
        if k is Ellipsis:
            axis += len(shape) - given
        elif k is not None:
            if type(k) is int and type(shape[axis]) is int and not -shape[axis] <= k < shape[axis]:
                raise invalid("StridedSlice", f"slice index {k} of dimension {axis} out of bounds.")
            axis += 1


def _invert(self: Any) -> Any:
    return S.bitwise_invert(self)


def install(cls: type) -> None:
    """Give a class the operators of TensorFlow's tensors."""
    members: dict[str, Any] = {}
    for name, op in _BINARY.items():
        members[f"__{name}__"] = op
        members[f"__r{name}__"] = _reflected(op)
        members[f"__i{name}__"] = _new
    for name, op in _COMPARISONS.items():
        members[f"__{name}__"] = op
    members["__pow__"] = power
    members["__rpow__"] = _reflected(power)
    members["__ipow__"] = _new
    members["__matmul__"] = matmul
    members["__rmatmul__"] = _reflected(matmul)
    members["__imatmul__"] = _new
    members["__eq__"] = _equality(S.equal, False)
    members["__ne__"] = _equality(S.not_equal, True)
    members["__hash__"] = cls.__hash__
    members["__neg__"] = S.negative
    members["__abs__"] = S.abs
    members["__invert__"] = _invert
    members["__getitem__"] = getitem
    for name in ("lshift", "rshift"):
        members[f"__{name}__"] = members[f"__r{name}__"] = members[f"__i{name}__"] = None
    give(cls, members)


install(Tensor)

__all__ = ["getitem", "install", "made", "matmul", "pair", "plain", "plus", "shape_text", "title"]


def mismatch_in(name: str, xs: list[Tensor]) -> None:
    """Raise where tensors differ in dtype."""
    for k, x in enumerate(xs[1:], 1):
        if x.array.dtype != xs[0].array.dtype:
            raise mismatch(name, k, xs[0].array.dtype, x.array.dtype)
