"""Which ops are public, and under which names: what the package's own modules export.

The modules are looked up, not imported: they stand above this one, and are there whenever the package is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tapegrad.registry.op import Op

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def op_of(value: Any) -> Op | None:
    """The op whose public function this is."""
    op = getattr(value, "op", None)
    return op if isinstance(op, Op) and op.entry is value else None


def at_home(module: str, functions: dict[str, Any]) -> dict[str, Any]:
    """The functions that a module exports, which say from now on that they are its: by that name they are pickled."""
    for name, function in functions.items():
        op = op_of(function)
        if op is not None and (op.name == name or op.name not in functions):
            function.__module__, function.__qualname__ = module, name
    return functions


def ops_in(module: ModuleType) -> dict[str, Op]:
    """The ops that a module exports, by the names that it gives them."""
    names = getattr(module, "__all__", ())
    return {name: op for name in sorted(names) if (op := op_of(vars(module).get(name))) is not None}


def modules() -> Iterator[ModuleType]:
    """The package, and each of its modules that exports ops; those that it imports when they are used are used now."""
    package = sys.modules["tapegrad"]
    for name in package.__all__:
        getattr(package, name)
    for name, module in sorted(sys.modules.items()):
        if (name == "tapegrad" or _is_plain(name, module)) and ops_in(module):
            yield module


def _is_plain(name: str, module: ModuleType) -> bool:
    """Whether it is a module right below the package, and no package itself."""
    inside = name.startswith("tapegrad.") and name.count(".") == 1
    return inside and not hasattr(module, "__path__")


def names() -> dict[str, Op]:
    """Every public op, by its name as it is written after `tapegrad.`."""
    found = {}
    for module in modules():
        prefix = module.__name__.partition(".")[2]
        found.update({f"{prefix}.{name}" if prefix else name: op for name, op in ops_in(module).items()})
    return found
