"""How ops meet arguments in TensorFlow's way: dtypes are strict, Python scalars and NumPy's arrays adapt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.errors import BoundsError, DTypeError, MatrixError, RangeError, ShapeError, TapegradError
from tapegrad.registry import call
from tapegrad.registry.places import has_values
from tapegrad.registry.space import SCALARS, SPACES
from tapegrad.registry.styles import Style
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import InvalidArgumentError, OpError, invalid
from tapegrad.tf.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.core.node import Node
    from tapegrad.registry.op import Op

#: The names of ops in TensorFlow's messages, where they are not simply ours in capitals.
NAMES = {
    **{"add": "AddV2", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv", "floor_divide": "FloorDiv"},
    **{"remainder": "FloorMod", "matmul": "BatchMatMulV2", "where": "SelectV2", "concat": "ConcatV2", "stack": "Pack"},
    **{"negative": "Neg", "equal": "Equal", "not_equal": "NotEqual", "sigmoid": "Sigmoid", "take": "GatherV2"},
    **{"max": "Max", "min": "Min", "logsigmoid": "LogSigmoid", "bitwise_invert": "Invert", "getitem": "StridedSlice"},
    **{"inv": "MatrixInverse", "solve": "MatrixSolve", "permute_dims": "Transpose", "tensordot": "MatMul", "erf": "Erf"},
}
#: Kinds of dtypes that an op takes; an op that is not here takes every one.
_FLOATING = "fcV"
_REAL = "fV"
_NUMBERS = "iufcV"
KINDS = {
    **dict.fromkeys(
        [
            *("exp", "expm1", "log", "log1p", "sqrt", "reciprocal", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid"),
            *("expit", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log2", "log10"),
        ],
        _FLOATING,
    ),
    **dict.fromkeys(
        [
            *("erf", "erfc", "erfinv", "gammaln", "digamma", "atan2", "floor", "ceil", "isnan", "isinf", "isfinite"),
            *("i0", "i0e", "i1", "i1e", "polygamma", "zeta", "ndtri", "elu", "selu", "softsign", "logsigmoid", "logaddexp"),
            *("dawsn", "expi", "bessel_j", "bessel_k", "bessel_y", "scaled_bessel_k", "fresnel_cos", "fresnel_sin", "spence", "softplus"),
        ],
        _REAL,
    ),
    **dict.fromkeys(["add", "subtract", "divide", "square", "pow", "abs", "sign"], _NUMBERS),
    "negative": "ifcV",
    "multiply": "b" + _NUMBERS,
    "matmul": _NUMBERS,
    **dict.fromkeys(["floor_divide", "remainder", "maximum", "minimum", "relu", "relu6"], "iufV"),
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal"], "iufV"),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor", "logical_not"], "b"),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"], "biu"),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], "iu"),
}
_WIDE = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint32), np.dtype(np.uint64))
#: Kinds of Python scalars that a dtype's kind takes in.
_TAKES = {"b": (bool,), "i": (bool, int), "u": (bool, int), "c": (bool, int, float, complex)}
_REALS = (bool, int, float)


def title(op: Op) -> str:
    """The name of an op in TensorFlow's messages."""
    return NAMES.get(op.name) or "".join(part.capitalize() for part in op.name.split("_"))


def meet(op: Op, raws: Sequence[Any], nodes: Sequence[Node | None]) -> tuple[tuple[Any, ...], tuple[Node | None, ...]]:
    """Raw arrays of one dtype, as the op takes it; a Python scalar becomes one of it.  Raises for everything else."""
    start = 1 if op.name == "where" and len(raws) == 3 else 0
    common = next((r.dtype for r in raws[start:] if r is not None and type(r) not in SCALARS), None)
    if common is None:
        common = core_dtype(raws[start])
    found = list(raws)
    for k in range(start, len(raws)):
        r = raws[k]
        if type(r) in SCALARS:
            found[k] = _adapted(op, r, k, common)
        elif r is not None and r.dtype != common:
            raise _differ(op, k, common, r.dtype)
    kinds = KINDS.get(op.name)
    if kinds is not None and common.kind not in kinds:
        if op.name == "divide":
            raise TypeError(f"Invalid dtype {as_dtype(common)!r} in __truediv__. Expected numbers; write tf.cast(x, tf.float32)")
        raise not_allowed(title(op), common)
    if common.kind in "iu":
        if op.name == "divide":
            return _true_division(found), tuple(nodes)
        if op.name in ("floor_divide", "remainder") and has_values(found[1]) and not np.all(np.asarray(found[1])):
            raise invalid(None, f"Integer division by zero [Op:{title(op)}]")
    return tuple(found), tuple(nodes)


def _adapted(op: Op, x: Any, place: int, dtype: np.dtype[Any]) -> Any:
    """A Python scalar beside a tensor; where it does not fit, the error is the one that this op has in TensorFlow."""
    try:
        return scalar_of(x, dtype)
    except TypeError:
        if place and op.name in _LATE:
            raise _differ(op, place, dtype, core_dtype(x)) from None
        raise


