"""Type promotion as PyTorch has it: what `meet` does where an op gets anything but one common float dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.registry.space import SCALARS, F
from tapegrad.torch._dtypes import DEFAULT, SCALAR_TYPES, default_of, dtype, dtype_of, numpy_of
from tapegrad.torch._node_names import HIDDEN, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
#: Elementwise ops that give integers for integers; all others compute in the default dtype then.
_KEEPS_INTEGERS = frozenset(
    [
        *("add", "subtract", "multiply", "negative", "positive", "abs", "square", "maximum", "minimum", "remainder", "fmod", "pow"),
        *("floor_divide", "clip", "real", "imag", "conj", "sign", "where", "trunc_divide", "heaviside", "lerp"),
    ]
)


def result(dims: Sequence[Any], zeros: Sequence[Any], weak: Sequence[type]) -> np.dtype[Any]:
    """The common dtype: arrays with axes decide within a category, then 0-d arrays, then Python numbers."""
    best: Any = None
    for group in (dims, zeros, [default_of(k) for k in weak]):
        own: Any = None
        for d in group:
            own = d if own is None else join(own, d)
        best = _over(best, own)
    return best


def _over(higher: Any, lower: Any) -> Any:
    if higher is None or lower is None:
        return lower if higher is None else higher
    a, b = _CATEGORY[higher.kind], _CATEGORY[lower.kind]
    if b <= a:
        return higher
    if a == 2 and b == 3:
        return dtype_of(higher).to_complex().numpy
    return lower if a < 2 else higher


def join(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The common dtype of two arrays of equal standing: an integer and a float give that float."""
    if a == b:
        return a
    ca, cb = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if ca != cb and max(ca, cb) == 2:
        return a if ca > cb else b
    if ca < 2 and cb == 3:
        return b
    if cb < 2 and ca == 3:
        return a
    if ca == 2 and cb == 2 and "V" in a.kind + b.kind:
        other = b if a.kind == "V" else a
        return other if other.itemsize > 2 else np.dtype(np.float32)
    if ca == cb == 1 and {a.kind, b.kind} == {"u", "i"}:
        unsigned, signed = (a, b) if a.kind == "u" else (b, a)
        if unsigned.itemsize > 1:
            raise RuntimeError(
                f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{SCALAR_TYPES[dtype_of(a)]} and {SCALAR_TYPES[dtype_of(b)]}"
            )
        return signed if signed.itemsize > 1 else np.dtype(np.int16)
    if max(ca, cb) == 3 and "V" in a.kind + b.kind:
        return a if ca == 3 else b
    return np.result_type(a, b)


def promote_types(type1: Any, type2: Any) -> dtype:
    """The smallest dtype that both can be cast to, as PyTorch's table has it."""
    return dtype_of(join(numpy_of(type1), numpy_of(type2)))


def _standing(raws: Sequence[Any]) -> np.dtype[Any]:
    dims, zeros, weak = [], [], []
    for r in raws:
        if type(r) in SCALARS:
            weak.append(type(r))
        elif r.shape:
            dims.append(r.dtype)
        else:
            zeros.append(r.dtype)
    return result(dims, zeros, weak)


