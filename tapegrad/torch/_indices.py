"""What an index says, in NumPy's terms, and what PyTorch refuses of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._warnings import warn


def plain(x: Any, key: Any) -> tuple[Any, bool]:
    """An index in NumPy's terms, checked, and whether it is basic."""
    kind = type(key)
    shape = x.array.shape
    if kind is int:
        if not shape:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                             "convert a 0-dim tensor to a number")  # fmt: skip
        if not -shape[0] <= key < shape[0]:
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {shape[0]}")
        return key, True
    if kind is tuple and len(key) <= len(shape) and all(type(k) is int for k in key):
        for d, k in enumerate(key):
            if not -shape[d] <= k < shape[d]:
                raise IndexError(f"index {k} is out of bounds for dimension {d} with size {shape[d]}")
        return key, True
    items = key if kind is tuple else (key,)
    if kind is list:
        items = tuple(key) if _is_old_tuple(key) else (key,)
    made = tuple(_item(k) for k in items)
    basic = all(type(k) in (int, slice) or k is None or k is Ellipsis for k in made)
    _check(x, made, shape)
    return (made if len(made) != 1 else made[0]), basic


def _is_old_tuple(key: list[Any]) -> bool:
    """A short list with slices, tensors, lists or the like in it means a tuple, as NumPy had it once."""
    if len(key) >= 32 or not any(k is None or k is Ellipsis or isinstance(k, _PARTS) for k in key):
        return False
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] "
        "instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either in "
        "an error or a different result"
    )
    return True


#: What of a list makes it a tuple.
_PARTS = (slice, Core, np.ndarray, list, tuple, range)


def mask_of_bytes(raw: Any) -> Any:
    """A mask of bytes as one of bools."""
    if raw.shape:
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return raw.astype(np.bool_)


def _item(k: Any) -> Any:
    kind = type(k)
    if kind is int or kind is bool or k is None or k is Ellipsis:
        return k
    if kind is slice:
        return _slice(k)
    if isinstance(k, Core):
        return _tensor(k.read()[0])
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, np.ndarray):
        return mask_of_bytes(k) if k.dtype == np.uint8 else k
    if isinstance(k, list | tuple | range):
        items = [_item(v) for v in k]
        found = np.asarray(items, dtype=None if items else np.intp)
        if found.dtype.kind not in "iub":
            raise IndexError(_NO_INDEX)
        return found
    if hasattr(k, "__index__"):
        return k.__index__()
    if isinstance(k, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{kind.__name__})"
    )


_NO_INDEX = "tensors used as indices must be long, int, byte or bool tensors"


def _slice(k: slice) -> slice:
    if any(v is not None and type(v) is not int for v in (k.start, k.stop, k.step)):
        k = slice(*(None if v is None else _place(v) for v in (k.start, k.stop, k.step)))
    if k.step is not None and k.step <= 0:
        raise ValueError("step must be greater than zero")
    return k


def _place(v: Any) -> int:
    """Where a slice begins or ends, as a number."""
    if isinstance(v, Core):
        if v.array.dtype.kind not in "iub" or int(np.prod(v.array.shape)) != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(v)
    if not hasattr(v, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    found: int = v.__index__()
    return found


def _tensor(raw: Any) -> Any:
    """The index that a tensor is: its own copy, for the tensor may be written to."""
    if raw.dtype == np.uint8:
        return mask_of_bytes(raw)
    if raw.dtype.kind not in "iub":
        raise IndexError(_NO_INDEX)
    if not isinstance(raw, np.ndarray | np.generic):
        return raw
    if raw.shape == () and raw.dtype.kind != "b":
        return int(raw)
    return raw.copy()


def axes_of_item(k: Any) -> int:
    """How many axes of the tensor an item stands for."""
    if k is None or k is Ellipsis or type(k) is bool or isinstance(k, np.bool_):
        return 0
    return k.ndim if isinstance(k, np.ndarray) and k.dtype.kind == "b" else 1


def _check(x: Any, items: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    used = sum(map(axes_of_item, items))
    if used > len(shape):
        if not shape and type(items[0]) is slice:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    at = 0
    for k in items:
        if k is Ellipsis:
            at += len(shape) - used
            continue
        if type(k) is int and not -shape[at] <= k < shape[at]:
            raise IndexError(f"index {k} is out of bounds for dimension {at} with size {shape[at]}")
        if isinstance(k, np.ndarray):
            _check_array(k, shape, at)
        at += axes_of_item(k)


def _check_array(k: Any, shape: tuple[int, ...], at: int) -> None:
    if k.dtype.kind == "b":
        for i, n in enumerate(k.shape):
            if n != shape[at + i]:
                raise IndexError(
                    f"The shape of the mask {list(k.shape)} at index {i} does not match the shape of the indexed tensor "
                    f"{list(shape)} at index {at + i}"
                )
    elif k.size and not shape[at]:
        raise IndexError("index is out of bounds for dimension with size 0")
    elif k.size and (k.min() < -shape[at] or k.max() >= shape[at]):
        bad = int(k.min()) if k.min() < -shape[at] else int(k.max())
        raise IndexError(f"index {bad} is out of bounds for dimension {at} with size {shape[at]}")


def integers_first(x: Any, index: Any) -> tuple[Any, Any]:
    """An index that mixes integers and arrays, as two: PyTorch takes integers first, NumPy puts their axes elsewhere."""
    items = index if type(index) is tuple else (index,)
    if not any(type(k) is int for k in items) or all(type(k) in (int, slice) or k is None or k is Ellipsis for k in items):
        return None, index
    used = sum(map(axes_of_item, items))
    whole: list[Any] = []
    for k in items:
        whole += [slice(None)] * (len(x.array.shape) - used) if k is Ellipsis else [k]
    first: list[Any] = []
    rest: list[Any] = []
    for k in whole:
        if type(k) in (int, slice) or k is None:
            first.append(k)
            if type(k) is not int:
                rest.append(slice(None))
        else:
            first += [slice(None)] * axes_of_item(k)
            rest.append(k)
    return tuple(first), tuple(rest)
