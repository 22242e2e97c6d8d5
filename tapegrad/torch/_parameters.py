"""`Parameter`, `Buffer`, `Variable`, `FloatTensor` and their like: told apart by a flag, as their class may be that of a state."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._construct import track
from tapegrad.torch._inference import refuse_inference
from tapegrad.torch._tensor import BY_FLAG, ORDINARY, STYLE, Tensor, auto_of, fresh, settle_class, wrap
from tapegrad.torch._views import give_memory, store_of


class _Flagged(type):
    """A class whose instances are tensors with a flag."""

    flag: str

    def flag_of(cls) -> str:
        """The flag, by which instances of what is derived from the class are told too."""
        return cls.flag

    def __instancecheck__(cls, x: Any) -> bool:
        if not isinstance(x, Tensor):
            return False
        if "flag" not in vars(cls):  # a class that a program has derived from one of these
            return type.__instancecheck__(cls, x)
        auto = getattr(x, "_auto", None)
        return auto is not None and bool(auto.flags.get(cls.flag))


def _of(data: Any, flag: str) -> Any:
    if data is None:
        import numpy as np

        data = fresh(np.empty(0, np.float32))
    if not isinstance(data, Tensor):
        raise TypeError(f"a {flag.capitalize()} is made of a Tensor, not of {type(data).__name__}")
    give_memory(data)
    x = wrap(data.array)
    theirs = store_of(data)
    theirs.shared = True
    x._store = theirs
    auto_of(x).flags[flag] = True
    return settle_class(x)


class Parameter(Tensor, metaclass=_Flagged):
    """A tensor that modules take for one of their parameters; it requires a gradient unless said otherwise."""

    __slots__ = ()
    flag = "parameter"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        x = _of(data, "parameter")
        if requires_grad and isinstance(data, Tensor):
            refuse_inference(data)
        return track(x) if requires_grad else x


class Buffer(Tensor, metaclass=_Flagged):
    """A tensor that modules take for part of their state, and that is no parameter."""

    __slots__ = ()
    flag = "buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        x = _of(data, "buffer")
        auto_of(x).flags["persistent"] = persistent
        return x


BY_FLAG["parameter"] = Parameter
ORDINARY.add(Parameter)
STYLE.alike.add(Parameter)


class _AnyTensor(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class _Engine:
    """What runs sweeps, as far as scripts ask it for anything."""

    @staticmethod
    def queue_callback(callback: Any) -> None:
        """Call this when the sweep that is under way on this thread is over."""
        from tapegrad.torch import _watching

        if _watching.sweep_number() < 0:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        _watching.at_end(callback)


class Variable(metaclass=_AnyTensor):
    """What tensors that require gradients were once called: gives the tensor itself, or one that shares its memory."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if data is None:
            data = wrap(__import__("numpy").empty(0, "float32"))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        x = data.detach()
        return track(x) if requires_grad else x
