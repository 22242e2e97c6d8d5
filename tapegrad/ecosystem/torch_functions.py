"""PyTorch's functions on tensors: `torch.sin(x)` is `tapegrad.torch.sin(x)`, and records.

PyTorch calls `__torch_function__` of an argument that has one, with the function that was called.  It is looked up among
the names that the facade has in common with it; results are plain tensors, or the facade's if an argument was one of its.
PyTorch's own tensors among the arguments are constants, whose memory is shared; one that requires grad is refused, for its
gradient would be lost.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from typing import Any, NoReturn

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.ecosystem.looks import dressed, each, leaves, look_of, nearest
from tapegrad.ecosystem.torch_arrays import raw_of
from tapegrad.errors import ArgumentError, DetachedError
from tapegrad.ops.exchange import is_recorded

#: Modules of PyTorch whose functions are looked up, each in the facade's module of that name.
PLACES = ("", "nn.functional", "linalg", "fft", "special", "autograd", "Tensor")
#: Functions that take a tensor for a number, and where its place is.
_NUMBERS = {
    **dict.fromkeys(["torch.scalar_tensor", "torch.arange", "torch.range", "torch.linspace", "torch.logspace"], 0),
    **dict.fromkeys(["torch.full", "torch.full_like"], 1),
}
#: Arguments that say nothing of the result.
_SILENT = frozenset(["_stacklevel", "memory_format"])


def torch_function(function: Any, types: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """What PyTorch calls for one of its functions with a tensor among its arguments."""
    torch = sys.modules["torch"]
    if not all(issubclass(t, (Tensor, torch.Tensor)) for t in types):
        return NotImplemented
    found = table().get(function)
    if found is None:
        _refuse_unknown(function)
    name, ours = found
    if name in _NUMBERS:
        for x in leaves([args[_NUMBERS[name] :], words]):
            if isinstance(x, Tensor) and is_recorded(x.read()[1]):
                raise DetachedError(
                    f"{name} takes a recorded tensor for a number, which cannot keep its derivative; write x.item()"
                )
    target = _written_to(name, args, words)
    if target is not None and isinstance(target, torch.Tensor):
        return _by_torch(torch, name, function, args, words)
    if target is not None and look_of([target]) != "torch":
        raise ArgumentError(
            f"{name} would change a tensor of tapegrad in place, which only those of tapegrad.torch allow; take the result "
            "of the function that makes a new one"
        )
    look = look_of([args, words])
    given = each(functools.partial(_ours, torch, name), args)
    named = {k: each(functools.partial(_ours, torch, name), v) for k, v in _known(name, ours, function, words).items()}
    y = dressed(ours(*given, **named), look)
    return y if look == "torch" else each(functools.partial(_theirs, torch), y)


# -- which function of ours ----------------------------------------------------------------------------
@functools.cache
def table() -> dict[Any, tuple[str, Any]]:
    """PyTorch's functions, each with its name and with ours."""
    torch, facade = sys.modules["torch"], importlib.import_module("tapegrad.torch")
    found: dict[Any, tuple[str, Any]] = {}
    for place in PLACES:
        theirs, ours = torch, facade
        for part in filter(None, place.split(".")):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        for name in dir(ours):
            if name.startswith("_") and not (place == "Tensor" and name.startswith("__")):
                continue
            function, mine = getattr(theirs, name, None), getattr(ours, name, None)  # a hint alone is no method
            if (
                callable(function)
                and callable(mine)
                and not isinstance(function, type)
                and function.__hash__ is not None
            ):
                found.setdefault(function, (".".join(filter(None, ("torch", place, name))), mine))
    return found


def _refuse_unknown(function: Any) -> NoReturn:
    torch = sys.modules["torch"]
    name = torch.overrides.resolve_name(function) or f"torch.{getattr(function, '__name__', function)}"
    name = name.replace("torch.functional.", "torch.")
    near = nearest(name, {n for n, _ in table().values()})
    hint = f"; the nearest that it has is {near}" if near else ""
    raise ArgumentError(
        f"{name}: tapegrad.torch has no function that means the same, so tensors of tapegrad cannot be given to it{hint}. "
        "Write torch.from_numpy(x.numpy().copy()) to compute with the values alone, which cuts the derivative"
    )


@functools.cache
def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        return None


def _known(name: str, ours: Any, function: Any, words: dict[str, Any]) -> dict[str, Any]:
    """The named arguments that our function has; others must say what is the default anyhow."""
    parameters = _parameters(ours)
    if parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return words
    found = {}
    for k, v in words.items():
        if k in parameters:
            found[k] = v
        elif k not in _SILENT and not _is_default(function, k, v):
            raise ArgumentError(f"{name}({k}={v!r}): tapegrad.torch does not have this argument")
    return found


def _is_default(function: Any, word: str, value: Any) -> bool:
    theirs = (_parameters(function) or {}).get(word)
    return value is None or (theirs is not None and theirs.default is value)


# -- arguments and results -----------------------------------------------------------------------------
def _ours(torch: Any, name: str, x: Any) -> Any:
    """An argument as the facade knows it."""
    if isinstance(x, torch.Tensor):
        return _constant(name, x)
    if isinstance(x, Tensor):
        return dressed(x, "torch")
    if isinstance(x, torch.dtype | torch.device):
        facade = importlib.import_module("tapegrad.torch")
        return getattr(facade, str(x).removeprefix("torch.")) if isinstance(x, torch.dtype) else facade.device(str(x))
    return x


def _constant(name: str, x: Any) -> Any:
    """A tensor of PyTorch's as one of the facade's on the same memory."""
    from tapegrad.torch._tensor import wrap

    return wrap(raw_of(x, f"{name}: "))


def _theirs(torch: Any, y: Any) -> Any:
    """A result that is no tensor, as PyTorch knows it: its dtypes."""
    facade = importlib.import_module("tapegrad.torch")
    return getattr(torch, str(y).removeprefix("torch.")) if isinstance(y, facade.dtype) else y


# -- writing -------------------------------------------------------------------------------------------
def _written_to(name: str, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """The tensor that a call changes, if it changes one."""
    last = name.rpartition(".")[2]
    out = words.get("out")
    if out is not None:
        return next(leaves(out))
    in_place = last.endswith("_") and not last.endswith("__")
    augmented = last == "__setitem__" or (last.startswith("__i") and last not in ("__index__", "__int__", "__invert__"))
    return args[0] if args and (in_place or augmented or words.get("inplace")) else None


def _by_torch(torch: Any, name: str, function: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """PyTorch's own call, which writes into a tensor of its own: with copies of values, where nobody records them."""

    def theirs(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        raw, node = x.read()
        if is_recorded(node):
            raise DetachedError(
                f"{name} would write a recorded tensor into one of PyTorch's, which cannot keep its derivative; "
                "take the result of the function that makes a new tensor"
            )
        return torch.from_numpy(np.array(raw))

    return function(*each(theirs, args), **each(theirs, words))


__all__ = ["table", "torch_function"]
