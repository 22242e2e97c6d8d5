"""Objects that are saved whole: names of their classes in files, and which a file may name where it is trusted so far.

A file that is read with `weights_only=False` may name modules' classes, optimizers and schedules that the program has already
imported, and functions of `torch` and `nn.functional` (an activation that a module keeps), which it can't call.  Nothing is
imported.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from tapegrad.torch import _arrays

_HERE = "tapegrad.torch"
#: Where a class or function of the facade is looked for, whatever module it was defined in.
_HOMES = ("nn", "nn.functional", "optim", "optim.lr_scheduler", "")


def _home(path: str) -> Any:
    found = _arrays.facade()
    for part in filter(None, path.split(".")):
        found = getattr(found, part)
    return found


def public_name(obj: Any) -> tuple[str, str] | None:
    """The module and name under which the facade offers a class or function of its own; None for others."""
    if not str(getattr(obj, "__module__", "")).startswith(_HERE):
        return None
    name = obj.__name__
    for path in _HOMES:
        if getattr(_home(path), name, None) is obj:
            return f"{_HERE}.{path}".rstrip("."), name
    return None


def file_names(obj: Any) -> list[str]:
    """What files may call a class or function: where it was defined; one of the facade, as files of PyTorch and of tapegrad do."""
    defined = f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', '')}"
    public = public_name(obj)
    return [defined] if public is None else [defined, defined.removeprefix("tapegrad."), ".".join(public)]


def is_class_of_whole(obj: Any) -> bool:
    """Whether objects of this class are saved whole: modules, optimizers and schedules of their rates."""
    if not isinstance(obj, type):
        return False
    optim = _home("optim")
    return issubclass(obj, (_home("nn").Module, optim.Optimizer, optim.lr_scheduler.LRScheduler))


def found(module: str, name: str) -> Any:
    """The class of what is saved whole, or the function, of this name; None if there is none, or it may not be named."""
    ours = module.removeprefix("tapegrad.")
    if ours == "torch" or ours.startswith("torch."):
        exact = ours.removeprefix("torch").removeprefix(".")
        for path in sorted(_HOMES, key=lambda path: path != exact):
            obj = getattr(_home(path), name, None)
            if is_class_of_whole(obj) or isinstance(obj, FunctionType):
                return obj
        return None
    obj = getattr(sys.modules.get(module), name, None)
    return obj if is_class_of_whole(obj) else None
