"""From a list of items to a batch, and from NumPy's arrays and numbers to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._tensor import Tensor

__all__ = ["default_collate", "default_convert"]

_WANTED = "batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """The item with its NumPy arrays and numbers as tensors."""
    if _arrays.is_tensor(data):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else _arrays.made(np.asarray(data))
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _as_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence):
        return _as_sequence(data, [default_convert(d) for d in data])
    return data


def default_collate(batch: Any) -> Any:
    """A batch of items of one structure: tensors and arrays stacked, numbers in a tensor, text in a list."""
    first = batch[0]
    if _arrays.is_tensor(first):
        return _stacked(batch)
    if isinstance(first, np.ndarray) and first.ndim:
        if first.dtype.kind in "SUO":
            raise TypeError("default_collate: " + _WANTED.format(first.dtype))
        return _stacked([_arrays.made(x) for x in batch])
    if isinstance(first, np.ndarray | np.bool_ | np.number):
        return _arrays.made(np.array(batch))
    for kinds, dtype in _NUMBERS:
        if isinstance(first, kinds):
            return _arrays.made(np.array(batch, dtype))
    if isinstance(first, str | bytes):
        return batch
    return _structured(batch, first)


#: Python's numbers, and what becomes of them.
_NUMBERS: list[tuple[type, Any]] = [(float, np.float64), (bool, np.bool_), (int, np.int64)]


def _structured(batch: Any, first: Any) -> Any:
    if isinstance(first, Mapping):
        return _as_mapping(first, {key: default_collate([d[key] for d in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(samples) for samples in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(d) != len(first) for d in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _as_sequence(first, columns)
    raise TypeError("default_collate: " + _WANTED.format(type(first)))


def _stacked(tensors: Sequence[Any]) -> Any:
    if all(type(t) is Tensor for t in tensors):
        arrays = [t.array for t in tensors]
        first = arrays[0]
        if all(type(a) is np.ndarray and a.shape == first.shape and a.dtype is first.dtype for a in arrays) and all(
            t.node is None for t in tensors
        ):
            return _arrays.made(np.stack(arrays))
    shapes = [tuple(t.shape) for t in tensors]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shapes[0])} at entry 0 and {list(shape)} at entry {i}"
            )
    if any(t.node is not None for t in tensors):
        return _arrays.facade().stack(list(tensors))
    return _arrays.made(np.stack([_arrays.raw(t) for t in tensors]))


def _as_mapping(like: Any, found: dict[Any, Any]) -> Any:
    """A mapping of the class of another, if it can be had."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy(like)
            clone.update(found)
            return clone
        return type(like)(found)
    except TypeError:
        return found


def _as_sequence(like: Any, found: list[Any]) -> Any:
    """A sequence of the class of another, if it can be had."""
    try:
        if isinstance(like, MutableSequence):
            clone = copy(like)
            clone[:] = found
            return clone
        make: Callable[[list[Any]], Any] = type(like)
        return found if isinstance(like, range) else make(found)
    except TypeError:
        return found
