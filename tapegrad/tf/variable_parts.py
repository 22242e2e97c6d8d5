"""What a variable's operators in place say, and parts of variables that can be assigned to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.operators import install, plain
from tapegrad.tf.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

class Part(Tensor):
    """What `variable[key]` gives: a tensor that can also be assigned to, and then changes the variable."""

    __slots__ = ("_key", "_variable")

    _key: Any
    _variable: Any

    def assign(self, value: Any, name: str | None = None, read_value: bool = True) -> Any:
        """Replace these elements of the variable."""
        return self._write("update", value, read_value)

    def assign_add(self, value: Any, name: str | None = None, read_value: bool = True) -> Any:
        """Add to these elements of the variable."""
        return self._write("add", value, read_value)

    def assign_sub(self, value: Any, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract from these elements of the variable."""
        return self._write("sub", value, read_value)

    def _write(self, how: str, value: Any, read_value: bool) -> Any:
        key = self._key
        mask = isinstance(key, core.Tensor | np.ndarray) and np.asarray(key).dtype.kind == "b"
        self._variable._write(np.asarray(key) if mask else plain(key), value, how)
        return self._variable if read_value else None


def part_of(getitem: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Part]:
    """The index of a variable: what it was, as a part that knows its variable."""

    def part(self: Any, key: Any) -> Part:
        x = getitem(self, key)
        found = object.__new__(Part)
        found.array, found.node, found.like = x.array, x.node, x.like
        found._variable = self
        found._key = key
        return found

    return part


def _refused(sign: str, instead: str) -> Callable[[Any, Any], NoReturn]:
    def refused(self: Any, other: Any) -> NoReturn:
        raise RuntimeError(
            f"`variable {sign}= value` with `tf.Variable`s is not supported. Use `{instead}` to change the variable, or "
            f"`out = variable {sign} value` for a new tensor."
        )

    return refused


_IN_PLACE = (
    ("iadd", "+", "variable.assign_add(value)"),
    ("isub", "-", "variable.assign_sub(value)"),
    ("imul", "*", "variable.assign(variable * value)"),
    ("itruediv", "/", "variable.assign(variable / value)"),
    ("ipow", "**", "variable.assign(variable ** value)"),
)


def give_operators(cls: Any) -> None:
    """Give the class of variables its operators: those in place are refused, and an index gives a part."""
    install(cls)
    for name, sign, instead in _IN_PLACE:
        setattr(cls, f"__{name}__", _refused(sign, instead))
    cls.__getitem__ = part_of(cls.__getitem__)
