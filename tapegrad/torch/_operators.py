"""The operators of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import _inplace
from tapegrad.torch._node_names import tagged
from tapegrad.torch._node_table import REFLECTED
from tapegrad.torch._tensor import STYLE

_OPERANDS = (Core, int, float, complex, bool, np.number, np.bool_, np.ndarray)


def _operator(name: str) -> Any:
    entry = getattr(STYLE, name)

    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return entry(self, other)
        return NotImplemented

    return forward


def _reflected(name: str) -> Any:
    entry = getattr(STYLE, name)
    pattern = REFLECTED.get(name)
    shown: dict[Any, Any] = {}  # by the op of a node the one that is shown as that of a number and a tensor

    def reflected(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            y = entry(other, self)
            if pattern is not None:
                node = y.node
                if node is not None:
                    op = node.op
                    if op not in shown:
                        shown[op] = tagged(op, pattern)
                    node.op = shown[op]
            return y
        return NotImplemented

    return reflected


def _in_place_operator(entry: Any) -> Any:
    def augmented(self: Any, other: Any) -> Any:
        return _inplace.update(self, entry, other)

    return augmented


def _divide_floor(x: Any, y: Any) -> Any:
    divisor = y.array if isinstance(y, Core) else y
    whole = getattr(divisor, "dtype", np.asarray(divisor).dtype).kind in "biu"
    dividend = x.array if isinstance(x, Core) else x
    if whole and np.asarray(dividend).dtype.kind in "biu" and not np.all(divisor):
        raise RuntimeError("ZeroDivisionError")
    return STYLE.floor_divide(x, y)


def _equality(name: str) -> Any:
    entry = getattr(STYLE, name)

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return entry(self, other)
        return NotImplemented

    return compare


def contains(self: Any, element: Any) -> bool:
    """Whether some element equals this."""
    if isinstance(element, Core | int | float | complex | np.number):
        return bool(np.any(np.asarray((self == element).array)))
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "mod": "remainder", "pow": "pow", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}


def operators() -> dict[str, Any]:
    """The special methods, by name."""
    found: dict[str, Any] = {}
    for name, op in _OPERATORS.items():
        entry = getattr(STYLE, op)
        found[f"__{name}__"] = entry
        found[f"__r{name}__"] = _reflected(op)
        found[f"__i{name}__"] = _in_place_operator(entry)
    for name, op in _COMPARISONS.items():
        found[f"__{name}__"] = _equality(op)
    found["__floordiv__"] = _divide_floor
    found["__rfloordiv__"] = lambda self, other: _divide_floor(other, self)
    found["__ifloordiv__"] = _in_place_operator(_divide_floor)
    return found
