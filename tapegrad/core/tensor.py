"""The array type: a raw array and the node that recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.foreign import STANDING

if TYPE_CHECKING:
    from tapegrad.core.node import Node


class Tensor:
    """An n-dimensional array that tapes can record.

    Tensors are made by `tapegrad.asarray` and by ops, not by calling the class: an op makes one without a
    constructor (measured: 57 ns against 180).

    * `raw`: the bare array, as whoever made it knows it (for NumPy an `ndarray`, or a NumPy scalar for a 0-d result:
      several times faster there; for TensorFlow a `tf.Tensor`).  Nothing is copied, and it must not be written to.
    * `array`: the value that kernels compute with: the same, or what a kernel set puts around it to give it NumPy's
      shape, dtype and operators.
    * `node`: the node that recorded it, or None.
    * `like`: None, or an object that tensors share which are known to agree in shape and dtype (a common real one):
      a chain of elementwise ops compares shapes once.
    """

    __slots__ = ("__weakref__", "array", "like", "node")

    array: Any
    node: Node | None
    like: object | None

    def read(self) -> tuple[Any, Node | None]:
        """The raw array and the node with which the tensor takes part in an op."""
        return self.array, self.node

    @property
    def raw(self) -> Any:
        """The bare array."""
        array = self.array
        return getattr(array, "bare", array)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype, an object of NumPy's."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.array.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for k in self.array.shape:
            n *= k
        return n


def linked(raw: Any, node: Node | None) -> Any:
    """A Tensor of a raw value that belongs to this node; what is no array is given back as it is."""
    if type(raw) in PLAIN:
        return raw
    t = Tensor()
    t.array = raw
    t.node = node
    t.like = None
    return t


def standing_for(x: Any) -> Any:
    """The tensor that an object stands for, if its class says so by a method `__tapegrad_tensor__`; else the object.

    So a library's own variables are sources and arguments as tensors are: they give the tensor that they hold.  Types that
    can't be given a method are in `foreign.STANDING`.
    """
    kind = type(x)
    method = getattr(kind, "__tapegrad_tensor__", None) or STANDING.get(kind)
    return x if method is None else method(x)


#: What makes a Tensor of a cotangent that is no plain array, by its type.
WRAPPERS: dict[type, Any] = {}

#: Types of saved values that are no arrays: Python scalars are weak and stay so, None is a missing argument.
PLAIN: set[type] = {int, float, complex, bool, type(None)}


def tensor(raw: Any) -> Tensor:
    """A Tensor that nobody has recorded."""
    t = Tensor()
    t.array = raw
    t.node = None
    t.like = None
    return t
