"""The values of a tensor, for Python and for NumPy."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched
from tapegrad.torch import _pieces
from tapegrad.torch._arrays import is_parameter
from tapegrad.torch._devices import device_of, moved
from tapegrad.torch._exposed import handed_out
from tapegrad.torch._recorder import is_enabled, own
from tapegrad.torch._tensor import Tensor, adopt
from tapegrad.torch._text import text
from tapegrad.tree import flatten

#: What PyTorch says of a value that differs between the items of a batch, asked for as one number, or as true or false.
_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations."
)
_NO_TRUTH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please shout over at https://github.com/pytorch/functorch/issues/257 ."
)


def _read(x: Any, refusal: str) -> np.ndarray[Any, Any]:
    """The values as NumPy has them; refused where each item of a batch has its own."""
    raw = x.array if isinstance(x, Tensor) else x.read()[0]
    if type(raw) is Batched:
        raise RuntimeError(refusal)
    return np.asarray(raw)


def only(x: Any) -> Any:
    """The one element, as a number of NumPy's."""
    found = _read(x, _NO_ITEM)
    if found.size != 1:
        raise RuntimeError(f"a Tensor with {found.size} elements cannot be converted to Scalar")
    return found.reshape(())[()]


def _one(self: Any) -> Any:
    """`item` where Python asks for a number."""
    if math.prod(self.array.shape) != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def item(self: Any) -> Any:
    """The one element as a Python number."""
    found = only(self)
    return float(found) if found.dtype.kind == "V" else found.item()


def truth(self: Any) -> bool:
    """Whether the one element is not zero."""
    found = _read(self, _NO_TRUTH)
    if found.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if not found.size:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    return bool(found.reshape(())[()])


def numpy(self: Any, *, force: bool = False) -> Any:
    """An array on the memory of the tensor, which must not require a gradient unless `force` or inside `no_grad`."""
    if own(self.node) is not None and not force and is_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    where = device_of(self.array)
    if where.type == "cpu":
        return handed_out(self)
    if not force:
        raise TypeError(
            f"can't convert {where} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return handed_out(moved(self.detach(), "cpu"))


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    found = numpy(self)
    return np.array(found, dtype=dtype, copy=copy) if dtype is not None or copy else found


#: What NumPy's operators call.
_OPERATORS: dict[Any, Any] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip


def _array_ufunc(self: Any, ufunc: Any, method: str, /, *inputs: Any, **words: Any) -> Any:
    """A function of NumPy's on tensors gives a tensor, and is recorded.

    An operator with a number of NumPy's on its left, `np.sqrt(2) * x`, comes here too: it counts as Python's number, which
    leaves the dtype to the tensor.
    """
    if method == "__call__" and not words and ufunc in _OPERATORS and any(isinstance(x, np.generic) for x in inputs):
        plain = [x.item() if isinstance(x, np.generic) else x for x in inputs]
        if not any(isinstance(x, np.generic) for x in plain):  # a longdouble is its own item
            return _OPERATORS[ufunc](*plain)
    from tapegrad import protocols

    return adopt(protocols.array_ufunc(self, ufunc, method, *inputs, **words))


def _array_function(self: Any, function: Any, types: Any, args: Any, words: Any) -> Any:
    """The same for what is no ufunc, if a tensor requires a gradient; otherwise NumPy computes it, and gives an array."""
    from tapegrad import protocols

    leaves, rebuild = flatten((args, words))
    if any(isinstance(x, Core) and own(x.node) is not None for x in leaves):
        return adopt(protocols.array_function(self, function, types, args, words))
    args, words = rebuild([np.asarray(x.read()[0]) if isinstance(x, Core) else x for x in leaves])
    return function(*args, **words)


def tolist(self: Any) -> Any:
    """Nested lists of Python numbers."""
    raw = np.asarray(self.array)
    return raw.astype(np.float32).tolist() if raw.dtype.kind == "V" else raw.tolist()


def _index(self: Any) -> int:
    found = only(self)
    if found.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(found)


def _formatted(self: Any, spec: str) -> str:
    if self.array.shape == () and (spec or (type(self) is Tensor and not is_parameter(self))):
        return format(item(self), spec)
    return object.__format__(self, spec) if spec else text(self)


def _length(self: Any) -> int:
    shape = self.array.shape
    if not shape:
        raise TypeError("len() of a 0-d tensor")
    return int(shape[0])


def _iterate(self: Any) -> Any:
    if not self.array.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(_pieces.unbind(self, 0))


#: The members that give values, by name.
MEMBERS: dict[str, Any] = {
    "__len__": _length,
    "__iter__": _iterate,
    "__bool__": truth,
    "__int__": lambda self: int(_one(self)),
    "__float__": lambda self: float(_one(self)),
    "__complex__": lambda self: complex(_one(self)),
    "__index__": _index,
    "__array__": _array,
    "__array_priority__": 1000,
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__repr__": text,
    "__str__": text,
    "__format__": _formatted,
    "item": item,
    "tolist": tolist,
    "numpy": numpy,
}
