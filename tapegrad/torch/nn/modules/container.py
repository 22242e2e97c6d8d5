"""Modules that hold modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import index as as_int
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules.module import Module, _addindent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self


class Container(Module):
    """The older name of `Module`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Ordered(Module):
    """Children numbered from 0, reached by position."""

    def _name_at(self, idx: Any) -> str:
        names = list(self._modules)
        n = len(names)
        i = as_int(idx)
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of range")
        return names[i]

    def _renumber(self) -> None:
        modules = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self._part(list(self._modules.items())[idx])
        return self._modules[self._name_at(idx)]

    def _part(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)([module for _, module in items])

    def __setitem__(self, idx: Any, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: Any) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            del self._modules[name]
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before a position."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules.clear()
        for i, m in enumerate(modules):
            self.add_module(str(i), m)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key: Any = -1) -> Module:
        """Take a module out."""
        module: Module = self[key]
        del self[key]
        return module


class Sequential(_Ordered):
    """Modules that are applied one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _part(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)(OrderedDict(items))

    def __delitem__(self, idx: Any) -> None:
        super().__delitem__(idx)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before a position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index + n if index < 0 else index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__


class ModuleList(_Ordered):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        return super().extend(modules)

    def __repr__(self) -> str:
        runs: list[list[Any]] = []  # first, last and text of modules that look the same
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            _addindent(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}", 2) for a, b, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(given: Any, what: str) -> list[tuple[str, Any]]:
    """The pairs of a mapping, of a container of named modules or parameters, or of an iterable of pairs."""
    if isinstance(given, (Mapping, Module)) and hasattr(given, "items"):
        return list(given.items())
    if not isinstance(given, Iterable):
        raise TypeError(f"{what}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}")
    pairs = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")  # type: ignore[arg-type]
        pairs.append(tuple(pair))
    return pairs
