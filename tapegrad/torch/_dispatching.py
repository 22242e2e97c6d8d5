"""Functions that ask their arguments first: `__torch_function__` of classes of tensors that programs write, and of modes.

Nobody is asked, and nothing costs anything, until a program derives a class from `Tensor`, enters a `TorchFunctionMode` or imports
`torch.overrides`.  From then on the functions of the facade, and the methods of `Tensor`, are behind a look at their arguments.
"""

from __future__ import annotations

import functools
import sys
import threading
from types import FunctionType
from typing import Any

from tapegrad.torch._tensor import ORDINARY, STYLE, Tensor, auto_of


class _Here(threading.local):
    """Of this thread: how often asking was switched off, and the modes in force."""

    def __init__(self) -> None:
        self.off = 0
        self.modes: list[Any] = []


HERE = _Here()
#: By class, whether its instances are asked.
_ASKED: dict[type, bool] = {}
_INSTALLED: list[bool] = []
_MODULES = ("", ".nn.functional", ".linalg", ".fft", ".special", ".functional")
#: What PyTorch calls the method behind an operator.
_METHOD_OF = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__pow__": "pow", "__matmul__": "matmul", "__neg__": "neg", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge", "__abs__": "abs", "__mod__": "remainder", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_",
}  # fmt: skip
_OPERATORS = (
    *_METHOD_OF, "__rsub__", "__rtruediv__", "__rpow__", "__rmatmul__", "__floordiv__", "__rfloordiv__", "__rmod__", "__and__", "__or__",
    "__xor__", "__invert__", "__getitem__", "__setitem__", "__itruediv__", "__ipow__", "__pos__", "__lshift__", "__rshift__", "__iter__",
)  # fmt: skip
#: Methods that say something of a tensor, or of its graph, and give no tensor of its class.
_PLAIN_NAMES = """as_subclass backward dim size stride numel nelement element_size item tolist numpy data_ptr storage untyped_storage
is_contiguous is_floating_point is_complex is_inference is_shared register_hook register_post_accumulate_grad_hook
retain_grad get_device storage_offset ndimension"""
_PLAIN = frozenset(_PLAIN_NAMES.split())
_PROPERTIES = ("T", "mT", "H", "mH", "real", "imag")


class NoAsking:
    """A context in which functions do not ask their arguments."""

    def __enter__(self) -> None:
        HERE.off += 1

    def __exit__(self, *_: object) -> None:
        HERE.off -= 1


