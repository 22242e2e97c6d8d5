"""What a module asks of the objects and names that it is given."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _flag(x: Any, flag: str) -> bool:
    auto = getattr(x, "_auto", None) if isinstance(x, Tensor) else None
    return auto is not None and bool(auto.flags.get(flag))


def is_parameter(x: Any) -> bool:
    return _flag(x, "parameter")


def is_buffer(x: Any) -> bool:
    return _flag(x, "buffer")


def is_persistent(x: Any) -> bool:
    return _flag(x, "persistent")


def typename(x: Any) -> str:
    """The name of an object's class as error messages show it."""
    if isinstance(x, Tensor) and hasattr(x, "type"):  # of this style: others have no such method
        kind: str = x.type()
        return kind
    cls = x if isinstance(x, type) else type(x)
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", "__main__") else f"{module}.{cls.__qualname__}"


def claim(module: Any, name: Any, table: str, kind: str) -> None:
    """Check that a name can be registered in a module's table."""
    if table not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if hasattr(module, name) and name not in module.__dict__[table]:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        suffix = f", got: {name}" if kind == "module" else ""
        raise KeyError(f'{kind} name can\'t contain "."{suffix}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
