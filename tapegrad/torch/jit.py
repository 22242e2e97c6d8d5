"""What scripts ask of TorchScript: nothing is compiled here, so functions and modules are as they stand.

That is what PyTorch itself does under `PYTORCH_JIT=0`.  A function that `trace` was given keeps its branches and loops, where
PyTorch would keep those that the example took.  Files of compiled programs are neither written nor read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tapegrad.torch._missing import refusing
from tapegrad.torch.nn.modules.module import Module


class ScriptModule(Module):
    """A module whose author compiles its methods; here they stay Python."""


class RecursiveScriptModule(ScriptModule):
    """What PyTorch's `script` makes of a module: nothing here is one."""


class ScriptFunction:
    """What PyTorch's `script` makes of a function: nothing here is one."""


class TracerWarning(Warning):
    """What PyTorch warns of while it traces: never given here."""


class Attribute(NamedTuple):
    """A value of a module and its type."""

    value: Any
    type: Any


class Future:
    """What `fork` gives: the result, which is there at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value

    def value(self) -> Any:
        """The same."""
        return self._value

    def done(self) -> bool:
        """Whether it is there: it is."""
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """The result of a call, which is made at once, as PyTorch does outside of TorchScript."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of a call that was forked."""
    return future.wait()


def script_if_tracing(fn: Any) -> Any:
    """The function as it is."""
    return fn


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """The function, class or module as it is."""
    return obj


def trace(func: Any, example_inputs: Any = None, **_: Any) -> Any:
    """The function or module as it is."""
    return func


def trace_module(mod: Any, inputs: Any, **_: Any) -> Any:
    """The module as it is."""
    return mod


def script_method(fn: Any) -> Any:
    """The method as it is."""
    return fn


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module as it is, which must be in evaluation mode."""
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module.")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module as it is."""
    return mod


def ignore(drop: Any = False, **_: Any) -> Any:
    """The function as it is: a decorator, or one that takes words."""
    return drop if callable(drop) else lambda fn: fn


def export(fn: Any) -> Any:
    """The method as it is."""
    return fn


def unused(fn: Any) -> Any:
    """The method as it is."""
    return fn


def interface(obj: Any) -> Any:
    """The class as it is."""
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type; of `List[int]` and the like, whether it is a list."""
    import builtins

    wanted = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    kinds: Any = tuple(getattr(kind, "__origin__", kind) for kind in wanted)
    return builtins.isinstance(obj, kinds)


def is_scripting() -> bool:
    """Whether this runs as a compiled program: never."""
    return False


def is_tracing() -> bool:
    """Whether an example is being followed: never."""
    return False


def _nothing_to_write(name: str) -> Callable[..., Any]:
    def refused(*_: Any, **__: Any) -> Any:
        raise RuntimeError(
            f"torch.jit.{name}: tapegrad compiles no programs, so it has none to {name}: write the state_dict of the module with "
            "torch.save, and load it into the module that its class makes"
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Refused: there is no compiled program to write or read."
    return refused


save = _nothing_to_write("save")
load = _nothing_to_write("load")

__getattr__ = refusing(globals())

__all__ = [
    "Attribute", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate",
    "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference",
    "save", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
