"""NumPy's protocols: `np.sin(x)`, `array * x` and `np.concatenate([x, y])` on tensors record, or say why they cannot.

What there is, is in the tables of `tapegrad.numpy_functions`; here is what happens to a call.  A NumPy function that is
in no table is computed by NumPy if nobody records its arguments, and refused if somebody does: nothing loses its
derivative silently.  This module is imported at the first such call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad import numpy_ufuncs as along
from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, DetachedError, DTypeError, ShapeError
from tapegrad.numpy_compositions import UFUNC_COMPOSITIONS
from tapegrad.numpy_functions import ACCUMULATIONS, CONSTANT, FUNCTIONS, REDUCTIONS, UFUNC_NAMES, Row, target
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded
from tapegrad.ops.inplace import fitting, rebind
from tapegrad.registry.op import OPS
from tapegrad.registry.space import SCALARS, F
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable


# -- universal functions -------------------------------------------------------------------------------
def array_ufunc(self: Tensor, ufunc: Any, method: str, /, *inputs: Any, **words: Any) -> Any:
    """What NumPy calls for a ufunc with a tensor among its inputs or outputs."""
    out, dtype = words.pop("out", None), words.pop("dtype", None)
    where = True if method == "reduce" else words.pop("where", True)
    run = _METHODS[method]
    if method in ("__call__", "outer"):
        if ufunc.signature is None:  # how arrays lie in memory, and of which class they are, is the kernels' matter
            words.pop("order", None), words.pop("subok", None)
            casting = words.pop("casting", "same_kind")
            if dtype is not None:
                _check_casting(ufunc, inputs, dtype, casting)
        else:
            for word, usual in (("casting", "same_kind"), ("order", "K"), ("subok", True)):
                if words.get(word, usual) == usual:
                    words.pop(word, None)
    if dtype is not None:
        count = len(inputs) if method in ("__call__", "outer") else 1
        inputs = (*(F.astype(asarray(_array(x)), np.dtype(dtype)) for x in inputs[:count]), *inputs[count:])
    y = run(ufunc, inputs, words)
    if out is None:
        if where is not True:
            raise ArgumentError(
                f"np.{ufunc.__name__}(where=...): without out, what is not computed has no value; use tapegrad.where"
            )
        return y
    return _put_out(ufunc.__name__, y, out, where)


_DETACH = "write x.numpy() to compute with its values alone, which cuts the derivative"


def _check_casting(ufunc: Any, inputs: tuple[Any, ...], dtype: Any, casting: str) -> None:
    for x in inputs:
        given = _array(x)
        kind = given.dtype if hasattr(given, "dtype") else np.min_scalar_type(given)
        if not np.can_cast(kind, dtype, casting):  # type: ignore[arg-type]  # NumPy says which words there are
            raise DTypeError(
                f"np.{ufunc.__name__}(dtype={dtype!r}, casting={casting!r}): expected inputs that this rule casts, got {kind}; "
                "write tapegrad.astype(x, ...) first"
            )


def _array(x: Any) -> Any:
    """A tensor, an array, a Python number or None as it is; a list as an array."""
    return x if x is None or isinstance(x, Tensor | np.ndarray | np.generic) or type(x) in SCALARS else np.asarray(x)


def _call(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    function = _function_of(ufunc)
    given = [_array(x) for x in inputs]
    if function is not None and not (words and ufunc.signature is None):
        return function(*given, **words)
    return _by_numpy(ufunc, f"np.{ufunc.__name__}", tuple(given), words)


def _function_of(ufunc: Any) -> Callable[..., Any] | None:
    """The function of ours that means the same as a ufunc."""
    name = ufunc.__name__
    if name in UFUNC_COMPOSITIONS:
        return UFUNC_COMPOSITIONS[name]
    op = OPS.get(UFUNC_NAMES.get(name, name))
    if op is None or not (op.pointwise or ufunc.signature is not None) or len(op.arrays) != ufunc.nin:
        return None
    return op.entry


def _reduce(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    (x,) = inputs
    name = REDUCTIONS.get(ufunc.__name__)
    if name is not None:
        more = {k: v for k, v in words.items() if v is not np._NoValue and not (k == "where" and v is True)}
        return _run(f"np.{ufunc.__name__}.reduce", FUNCTIONS[f"np.{name}"], (x,), {"axis": 0, **more})
    axis, keepdims, initial = words.pop("axis", 0), words.pop("keepdims", False), words.pop("initial", None)
    _refuse(f"np.{ufunc.__name__}.reduce", [v for v in words.values() if not _unsaid(v)])
    function = _function_of(ufunc)
    if function is None:
        return _by_numpy(ufunc.reduce, f"np.{ufunc.__name__}.reduce", inputs, {"axis": axis, "keepdims": keepdims})
    if ufunc.__name__ == "logaddexp" and _unsaid(initial):
        return F.logsumexp(_array(x), axis=axis, keepdims=bool(keepdims))
    return along.reduce(ufunc, function, x, axis=axis, keepdims=bool(keepdims), initial=None if _unsaid(initial) else initial)


def _accumulate(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    (x,) = inputs
    axis = words.pop("axis", 0)
    _refuse(f"np.{ufunc.__name__}.accumulate", [v for v in words.values() if not _unsaid(v)])
    name, function = ACCUMULATIONS.get(ufunc.__name__), _function_of(ufunc)
    if name is not None:
        return target(name)(_array(x), axis=axis)
    if function is None:
        return _by_numpy(ufunc.accumulate, f"np.{ufunc.__name__}.accumulate", inputs, {"axis": axis})
    return along.accumulate(ufunc, function, x, axis=axis)


def _reduceat(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    x, indices = inputs
    axis = words.pop("axis", 0)
    _refuse(f"np.{ufunc.__name__}.reduceat", [v for v in words.values() if not _unsaid(v)])
    if _function_of(ufunc) is None:
        return _by_numpy(ufunc.reduceat, f"np.{ufunc.__name__}.reduceat", inputs, {"axis": axis})
    return along.reduceat(ufunc, lambda part: _reduce(ufunc, (part,), {}), x, indices, axis=axis)


def _outer(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    return along.outer(lambda a, b: _call(ufunc, (a, b), words), *inputs)


def _at(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> None:
    x, index, *more = inputs
    if _function_of(ufunc) is None:
        raise DetachedError(f"np.{ufunc.__name__}.at: tapegrad has no function that means the same; {_DETACH}")
    along.at(ufunc, lambda *args: _call(ufunc, args, {}), x, index, *more)


_METHODS: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}


def _put_out(name: str, y: Any, out: tuple[Any, ...], where: Any) -> Any:
    """Results where `out=` asks for them: a tensor takes the value and its history, an array only a value without one."""
    ys = tuple(map(asarray, y)) if isinstance(y, tuple) else (asarray(y),)
    found = tuple(v if place is None else _put_one(name, v, place, where) for v, place in zip(ys, out, strict=True))
    return found if isinstance(y, tuple) else found[0]


def _put_one(name: str, y: Tensor, place: Any, where: Any) -> Any:
    if y.shape != place.shape and where is True:
        raise ShapeError(f"np.{name}(out=...): expected out of shape {y.shape}, got {place.shape}")
    if isinstance(place, Tensor):
        if where is not True:
            y = F.where(where, y, place)
        rebind(place, fitting(place, y, f"np.{name}(out=...)"))
        return place
    if is_recorded(y.node):
        raise DetachedError(
            f"np.{name}(out=...): a NumPy array cannot keep the derivative of a recorded tensor; take the result "
            "instead (`a = a + x` for `a += x`), or make the array a tensor"
        )
    np.copyto(place, np.asarray(y.array), where=where if not isinstance(where, Tensor) else np.asarray(where.array))
    return place


# -- other functions -----------------------------------------------------------------------------------
def array_function(self: Tensor, function: Any, types: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """What NumPy calls for one of its other functions with a tensor among its arguments."""
    if not all(issubclass(t, Tensor | np.ndarray) for t in types):
        return NotImplemented
    name = _name_of(function)
    row = FUNCTIONS.get(name)
    if row is None:
        return _by_numpy(function, name, args, words)
    return _run(name, row, args, words)


def _name_of(function: Any) -> str:
    module = function.__module__.replace("numpy.", "np.") if function.__module__ != "numpy" else "np"
    return f"{module}.{function.__name__}"


def _run(name: str, row: Row, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """The call in our function's terms."""
    given = dict(words)
    if row.many:  # arrays one after the other
        return target(row.target)(*args, **given)
    if len(args) > len(row.words):
        raise ArgumentError(f"{name}: expected at most {len(row.words)} arguments, got {len(args)}")
    for word, value in zip(row.words, args, strict=False):
        if word.name in given:
            raise ArgumentError(f"{name}: got {word.name} twice")
        given[word.name] = value
    positional, named, out = [], {}, None
    for word in row.words:
        if word.name not in given:
            continue
        value = given.pop(word.name)
        if word.name == "out":
            out = value
        elif word.refused:
            _refuse(f"{name}({word.name}=...)", [] if _unsaid(value, word.name) else [value])
        elif word.positional:
            positional.append(value if row.sequence else _array(value))
        elif value is not np._NoValue:
            named[word.ours] = value
    if given:
        raise ArgumentError(f"{name}: no argument {next(iter(given))!r} for tensors")
    y = target(row.target)(*positional, **named)
    return y if out is None else _put_one(name.removeprefix("np."), y, out, True)


