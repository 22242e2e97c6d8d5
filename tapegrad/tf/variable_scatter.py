"""What changes a few rows or elements of a variable: `scatter_add` and its kind, and assignments to parts.

They write where the variable is: on NumPy's kernels into a copy, on TensorFlow's by its own scatters.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels.numpy_scatter import WRITES
from tapegrad.tf.convert import at_hand, convert, convert_raw, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.gathering import check_updates, scattered
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.tf.shapes import TensorShape


class Scatters:
    """The part of `tf.Variable` that writes at indices."""

    __slots__ = ()

    if TYPE_CHECKING:
        array: Any
        name: str | None

        @property
        def shape(self) -> TensorShape:
            """The length of each axis."""

        def _accessed(self) -> Any:
            """The variable itself, watched."""

    def _scatter(self, delta: Any, how: str) -> Any:
        if not isinstance(delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta}")
        index = at_hand(delta.indices)
        if isinstance(index, np.ndarray):
            self._inside(index, self.array.shape[:1], "ResourceScatter")
        return self._scattered(index[..., None], delta.values, how, "ResourceScatter")

    def _inside(self, index: Any, lengths: tuple[int, ...], op: str) -> None:
        """Raise where an index (of the last axis, if there are several lengths) points outside: a negative one does too."""
        outside = (index < 0) | (index >= np.asarray(lengths))
        if np.any(outside):
            place = np.argwhere(outside)[0].tolist()
            found = f"indices{place} = {index[tuple(place)]} is not in [0, {max(lengths, default=0)})"
            raise invalid(op, f"{found}: {self.name} is {self.shape}")

    def _scattered(self, at: Any, value: Any, how: str, op: str) -> Any:
        """Write values at index tuples, on the kernels of the variable."""
        raw = self.array
        on_numpy = isinstance(raw, np.ndarray | np.generic)
        at, new = (host(at), host(convert(value, raw.dtype))) if on_numpy else (at, convert_raw(value, raw.dtype)[0])
        with self._refusing(new, op):
            self.array = scattered(raw, at, new, how)
        return self._accessed()

    @contextlib.contextmanager
    def _refusing(self, new: Any, op: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, IndexError) as error:
            raise invalid(op, f"cannot write values of shape {list(new.shape)} into {self.name} of {self.shape}: {error}") from None

    def _write(self, key: Any, value: Any, how: str) -> None:
        """Write values at an index, on the kernels of the variable: "update", "add" or "sub"."""
        raw, op = self.array, "ResourceStridedSliceAssign"
        if isinstance(raw, np.ndarray | np.generic):
            found, new = np.array(raw), host(convert(value, raw.dtype))
            with self._refusing(new, op):
                WRITES[how](found, key, new)
            self.array = found if found.shape else found[()]
            return
        new = made(convert_raw(value, raw.dtype)[0])
        with self._refusing(new, op):
            self.array = _written(made(raw), key, new, how).array

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Add rows; one that is there several times is added each time."""
        return self._scatter(sparse_delta, "add")

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtract rows."""
        return self._scatter(sparse_delta, "sub")

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiply rows."""
        return self._scatter(sparse_delta, "mul")

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Divide rows."""
        return self._scatter(sparse_delta, "div")

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """The maximum of rows and what is there."""
        return self._scatter(sparse_delta, "max")

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """The minimum of rows and what is there."""
        return self._scatter(sparse_delta, "min")

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace rows."""
        return self._scatter(sparse_delta, "update")

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace rows of each member of a batch: values (*B, k, ...) at indices (*B, k)."""
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        index = host(sparse_delta.indices)
        self._inside(index[..., None], self.array.shape[index.ndim - 1 : index.ndim], "ResourceScatterNdUpdate")
        places = np.stack([*np.indices(index.shape)[:-1], index], axis=-1)
        return self._scattered(places, sparse_delta.values, "update", "ResourceScatterNdUpdate")

    def _scatter_nd(self, indices: Any, updates: Any, how: str) -> Any:
        index, new = at_hand(indices), convert(updates, self.array.dtype)
        check_updates(index.shape, new.array.shape, self.array.shape, "ResourceScatterNd")
        if isinstance(index, np.ndarray):
            self._inside(index, self.array.shape[: index.shape[-1]], "ResourceScatterNd")
        return self._scattered(index, new, how, "ResourceScatterNd")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Replace elements or slices at index tuples."""
        return self._scatter_nd(indices, updates, "update")

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to elements or slices at index tuples."""
        return self._scatter_nd(indices, updates, "add")

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from elements or slices at index tuples."""
        return self._scatter_nd(indices, updates, "sub")

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """The maximum of elements or slices at index tuples and what is there."""
        return self._scatter_nd(indices, updates, "max")

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """The minimum of elements or slices at index tuples and what is there."""
        return self._scatter_nd(indices, updates, "min")


def _written(x: Tensor, key: Any, value: Tensor, how: str) -> Any:
    """A tensor with values written at an index, where arrays cannot change."""
    if how == "update":
        return S.put(x, value, key)
    change = S.put_add(S.broadcast_to(value, S.getitem(x, key).array.shape), key, x.array.shape)
    return S.add(x, change) if how == "add" else S.subtract(x, change)
