"""The array type: a raw array and the node that recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapegrad.core.node import Node


class Tensor:
    """An n-dimensional array that tapes can record.

    Tensors are made by `tapegrad.asarray` and by ops, not by calling the class: an op makes one without a
    constructor (measured: 57 ns against 180).

    * `raw`: the bare array, of the kernel set's own type (for NumPy an `ndarray`, or a NumPy scalar for a 0-d
      result: several times faster there).  It must not be written to.
    * `node`: the node that recorded it, or None.
    * `like`: None, or an object that tensors share which are known to agree in shape and dtype (a common real one):
      a chain of elementwise ops compares shapes once.
    """

    __slots__ = ("__weakref__", "like", "node", "raw")

    raw: Any
    node: Node | None
    like: object | None

    def read(self) -> tuple[Any, Node | None]:
        """The raw array and the node with which the tensor takes part in an op."""
        return self.raw, self.node

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        shape: tuple[int, ...] = self.raw.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype, an object of NumPy's."""
        return self.raw.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.raw.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for k in self.raw.shape:
            n *= k
        return n


def linked(raw: Any, node: Node | None) -> Any:
    """A Tensor of a raw value that belongs to this node; what is no array is given back as it is."""
    if type(raw) in PLAIN:
        return raw
    t = Tensor()
    t.raw = raw
    t.node = node
    t.like = None
    return t


#: What makes a Tensor of a cotangent that is no plain array, by its type.
WRAPPERS: dict[type, Any] = {}

#: Types of saved values that are no arrays: Python scalars are weak and stay so, None is a missing argument.
PLAIN: frozenset[type] = frozenset([int, float, complex, bool, type(None)])


def tensor(raw: Any) -> Tensor:
    """A Tensor that nobody has recorded."""
    t = Tensor()
    t.raw = raw
    t.node = None
    t.like = None
    return t