def never_asked(function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a function gives otherwise: a class that has this as its `__torch_function__` is a tensor like others, as are its results."""
    with NoAsking():
        return function(*args, **(kwargs or {}))


# -- who is asked ------------------------------------------------------------------------------------------------
def is_asked(kind: type) -> bool:
    """Whether instances of a class say themselves what a function of them is."""
    found = _ASKED.get(kind)
    if found is None:
        if issubclass(kind, Tensor):
            found = settled(kind) in STYLE_KINDS and kind.__torch_function__ is not never_asked
        else:  # a tensor of PyTorch's own is an argument like others: asked, it would call what asked it
            theirs = any(base.__module__.partition(".")[0] == "torch" for base in kind.__mro__)
            found = hasattr(kind, "__torch_function__") and not kind.__module__.startswith("tapegrad") and not theirs
        _ASKED[kind] = found
    return found


def asked_among(values: Any) -> list[Any]:
    """The arguments that are asked, one of each class, of a class before those that it is derived from."""
    found: list[Any] = []
    kinds: set[type] = set()
    for v in values:
        kind = type(v)
        if kind is Tensor or kind in kinds:
            continue
        if kind is list or kind is tuple:
            more = [w for w in v if type(w) is not Tensor and is_asked(type(w))]
        else:
            more = [v] if is_asked(kind) else []
        for w in more:
            if type(w) not in kinds:
                kinds.add(type(w))
                place = next((i for i, other in enumerate(found) if issubclass(type(w), type(other))), len(found))
                found.insert(place, w)
    return found


def ask(function: Any, asked: list[Any], args: Any, words: Any) -> Any:
    """What the first mode or argument says that has an answer."""
    kinds = tuple(settled(type(a)) for a in asked)
    if HERE.modes:
        mode = HERE.modes.pop()
        try:
            found = mode.__torch_function__(function, kinds, args, words)
        finally:
            HERE.modes.append(mode)
        if found is not NotImplemented:
            return found
    for a in asked:
        kind: Any = settled(type(a))
        found = kind.__torch_function__(function, kinds, args, words)
        if found is not NotImplemented:
            return found
    names = ", ".join(str(kind) for kind in kinds)
    raise TypeError(
        f"Multiple dispatch failed for '{function.__module__}.{function.__name__}'; all __torch_function__ handlers returned "
        f"NotImplemented: {names}"
    )


def asking(function: Any, shown: Any = None) -> Any:
    """A function that asks its arguments first; `shown` is what they are told was called."""

    @functools.wraps(function)
    def run(*args: Any, **words: Any) -> Any:
        here = HERE
        if here.off:
            return function(*args, **words)
        asked = asked_among((*args, *words.values()) if words else args)
        if asked or here.modes:
            return ask(run if shown is None else shown, asked, args, words)
        return function(*args, **words)

    run.asks = True  # type: ignore[attr-defined]
    return run


# -- classes of tensors that programs write --------------------------------------------------------------------
#: By a class of a program's, what its instances are while their memory was written to, or is shared with an array.
STYLE_KINDS: dict[type, dict[type, type]] = {}
_SETTLED: dict[type, type] = {}


def settled(kind: type) -> type:
    """A class as the program wrote it, of one that says how an instance is to be read now."""
    return _SETTLED.get(kind, kind)


def derive(kind: type) -> None:
    """Take note of a class that a program has derived from `Tensor`."""
    from tapegrad.torch._exposed import EXPOSED_AS, Exposed
    from tapegrad.torch._stale import STALE_AS, Stale

    STYLE_KINDS[kind] = {}
    ORDINARY.add(kind)
    STYLE.alike.add(kind)
    for table, state in ((STALE_AS, Stale), (EXPOSED_AS, Exposed)):
        space = {"__slots__": (), "__module__": "tapegrad.torch._dispatching", "__qualname__": kind.__qualname__}
        made = type(kind)(kind.__name__, (state, kind), space)
        table[kind] = made
        _SETTLED[made] = kind
    install()


def become(x: Any, kind: type) -> Any:
    """The tensor, as one of a class of a program's."""
    flags = auto_of(x).flags
    flags["class"] = kind
    if (flag := getattr(type(kind), "flag_of", None)) is not None:
        flags[flag(kind)] = True
    try:
        x.__class__ = kind
    except TypeError:  # a class with slots of its own is laid out in another way
        made: Any = object.__new__(kind)
        made.array, made.node, made.like, made._auto = x.array, x.node, x.like, x._auto
        for name in ("_store", "_view"):
            if hasattr(x, name):
                setattr(made, name, getattr(x, name))
        if hasattr(x, "_store"):
            x._store.join(made)
        return made
    return x


def as_subclass(self: Any, cls: type) -> Any:
    """The same values and the same history, as a tensor of another class."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): expected a class derived from torch.Tensor, got {cls!r}")
    with NoAsking():
        y = self.view_as(self) if self.node is not None else self.detach()
    if cls not in STYLE_KINDS:
        y.__class__ = Tensor
        return y
    return become(y, cls)


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """The memory of a tensor, without its history, as a tensor of a class."""
    with NoAsking():
        y = data.detach()
    y = become(y, cls) if cls in STYLE_KINDS else y
    return y.requires_grad_() if require_grad else y


def converted(found: Any, cls: type, args: Any) -> Any:
    """A result in a class: what was made for it becomes one, what was given is shown as one."""
    if isinstance(found, Tensor):
        if isinstance(found, cls) or cls is Tensor:
            return found
        return as_subclass(found, cls) if any(found is a for a in args) else become(found, cls)
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*(converted(v, cls, args) for v in found))
    if isinstance(found, (tuple, list)):
        return type(found)(converted(v, cls, args) for v in found)
    if hasattr(found, "__next__"):
        return iter([converted(v, cls, args) for v in found])
    return found


def usual_answer(cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What the function gives otherwise, in this class."""
    if not all(issubclass(cls, settled(kind)) for kind in types):
        return NotImplemented
    with NoAsking():
        found = function(*args, **(kwargs or {}))
    if getattr(function, "__name__", "") in _PLAIN:
        return found
    return converted(found, cls, (*args, *(kwargs or {}).values()))


# -- putting it in force -----------------------------------------------------------------------------------------
def install() -> None:
    """Put the functions and methods behind a look at their arguments, once."""
    if _INSTALLED:
        return
    _INSTALLED.append(True)
    from importlib import import_module

    for part in _MODULES[:-1]:
        module = sys.modules.get(f"tapegrad.torch{part}") or import_module(f"tapegrad.torch{part}")
        for name, f in list(vars(module).items()):
            if not name.startswith("_") and _is_function(f) and name not in _NOT_OF_TENSORS:
                setattr(module, name, asking(f))
    layers = import_module("tapegrad.torch.nn.modules.linear")  # calls its function without looking it up
    layers._linear = sys.modules["tapegrad.torch.nn.functional"].linear  # type: ignore[attr-defined]
    for name in dir(Tensor):
        f = getattr(Tensor, name, None)
        if isinstance(f, FunctionType) and not name.startswith("_") and name not in ("read", "as_subclass"):
            setattr(Tensor, name, asking(f))
    for name in _OPERATORS:
        f = getattr(Tensor, name, None)
        if isinstance(f, FunctionType):
            made = asking(f, getattr(Tensor, _METHOD_OF.get(name, ""), None))
            made.__name__ = name
            setattr(Tensor, name, made)
    for name in _PROPERTIES:
        p = getattr(Tensor, name, None)
        if isinstance(p, property) and p.fget is not None:
            setattr(Tensor, name, property(asking(p.fget), p.fset, p.fdel, p.__doc__))


#: Functions that make tensors of numbers, set something, or ask what an object is.
_MAKING = """is_tensor is_storage tensor as_tensor asarray from_numpy from_dlpack frombuffer manual_seed seed initial_seed get_rng_state
    set_rng_state save load set_printoptions set_default_dtype get_default_dtype is_grad_enabled set_num_threads get_num_threads compile
    result_type promote_types can_cast"""
_NOT_OF_TENSORS = frozenset(_MAKING.split())


def _is_function(f: Any) -> bool:
    return isinstance(f, FunctionType) and not hasattr(f, "asks") and (f.__module__ or "").startswith("tapegrad")
