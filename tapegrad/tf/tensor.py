"""`tf.Tensor`: the look of TensorFlow's eager tensor on the core's, and the ops compiled for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad.compiled.tracing import is_tracing
from tapegrad.core import tensor as core
from tapegrad.errors import SymbolicValueError
from tapegrad.registry.places import has_values
from tapegrad.tf.dtypes import DType, as_dtype
from tapegrad.tf.errors import OperatorNotAllowedInGraphError
from tapegrad.tf.shapes import TensorShape, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


class Absent:
    """What the core's Tensor has and TensorFlow's has not: to everybody it is not there."""

    def __init__(self, text: str | None = None) -> None:
        self._text = text

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, x: Any, cls: type) -> NoReturn:
        text = self._text or f"'tf.{cls.__name__}' object has no attribute {self._name!r}"
        raise AttributeError(text, name=self._name, obj=x)


class Tensor(core.Tensor):
    """A tensor as TensorFlow 2 shows it in eager mode.  Made by `tf.constant` and by ops, not by calling the class."""

    __slots__ = ()

    __array_priority__ = 100  # so that `array * tensor` is left to the tensor

    def __init__(self, *args: Any, **words: Any) -> None:
        raise TypeError("a tf.Tensor is not made by calling the class; write tf.constant(value)")

    # -- what it is ----------------------------------------------------------------------------------
    @property
    def shape(self) -> TensorShape:
        """The length of each axis."""
        return shape_of(self.array)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return as_dtype(self.array.dtype)

    @property
    def device(self) -> str:
        """Where the values are."""
        return CPU

    backing_device = device

    def get_shape(self) -> TensorShape:
        """The length of each axis."""
        return shape_of(self.array)

    def set_shape(self, shape: Any) -> None:
        """Check the shape against one that may have unknown lengths; raises ValueError where they differ."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}.")

    def numpy(self) -> Any:
        """A copy of the values as an array of NumPy's; a scalar of NumPy's for a 0-d tensor."""
        return values(self)

    def ref(self) -> Reference:
        """A key for dictionaries and sets, equal for the same object alone."""
        return Reference(self)

    experimental_ref = ref

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Raises NotImplementedError: there are no sessions."""
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")

    @property
    def _keras_mask(self) -> Any:
        """The mask that a layer of Keras has given the tensor: scripts read it by this name."""
        keras = sys.modules.get("keras.src.backend.common.global_state")
        masks = None if keras is None else keras.get_global_attribute("_keras_mask_dict")  # where Keras puts it beside slots
        if masks is None or id(self) not in masks:
            raise AttributeError(f"'tf.{type(self).__name__}' object has no attribute '_keras_mask'", name="_keras_mask", obj=self)
        return masks[id(self)]

    # -- protocols -----------------------------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array, dtype=dtype)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __len__(self) -> int:
        if not self.array.shape:
            raise TypeError("Scalar tensor has no `len()`")
        return self.array.shape[0]

    def __iter__(self) -> Any:
        if not self.array.shape:
            raise TypeError("Cannot iterate over a scalar tensor.")
        n = self.array.shape[0]
        if type(n) is not int:
            raise OperatorNotAllowedInGraphError(
                "Iterating over a symbolic `tf.Tensor` is not allowed where its first length is not known; to have it compiled, "
                "give that length in input_signature, or use tf.map_fn or tf.scan on a tensor of known length"
            )
        return iter([self[i] for i in range(n)])

    def __bool__(self) -> bool:
        return truth(self)

    def __int__(self) -> int:
        return int(_scalar(self))

    def __float__(self) -> float:
        return float(_scalar(self))

    def __complex__(self) -> complex:
        return complex(_scalar(self))

    def __index__(self) -> int:
        raw = self.array
        if raw.shape or raw.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(raw)

    def __format__(self, spec: str) -> str:
        return format(values(self), spec) if has_values(self.array) else str(self)

    def __str__(self) -> str:
        return f"tf.Tensor({_lines(str(values(self))) if has_values(self.array) else '?'}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={shown(self)}>"

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return made(self.array, None)

    def __reduce__(self) -> Any:
        return restored, (values(self),)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("'tf.Tensor' object does not support item assignment; use tf.tensor_scatter_nd_update, or a tf.Variable")

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError("'tf.Tensor' object doesn't support item deletion")

    # -- what TensorFlow's has not --------------------------------------------------------------------
    __array_ufunc__ = Absent()
    __array_function__ = Absent()
    __array_namespace__ = Absent()
    name = Absent("Tensor.name is undefined when eager execution is enabled.")
    op = Absent("Tensor.op is undefined when eager execution is enabled.")
    graph = Absent("Tensor.graph is undefined when eager execution is enabled.")
    value_index = Absent("Tensor.value_index is undefined when eager execution is enabled.")
    sum = prod = max = min = std = var = all = any = argmax = argmin = Absent()
    mean = Absent()
    reshape = Absent()
    astype = Absent()
    squeeze = Absent()
    size = Absent()
    item = Absent()
    tolist = Absent()
    to_device = Absent()
    T = Absent()
    mT = Absent()


class Reference:
    """A hashable handle of a tensor or variable."""

    __slots__ = ("__weakref__", "_wrapped")

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """The tensor or variable."""
        return self._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        return self._wrapped is other._wrapped

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


def made(raw: Any, node: Any = None) -> Tensor:
    """A tensor of a raw array and its node."""
    t = object.__new__(Tensor)
    t.array = raw
    t.node = node
    t.like = None
    return t


def restored(values: Any) -> Tensor:
    """What was pickled or copied."""
    return made(values if isinstance(values, np.ndarray | np.generic) else np.asarray(values, object))


def values(x: core.Tensor) -> Any:
    """A copy of the values: an array, or a scalar for a 0-d tensor."""
    raw = x.read()[0]
    if not has_values(raw):
        if not is_tracing():
            raise AttributeError(
                "'SymbolicTensor' object has no attribute 'numpy': it is of a tf.function that was traced, and has no value outside of "
                "it; return it, or assign it to a tf.Variable"
            )
        raise SymbolicValueError("numpy() is only available when eager execution is enabled: a tf.function is being traced.")
    found = np.array(raw)
    return found if found.shape else found[()]


def shown(x: core.Tensor) -> str:
    """The values in a repr."""
    if not has_values(x.read()[0]):
        return "<not known: tf.function is being traced>"
    found = values(x)
    return _lines(repr(found.item() if isinstance(found, np.generic) else found))


def _lines(text: str) -> str:
    """A text of several lines, begun on a line of its own."""
    return f"\n{text}" if "\n" in text else text


_NO_TRUTH = (
    "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: a tf.function is being traced, and its values are not known "
    "yet; to have it compiled, write tf.where or tf.cond, or compute the condition outside"
)


def truth(x: core.Tensor) -> bool:
    """Whether the only element is true; an empty tensor is false."""
    raw = x.read()[0]
    if not has_values(raw):
        raise OperatorNotAllowedInGraphError(_NO_TRUTH)
    if not raw.size:
        return False
    if raw.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return bool(raw)


def _scalar(x: core.Tensor) -> Any:
    raw = x.read()[0]
    if raw.shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return raw


def give(cls: type, members: dict[str, Callable[..., Any]]) -> None:
    """Give a class operators and methods."""
    for name, member in members.items():
        setattr(cls, name, member)
