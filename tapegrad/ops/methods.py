"""What a Tensor can do: operators, indexing, conversion.  All of it is ops; here they get their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.cuts import noted
from tapegrad.core.recorder import NOTING
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.errors import DetachedError, DTypeError, ShapeError
from tapegrad.kernels.batched import Batched, is_batched_index
from tapegrad.ops import (
    array_methods,
    exchange,
    habits,  # noqa: F401  gives Tensor the names of others, with hints
    inplace,
    shown,
)
from tapegrad.registry.op import OPS

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


def _reflected(op: Any) -> Any:
    def reflected(self: Tensor, other: Any) -> Any:
        return op(other, self)

    return reflected


def _equality(op: Any) -> Any:
    def compare(self: Tensor, other: Any) -> Any:
        if other is None or isinstance(other, str):
            return NotImplemented
        return op(self, other)

    return compare


def plain_index(key: Any) -> Any:
    """An index with Tensors replaced by their raw arrays, and lists by integer or boolean arrays."""
    kind = type(key)
    if kind is int or kind is slice or key is None or key is Ellipsis:
        return key
    if kind is tuple:
        for k in key:
            kind = type(k)
            if kind is not int and kind is not slice and k is not None and k is not Ellipsis:
                return tuple(plain_index(k) for k in key)
        return key
    if isinstance(key, Tensor):
        raw = key.read()[0]
        if hasattr(raw, "bare"):
            return raw  # a fetch from the device would wait for it
        return int(raw) if raw.shape == () and raw.dtype.kind in "iu" and type(raw) is not Batched else raw
    if isinstance(key, np.integer):
        return int(key)
    if kind is list:
        return np.asarray([plain_index(k) for k in key], dtype=None if key else np.intp)
    return key


_getitem = OPS["getitem"].entry


def getitem(self: Tensor, key: Any) -> Any:
    """`self[key]`, for every kind of index that NumPy has."""
    if type(key) is int:
        return _getitem(self, key)
    index = plain_index(key)
    if index is not key and is_batched_index(index):
        from tapegrad.ops import picking

        return picking.pick(self, index)
    return _getitem(self, index)


def setitem(self: Tensor, key: Any, value: Any, /) -> None:
    """`self[key] = value`, for every kind of index that NumPy has; see `tapegrad.ops.inplace`."""
    inplace.setitem(self, key if type(key) is int else plain_index(key), value)


def scalar(self: Tensor, what: str) -> Any:
    """The only element, as a NumPy scalar."""
    raw, node = self.read()
    if NOTING:
        noted(what, (node,))
    if type(raw) is Batched:
        if what == "int(x)":
            raw.__index__()
        raise raw.refused(what, "compute with the tensor itself, and look at values outside")
    if raw.shape != () and np.prod(raw.shape) != 1:
        raise TypeError(f"{what} takes an array of one element, got shape {raw.shape}")
    return np.asarray(raw).reshape(())[()]


def truth(self: Tensor) -> bool:
    """Whether the only element is true."""
    raw = self.read()[0]
    if type(raw) is Batched:
        return bool(raw)
    if raw.shape != () and np.prod(raw.shape) != 1:
        raise ShapeError(
            f"bool(x): expected x.size == 1, got shape {raw.shape}; write tapegrad.any(x) or tapegrad.all(x)"
        )
    return bool(np.asarray(raw).reshape(()))


def index(self: Tensor) -> int:
    """The element of a 0-d tensor of integers, where Python wants an index."""
    raw = self.read()[0]
    if type(raw) is Batched:
        return int(raw)
    if raw.shape != () or raw.dtype.kind not in "iu":
        raise DTypeError(f"an index is a 0-d tensor of integers, got {raw.dtype} {tuple(raw.shape)}")
    return int(raw)


def copied(self: Tensor) -> Tensor:
    """What `copy.copy` gives: the same value with the same history."""
    found: Tensor = linked(self.array, self.node)
    return found


def reduced(self: Tensor) -> Any:
    """What `pickle` and `copy.deepcopy` take of a tensor: the values alone."""
    raw, node = self.read()
    if type(raw) is Batched:
        raise raw.refused("a copy", "copy the results outside")
    if exchange.is_recorded(node):
        raise DetachedError(
            "a recorded tensor would be copied without its derivative; write tapegrad.stop_gradient(x) to copy its values, "
            "or copy.copy(x) to keep its history"
        )
    return tensor, (raw,)


def formatted(self: Tensor, spec: str) -> str:
    """What an f-string shows: with a format such as `.4f`, the only element."""
    return format(scalar(self, f"the format {spec!r}"), spec) if spec else str(self)


def _length(self: Tensor) -> int:
    if not self.shape:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


def _iterate(self: Tensor) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter([getitem(self, i) for i in range(self.shape[0])])


def install() -> None:
    """Give Tensor its operators and methods."""
    for name, op in _OPERATORS.items():
        entry = OPS[op].entry
        setattr(Tensor, f"__{name}__", entry)
        setattr(Tensor, f"__r{name}__", _reflected(entry))
        setattr(Tensor, f"__i{name}__", inplace.in_place(op))
    for name, op in _COMPARISONS.items():
        entry = OPS[op].entry
        setattr(Tensor, f"__{name}__", _equality(entry) if name in ("eq", "ne") else entry)
    members: dict[str, Any] = {
        "__neg__": OPS["negative"].entry,
        "__pos__": OPS["positive"].entry,
        "__abs__": OPS["abs"].entry,
        "__invert__": OPS["bitwise_invert"].entry,
        "__getitem__": getitem,
        "__hash__": object.__hash__,
        "__len__": _length,
        "__iter__": _iterate,
        "__bool__": truth,
        "__int__": lambda self: int(scalar(self, "int(x)")),
        "__float__": lambda self: float(scalar(self, "float(x)")),
        "__complex__": lambda self: complex(scalar(self, "complex(x)")),
        "__index__": index,
        "__copy__": copied,
        "__reduce__": reduced,
        "__array__": exchange.array,
        "__repr__": shown.text,
        "__format__": formatted,
        "__dlpack__": exchange.dlpack,
        "__dlpack_device__": exchange.dlpack_device,
        "__setitem__": setitem,
        "device": property(exchange.device),
        "to": exchange.to,
        "to_device": exchange.to_device,
        "numpy": exchange.numpy,
        "item": lambda self: scalar(self, "x.item()").item(),
        "tolist": lambda self: exchange.numpy(self).tolist(),
        "T": property(lambda self: OPS["permute_dims"].entry(self, tuple(range(self.ndim))[::-1])),
        "mT": property(lambda self: OPS["matrix_transpose"].entry(self)),
        **array_methods.METHODS,
    }
    for name, member in members.items():
        setattr(Tensor, name, member)


install()