def result_type(x: Any, y: Any) -> dtype:
    """The dtype that an arithmetic op of these two tensors or numbers would give."""
    return dtype_of(_standing([v.array if isinstance(v, Core) else v for v in (x, y)]))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a cast stays in its category or goes to a higher one."""
    a, b = numpy_of(from_).kind, numpy_of(to).kind
    return _CATEGORY[a] <= _CATEGORY[b]


# -- what the ops call -------------------------------------------------------------------------------
def meet(op: Any, raws: Sequence[Any], nodes: Sequence[Any]) -> Any:
    """Raw values and nodes as PyTorch would compute with them, by recorded casts."""
    if not op.pointwise:
        return _meet_arrays(op, raws, nodes)
    if len(raws) == 2 and (op.kind != "elementwise" or op.name in _KEEPS_INTEGERS):
        a, b = raws
        if type(a) is np.ndarray and op.name not in ("subtract", "where"):
            limits = _LIMITS.get(a.dtype)
            if limits is not None:
                if type(b) is np.ndarray and b.dtype is a.dtype:
                    return tuple(raws), tuple(nodes)
                if type(b) is int and limits[0] <= b <= limits[1] and a.shape:
                    return (a, a.dtype.type(b)), (nodes[0], None)
    if op.name == "where":
        if len(raws) == 2:  # what is chosen from, which is to be arrays
            common = _standing(raws)
            pairs = [_to(r, n, common) for r, n in zip(raws, nodes, strict=True)]
            return tuple(common.type(r) if type(r) in SCALARS else r for r, _ in pairs), tuple(n for _, n in pairs)
        c, a, b = raws
        if type(c) is type(a) is np.ndarray and c.dtype is _BOOL and a.dtype is getattr(b, "dtype", None):
            return tuple(raws), tuple(nodes)
        common = _standing(raws[1:])
        done = [_to(r, n, common) for r, n in zip(raws[1:], nodes[1:], strict=True)]
        condition = raws[0] if raws[0].dtype.kind == "b" else raws[0].astype(np.bool_)
        return (condition, done[0][0], done[1][0]), (nodes[0], done[0][1], done[1][1])
    common = _standing(raws)
    kind = common.kind
    if op.name == "subtract" and any((type(r) is bool or getattr(r, "dtype", None) == np.bool_) for r in raws):
        _refuse_bool("subtract" if kind == "b" else "")
    if kind in "biu":
        if op.kind == "elementwise" and op.name not in _KEEPS_INTEGERS:
            common = DEFAULT[0].numpy
        elif kind == "b" and op.name == "negative":
            _refuse_bool(op.name)
        elif kind == "b" and op.name == "square":
            common = np.dtype(np.int64)
    elif kind == "c" and op.name in _REAL:
        kind_of_error, text = _REAL[op.name]
        raise kind_of_error(text.format(SCALAR_TYPES[dtype_of(common)]))
    pairs = [_to(r, n, common) for r, n in zip(raws, nodes, strict=True)]
    return tuple(r for r, _ in pairs), tuple(n for _, n in pairs)


_BOOL = np.dtype(np.bool_)
#: What integers of a dtype can be; truth values meet no number as they are.
_LIMITS: dict[Any, tuple[int, int]] = {
    np.dtype(np.bool_): (1, 0),
    **{d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in map(np.dtype, ("i1", "i2", "i4", "i8", "u1"))},
}

#: What there is for real numbers alone, and what PyTorch raises for others.
_REAL: dict[str, tuple[type[Exception], str]] = {
    **{
        name: (NotImplementedError, f"\"{kernel}\" not implemented for '{{}}'")
        for name, kernel in {
            "floor_divide": "div_floor_cpu", "remainder": "remainder_cpu", "fmod": "fmod_cpu", "atan2": "atan2_cpu", "greater": "gt_cpu",
            "less": "lt_cpu", "greater_equal": "ge_cpu", "less_equal": "le_cpu", "erf": "erf_vml_cpu", "erfc": "erfc_vml_cpu",
            "gammaln": "lgamma", "digamma": "digamma", "hypot": "hypot_cpu", "erfinv": "erfinv_vml_cpu",
        }.items()
    },
    **{name: (RuntimeError, f"{name} not implemented for complex tensors.") for name in ("maximum", "minimum")},
    **{name: (NotImplementedError, f"{name} is not supported for complex inputs") for name in ("floor", "ceil", "trunc", "round")},
    **dict.fromkeys(("relu", "at_least", "at_most"), (NotImplementedError, "clamp is not supported for complex types")),
}  # fmt: skip


def _refuse_bool(name: str) -> None:
    if not name:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead."
        )
    if name == "negative":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead."
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
    )


def _to(raw: Any, node: Any, common: np.dtype[Any]) -> tuple[Any, Any]:
    if type(raw) in SCALARS:
        kind = type(raw)
        if kind is float and common.kind in "fV" and common.kind != "V":
            return raw, None
        if common.kind in "iu":  # an integer that does not fit wraps around
            return np.array(int(raw)).astype(common)[()], None
        return common.type(raw), None
    if raw.dtype == common:
        return raw, node
    if node is None and isinstance(raw, np.ndarray | np.generic):
        return raw.astype(common), None
    found: tuple[Any, Any] = F.astype(linked(raw, node), common).read()
    if found[1] is not None:
        tag(found[1], HIDDEN)
    return found


def _meet_arrays(op: Any, raws: Sequence[Any], nodes: Sequence[Any]) -> Any:
    kinds = {r.dtype for r in raws if type(r) not in SCALARS}
    if len(kinds) == 1 and not any(type(r) in SCALARS for r in raws):
        return tuple(raws), tuple(nodes)
    if op.name in _ONE_DTYPE:
        raise RuntimeError(_refused(op, raws))
    common = _standing(raws)
    pairs = [_to(r, n, common) for r, n in zip(raws, nodes, strict=True)]
    return tuple(r for r, _ in pairs), tuple(n for _, n in pairs)


def _refused(op: Any, raws: Sequence[Any]) -> str:
    """PyTorch's words for factors of two dtypes, which are those of the function that it takes for each."""
    a, b, *bias = (SCALAR_TYPES[dtype_of(r.dtype)] for r in raws)
    if op.name == "dense":
        first, a = ("mat1", a) if a != b else ("self", bias[0])
        return f"{first} and mat2 must have the same dtype, but got {a} and {b}"
    if op.name == "matmul" and min(r.ndim for r in raws) > 2:
        return f"expected scalar type {a} but found {b}"
    return f"expected m1 and m2 to have the same dtype, but got: {a.lower()} != {b.lower()}"


#: Ops that PyTorch refuses to promote for.
_ONE_DTYPE = frozenset(["matmul", "matmul_adjoint", "dense", "vecdot"])