def _differ(op: Op, place: int, wanted: Any, got: Any) -> Exception:
    if op.name == "divide":
        return TypeError(f"`x` and `y` must have the same dtype, got {as_dtype(wanted)!r} != {as_dtype(got)!r}.")
    return mismatch(title(op), place, wanted, got)


#: Ops that look at what stands on their right when it is a tensor already.
_LATE = frozenset(("add", "divide", "matmul"))


def _true_division(raws: list[Any]) -> tuple[Any, ...]:
    """Integers as the floats that TensorFlow divides."""
    wide = np.float64 if any(r.dtype in _WIDE for r in raws) else np.float32
    return tuple(r.astype(wide) for r in raws)


def core_dtype(x: Any) -> np.dtype[Any]:
    """The dtype that a Python scalar has by itself."""
    kind = type(x)
    if kind is bool:
        return np.dtype(np.bool_)
    if kind is int:
        if not -(2**63) <= x < 2**63:
            raise ValueError(f"Can't convert Python sequence with out-of-range integer to Tensor: {x}")
        return np.dtype(np.int32 if -(2**31) <= x < 2**31 else np.int64)
    return np.dtype(np.float32 if kind is float else np.complex128)


def scalar_of(x: Any, dtype: np.dtype[Any]) -> Any:
    """A Python scalar as one of a dtype; raises TypeError where it would lose its fraction or imaginary part."""
    if type(x) not in _TAKES.get(dtype.kind, _REALS) or dtype.kind == "O":
        raise TypeError(f"Cannot convert {x!r} to EagerTensor of dtype {short(dtype)}")
    try:
        return np.asarray(x).astype(dtype)[()] if dtype.kind == "V" else dtype.type(x)
    except OverflowError:
        raise TypeError(f"Cannot convert {x!r} to EagerTensor of dtype {short(dtype)}: it does not fit") from None


def short(dtype: Any) -> str:
    """A dtype's name in messages."""
    name = as_dtype(dtype).name
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def mismatch(name: str, place: int, wanted: Any, got: Any) -> InvalidArgumentError:
    """The error for tensors of different dtypes."""
    text = (
        f"cannot compute {name} as input #{place}(zero-based) was expected to be a {short(wanted)} tensor "
        f"but is a {short(got)} tensor [Op:{name}]"
    )
    return InvalidArgumentError(None, None, text)


def not_allowed(name: str, dtype: Any) -> InvalidArgumentError:
    """The error for a dtype that an op does not take."""
    return invalid(f"{name}", f"Value for attr 'T' of {short(dtype)} is not in the list of allowed values")


def unpack(op: Op, name: str, value: Any, others: Sequence[Any]) -> tuple[Any, Node | None]:
    """An argument that is no tf.Tensor: a variable is read, all else becomes a tensor of the dtype of the others."""
    if isinstance(value, core.Tensor):
        return value.read()
    kind = type(value)
    if kind in SPACES and kind not in SCALARS and value is not None and not isinstance(value, np.ndarray | np.generic):
        return call.unpack(op, name, value, others)  # another kernel set's arrays
    from tapegrad.tf.convert import convert_raw

    dtype = None
    if name in op.differentiable or op.kind == "constant":
        alike = [x for a, x in zip(op.arrays, others, strict=True) if a in op.differentiable or op.kind == "constant"]
        for x in alike:
            if x is not value and isinstance(x, core.Tensor):
                dtype = x.array.dtype
                break
        else:
            first = next((x for x in alike if x is not None), None)
            if first is not value:  # no tensor yet: the first is what it is by itself, and the others become as it is
                dtype = convert_raw(first)[0].dtype
    if dtype is not None and type(value) in SCALARS and op.weak and type(value) is not bool:
        return value, None
    try:
        return convert_raw(value, dtype, prefer=True)
    except TypeError:
        if dtype is None or op.name not in _LATE or value is others[0]:
            raise
        raise _differ(op, 1, dtype, convert_raw(value)[0].dtype) from None


def failed(op: Op, error: Exception, raws: Sequence[Any]) -> Exception:
    """An error inside an op, as TensorFlow words it."""
    if isinstance(error, OpError):
        return error
    if not isinstance(error, TapegradError) and raws and all(getattr(r, "dtype", None) is not None for r in raws):
        shapes = [tuple(r.shape) for r in raws]
        if op.pointwise and len(raws) == 2 and isinstance(error, ValueError):
            a, b = (f"[{','.join(map(str, s))}]" for s in shapes)
            return invalid(None, f"Incompatible shapes: {a} vs. {b} [Op:{title(op)}]")
    found = call.failed(op, error, raws)
    if isinstance(found, ShapeError | BoundsError | MatrixError | DTypeError | RangeError):
        said = isinstance(found, MatrixError) and "ingular" in str(found)
        singular = f"Input {'matrix ' * (op.name != 'inv')}is not invertible. " if said else ""
        made = invalid(None, f"{singular}{found} [Op:{title(op)}]")
        for note in getattr(error, "__notes__", ()):
            made.add_note(note)
        return made
    return found


#: The ops, on tf.Tensor.
S = Style(Tensor, meet, unpack=unpack, failed=failed)
