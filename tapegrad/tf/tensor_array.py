"""`tf.TensorArray`: a list of tensors that is written once and stacked."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import OutOfRangeError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.style import S, short
from tapegrad.tf.tensor import Tensor


@export("TensorArray")
class TensorArray:
    """A list of tensors of one dtype."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: Any = None,
        clear_after_read: Any = None,
        tensor_array_name: Any = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if size is None and handle is None and flow is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._shape = None if element_shape is None else TensorShape(element_shape)
        self._infers = bool(infer_shape)
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._cleared: set[int] = set()
        self._items: list[Any] = [None] * (0 if size is None else int(size))

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The shape of each tensor, as far as it is known."""
        return TensorShape(None) if self._shape is None else self._shape

    @property
    def flow(self) -> Tensor:
        """A constant: there is no graph to order."""
        return fresh(np.float32(0))

    def size(self, name: str | None = None) -> Tensor:
        """How many tensors it holds."""
        return fresh(np.int32(len(self._items)))

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a tensor at an index; gives the array."""
        k = int(index)
        x = convert(value, self._dtype.numpy, prefer=True) if not hasattr(value, "array") else convert(value)
        if x.array.dtype != self._dtype.numpy:
            raise invalid(
                None, f"TensorArray dtype is {short(self._dtype)} but Op is trying to write dtype {short(x.array.dtype)}"
            )
        if self._shape is not None and not self._shape.is_compatible_with(x.shape):
            raise ValueError(f"Incompatible shape for value ({x.shape}), expected ({self._shape})")
        if self._shape is None and self._infers:
            self._shape = x.shape
        if k < 0 or (k >= len(self._items) and not self._dynamic):
            raise OutOfRangeError(
                None, None, f"Tried to write to index {k} but array is not resizeable and size is: {len(self._items)}"
            )
        self._items.extend([None] * (k + 1 - len(self._items)))
        self._items[k] = x
        self._cleared.discard(k)
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The tensor at an index."""
        k = self._inside(int(index))
        if k in self._cleared:
            raise invalid(
                None,
                f"Could not read index {k} twice because it was cleared after a previous read (perhaps try setting "
                "clear_after_read = false?)",
            )
        found = self._filled(k)
        if self._clears:
            self._items[k] = None
            self._cleared.add(k)
        return found

    def _inside(self, k: int) -> int:
        """An index, if there is a place for it."""
        if not 0 <= k < len(self._items):
            raise OutOfRangeError(None, None, f"Tried to read from index {k} but array size is: {len(self._items)}")
        return k

    def _filled(self, k: int) -> Tensor:
        if self._items[k] is not None:
            return self._items[k]
        shape = next((x.array.shape for x in self._items if x is not None), None)
        if shape is None:
            shape = tuple(self._shape) if self._shape is not None and self._shape.is_fully_defined() else None
        if shape is None:
            raise invalid(None, f"Could not read index {k} twice because it was never written")
        return fresh(np.zeros(shape, self._dtype.numpy))

    def stack(self, name: str | None = None) -> Tensor:
        """All tensors along a new first axis."""
        if not self._items:
            inner = [n or 0 for n in self._shape] if self._shape is not None and self._shape else []
            return fresh(np.zeros((0, *inner), self._dtype.numpy))
        return S.stack([self._filled(k) for k in range(len(self._items))])

    def concat(self, name: str | None = None) -> Tensor:
        """All tensors one after the other along their first axis."""
        return S.concat([self._filled(k) for k in range(len(self._items))], axis=0)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The tensors at indices, along a new first axis."""
        return S.stack([self._filled(self._inside(int(i))) for i in host(indices).tolist()])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Fill it with the parts of a tensor along its first axis; gives the array."""
        parts = list(S.unstack(convert(value, prefer=True)))
        if len(parts) > len(self._items) and not self._dynamic:
            raise ValueError(f"Cannot unstack {len(parts)} tensors into a TensorArray of static size {len(self._items)}")
        self._items = parts
        return self

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put the parts of a tensor at indices; gives the array."""
        for k, x in zip(host(indices).tolist(), S.unstack(convert(value)), strict=True):
            self.write(k, x)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Fill it with pieces of a tensor of these lengths; gives the array."""
        ends = np.cumsum(host(lengths)).tolist()
        x = convert(value)
        self._items = [S.getitem(x, slice(a, b)) for a, b in zip([0, *ends], ends, strict=False)]
        return self

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> Any:
        """Raises NotImplementedError: the gradient of an array is that of what was written."""
        raise NotImplementedError("TensorArray.grad is not supported when executing eagerly; a tape's gradient needs no such function.")

    def close(self, name: str | None = None) -> None:
        """Forget all tensors."""
        self._items = []

    def __len__(self) -> int:
        return len(self._items)