#: Orders of memory and a casting that are what happens anyhow.
_USUAL = ("C", "K", "same_kind")


#: What is the same with and without: whether a subclass is kept, memory may be used again, only one triangle is read.
_EITHER = ("subok", "overwrite_input", "hermitian")


def _unsaid(value: Any, name: str = "where") -> bool:
    """Whether an argument says what is the default anyhow: all elements, and else nothing more than usual."""
    if isinstance(value, bool):
        return value is (name == "where") or name in _EITHER
    return value is None or value is np._NoValue or (isinstance(value, str) and value in _USUAL)


def _refuse(what: str, given: list[Any]) -> None:
    if given:
        raise ArgumentError(f"{what}: tapegrad does not have this argument ({given[0]!r}); {_DETACH}")


def _by_numpy(function: Any, name: str, args: Any, words: dict[str, Any]) -> Any:
    """NumPy's own result, as a tensor, where no history can be lost; else an error that says what to do."""
    leaves, rebuild = flatten([list(args), words])
    if name not in CONSTANT and any(isinstance(x, Tensor) and is_recorded(x.read()[1]) for x in leaves):
        _detaches(name)
    plain, named = rebuild([np.asarray(x.read()[0]) if isinstance(x, Tensor) else x for x in leaves])
    return _wrapped(function(*plain, **named))


def _detaches(name: str) -> NoReturn:
    short = name.rpartition(".")[2]
    if short in OPS and OPS[short].public:
        raise DetachedError(f"{name} would lose the derivative of a recorded tensor; use tapegrad.{short}")
    raise DetachedError(
        f"{name} would lose the derivative of a recorded tensor, and tapegrad has no function that means the same; "
        f"write it in functions of tapegrad; or {_DETACH}"
    )


def _wrapped(y: Any) -> Any:
    if isinstance(y, tuple | list):
        made = [_wrapped(v) for v in y]
        return type(y)(*made) if hasattr(y, "_fields") else type(y)(made)
    return asarray(y) if isinstance(y, np.ndarray | np.generic) and y.dtype.kind in "biufcV" else y


__all__ = ["array_function", "array_ufunc"]
