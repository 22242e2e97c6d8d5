"""Modules that hold parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from operator import index as as_int
from typing import TYPE_CHECKING, Any

from tapegrad.torch._parameters import Parameter
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.nn.modules._names import typename
from tapegrad.torch.nn.modules.container import pairs_of
from tapegrad.torch.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(key: Any, value: Any, typed: bool = True) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    device: Any = value.device  # the facade's own: the core's tensors name theirs by a string
    where = f" ({device})" if device.type == "cuda" else ""
    what = value.dtype if typed else typename(value)
    return f"  ({key}): {kind} containing: [{what} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters; tensors become parameters, and anything else is kept as it is."""

    _size: int

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, idx: Any) -> str:
        i = as_int(idx)
        if not -self._size <= i < self._size:
            raise IndexError(f"index {i} is out of range")
        return str(i % self._size)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(self._size)))
        return getattr(self, self._name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name_at(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""

        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(k, p) for k, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name; tensors become parameters, and anything else is kept as it is."""

    _keys: dict[str, None]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._name(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is added if it isn't there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all parameters out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a parameter out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter out."""
        key = next(islice(reversed(self._keys), 1))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or a default."""
        found = self[key] if key in self._keys else default
        return found

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary of these keys, all with one value."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Names and parameters."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Any:
        """The parameters."""
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add parameters from a mapping or from pairs."""
        for key, value in pairs_of(parameters, "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_described(k, p, False) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
