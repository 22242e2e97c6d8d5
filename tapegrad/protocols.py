"""NumPy's protocols: `np.sin(x)`, `array * x` and `np.concatenate([x, y])` on tensors record, or say why they cannot.

What there is, is in the tables of `tapegrad.numpy_functions`; here is what happens to a call.  A NumPy function that is
in no table is computed by NumPy if nobody records its arguments, and refused if somebody does: nothing loses its
derivative silently.  This module is imported at the first such call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, DetachedError, ShapeError
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
    out = words.pop("out", None)
    where = words.pop("where", True)
    dtype = words.pop("dtype", None)
    run = _METHODS.get(method)
    if run is None:
        raise ArgumentError(f"np.{ufunc.__name__}.{method} is not there for tensors; {_DETACH}")
    if method == "__call__":  # the words that say what NumPy does anyhow
        for word, usual in (("casting", "same_kind"), ("order", "K"), ("subok", True)):
            if words.get(word, usual) == usual:
                words.pop(word, None)
    if dtype is not None:
        inputs = tuple(F.astype(_array(x), dtype) for x in inputs)
    y = run(ufunc, inputs, words)
    if out is None:
        if where is not True:
            raise ArgumentError(
                f"np.{ufunc.__name__}(where=...): without out, what is not computed has no value; use tapegrad.where"
            )
        return y
    return _put_out(ufunc.__name__, y, out, where)


_DETACH = "write x.numpy() to compute with its values alone, which cuts the derivative"


def _array(x: Any) -> Any:
    """A tensor, an array or a Python number as it is; a list as an array."""
    return x if isinstance(x, Tensor | np.ndarray | np.generic) or type(x) in SCALARS else np.asarray(x)


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
    name = REDUCTIONS.get(ufunc.__name__)
    if name is None:
        return _by_numpy(ufunc.reduce, f"np.{ufunc.__name__}.reduce", inputs, words)
    x, *rest = inputs
    axis, *more = rest or [words.pop("axis", 0)]
    _refuse(f"np.{ufunc.__name__}.reduce", more or [v for k, v in words.items() if k != "keepdims" and not _unsaid(v)])
    return target(name)(_array(x), axis=axis, keepdims=words.get("keepdims", False))


def _accumulate(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    name = ACCUMULATIONS.get(ufunc.__name__)
    if name is None:
        return _by_numpy(ufunc.accumulate, f"np.{ufunc.__name__}.accumulate", inputs, words)
    x, *rest = inputs
    axis, *more = rest or [words.pop("axis", 0)]
    _refuse(f"np.{ufunc.__name__}.accumulate", [v for v in (*more, *words.values()) if not _unsaid(v)])
    return target(name)(_array(x), axis=axis)


def _outer(ufunc: Any, inputs: tuple[Any, ...], words: dict[str, Any]) -> Any:
    a, b = (asarray(_array(x)) for x in inputs)
    return _call(ufunc, (F.reshape(a, (*a.shape, *(1,) * b.ndim)), b), words)


_METHODS: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}


def _put_out(name: str, y: Any, out: tuple[Any, ...], where: Any) -> Any:
    """Results where `out=` asks for them: a tensor takes the value and its history, an array only a value without one."""
    ys = y if isinstance(y, tuple) else (y,)
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
            _refuse(f"{name}({word.name}=...)", [] if _unsaid(value) else [value])
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


def _unsaid(value: Any) -> bool:
    """Whether an argument says what is the default anyhow."""
    return value is None or value is True or value is np._NoValue or (isinstance(value, str) and value in _USUAL)


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
