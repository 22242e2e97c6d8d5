"""`x[index]` and `x[index] = value`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.node import tick
from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched, is_batched_index
from tapegrad.ops.inplace import is_alone
from tapegrad.torch import _devices, _inplace
from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._indices import axes_of_item, integers_first, plain
from tapegrad.torch._node_names import tag
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._stale import spoil
from tapegrad.torch._storage import wrote
from tapegrad.torch._tensor import OF_NUMPY, STYLE, WITHOUT_DEVICE, Tensor, wrap
from tapegrad.torch._views import join, laid_out, note_put, putter, store_of, take, view_of
from tapegrad.torch._write_checks import check


def getitem(x: Any, key: Any) -> Any:
    """What an index picks: a view for integers, slices, None and `...`; a copy for tensors and lists."""
    if type(key) is int and type(x) is Tensor:  # a row, as loops take them: without asking what else it might be
        raw = x.array
        if type(raw) is np.ndarray and raw.ndim > 1 and -len(raw) <= key < len(raw):
            return join(x, STYLE.getitem(x, key), row_step(key), None)
    index, basic = plain(x, key)
    if basic:
        if type(index) is int:
            return take(x, *row_step(index))
        if index == ():
            return take(x, _same)
        return take(x, _picker(index), putter(index))
    if is_batched_index(index):
        return _picked_in_batch(x, index)
    first, rest = integers_first(x, index)
    return STYLE.getitem(x if first is None else STYLE.getitem(x, first), rest)


#: The steps to rows, by their numbers.
_ROWS: dict[int, tuple[Any, Any]] = {}


def row_step(index: int) -> tuple[Any, Any]:
    """How a row is taken, and put back."""
    made = _ROWS.get(index)
    if made is None:
        made = _picker(index), putter(index)
        if len(_ROWS) < 1024:
            _ROWS[index] = made
    return made


def _same(t: Any) -> Any:
    return wrap(t.array, t.node) if t.node is None else STYLE.reshape(t, t.array.shape)


def _picker(index: Any) -> Any:
    def run(t: Any) -> Any:
        y = STYLE.getitem(t, index)
        if isinstance(y.array, np.generic):  # NumPy's number is no view
            whole = index if type(index) is tuple else (index,)
            y.array = t.array[whole if Ellipsis in whole else (*whole, Ellipsis)]
        return y

    return run


def setitem(x: Any, key: Any, value: Any) -> None:
    """Write what an index picks."""
    index, basic = plain(x, key)
    info = view_of(x)
    _check_place(x, index, basic, info, value)
    v = _value(x, value)
    if type(x.array) not in WITHOUT_DEVICE and _devices.several():
        v = _devices.moved(v, _devices.device_of(x.array))
    before = tick()
    raw = x.array
    if not basic and is_batched_index(index):
        _inplace.commit(x, _put_in_batch(wrap(raw, x.node), index, v), before)
        return
    if type(raw) is np.ndarray and info is None and not (is_enabled() and (x.node is not None or v.node is not None)):
        store = store_of(x)
        if not raw.flags.writeable:
            raw = x.array = raw.copy()
        _store(x, raw, index, v.array)
        wrote(store, raw)
        if store.fresh:
            spoil(store, x)
        return
    if v.array.shape[:1] == (1,):
        v = _without_leading_ones(v)
    if type(raw) is np.ndarray and info is not None and info.cut and store_of(x).apart and raw.flags.writeable:
        _inplace.protect(x, raw)
        _store(x, raw, index, v.array)
        wrote(store_of(x), raw, part=_part(raw, index) if basic else None)
        if store_of(x).fresh:
            spoil(store_of(x), x)
        return
    if basic and info is not None and (not info.cut or (type(raw) is np.ndarray and 0 in raw.strides)):
        part = take(x, _picker(index), putter(index)) if index != () else x
        _inplace.commit(part, _spread(v, part.array.shape), before)
        return
    first, rest = (None, index) if basic else integers_first(x, index)
    if first is None and type(v.array) in OF_NUMPY and is_alone(x) and not _in_index(rest):
        node = note_put(x, v, rest)
        _name(node, basic, rest)
        _store(x, x.array, rest, v.array)
        _inplace.rewrite(x, node)
        wrote(store_of(x), x.array)
        return
    given = wrap(raw, x.node)
    if first is None:
        y = STYLE.put(given, v, rest)
        _name(y.node, basic, rest)
    else:
        part = STYLE.getitem(given, first)
        y = STYLE.put(given, STYLE.put(part, v, rest), first)
    _inplace.commit(x, y, before)


def _name(node: Any, basic: bool, index: Any) -> None:
    """Let what has put values where tensors say be shown as that: what slices pick first is a view."""
    if node is None or basic:
        return
    picks = index if type(index) is tuple else (index,)
    if not any(type(k) is slice and k != slice(None) for k in picks):
        tag(node, "IndexPut0")


def _check_place(x: Any, index: Any, basic: bool, info: Any, value: Any) -> None:
    """Refuse a value that does not fit what an index picks, and a place that may not be written to."""
    whole = x.array if type(x.array) is np.ndarray else laid_out(x) if basic and info is not None and not info.cut else None
    part = whole[index] if basic and whole is not None else None
    if basic and isinstance(value, Core):
        place = (part if part is not None else laid_out(x)[index]).shape
        if not is_spread(value.array.shape, place):
            _spread(value, place)  # which is refused, before anything else is
    if basic and info is not None and info.is_barred and index != ():
        check(take(x, _picker(index), putter(index)))
    check(x, as_view=basic, part=part)


def _without_leading_ones(v: Any) -> Any:
    """A value of fewer axes that is spread alike: NumPy has an element, and what a mask picks, take no more axes than they have."""
    shape = list(v.array.shape)
    while shape and shape[0] == 1:
        shape.pop(0)
    return STYLE.reshape(v, tuple(shape))


def _part(raw: Any, index: Any) -> Any:
    """What an index picks, as an array on the same memory, also where it is one element."""
    picks = index if type(index) is tuple else (index,)
    return raw[index] if any(i is Ellipsis for i in picks) else raw[(*picks, Ellipsis)]


def delitem(x: Any, key: Any) -> None:
    """Nothing can be taken out of a tensor."""
    raise TypeError("Tensor does not support deleting items")


# -- tensors that differ between the items of a batch ------------------------------------------------
def _in_parts(x: Any, index: Any) -> tuple[Any, tuple[Any, ...]]:
    """An index as a basic one, and then a tensor or None for each axis of what that gives."""
    items = index if type(index) is tuple else (index,)
    for k in items:
        if hasattr(k, "dtype") and k.dtype.kind == "b":
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
                "boolean mask."
            )
    rest = len(x.array.shape) - sum(map(axes_of_item, items))
    whole: list[Any] = []
    for k in items if Ellipsis in [k for k in items if k is Ellipsis] else (*items, Ellipsis):
        whole += [slice(None)] * rest if k is Ellipsis else [k]
    first = tuple(k if type(k) in (int, slice) or k is None else slice(None) for k in whole)
    after = tuple(None if type(k) is slice or k is None else wrap(k) for k in whole if type(k) is not int)
    return first, after


def _picked_in_batch(x: Any, index: Any) -> Any:
    from tapegrad.torch._functions._stacks import Places, expanded

    first, after = _in_parts(x, index)
    part = STYLE.getitem(x, first)
    places = Places(part, after)
    rows = places.rows(part)
    return places.taken(rows.gather(0, expanded(places.number, rows.array.shape, 0)))


def _put_in_batch(x: Any, index: Any, v: Any) -> Any:
    from tapegrad.torch._functions.scatter import put_in_batch

    first, after = _in_parts(x, index)
    return STYLE.put(x, put_in_batch(STYLE.getitem(x, first), after, v), first)


def is_spread(have: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a value fits a place by being repeated; leading axes of length 1 may be too many."""
    extra = len(have) - len(shape)
    if extra > 0:
        if have[:extra] != (1,) * extra:
            return False
        have = have[extra:]
    return have == shape or all(a in (1, b) for a, b in zip(reversed(have), reversed(shape), strict=False))


def _spread(v: Any, shape: tuple[int, ...]) -> Any:
    """A value in the shape of the place that it is written to; leading axes of length 1 may be too many."""
    have = v.array.shape
    while len(have) > len(shape) and have[0] == 1:
        v = STYLE.reshape(v, have[1:])
        have = have[1:]
    if have == shape:
        return v
    try:
        return STYLE.broadcast_to(v, shape)
    except (RuntimeError, ValueError) as error:
        raise RuntimeError(_expanded_text(v, have, shape)) from error


def _expanded_text(v: Any, have: tuple[int, ...], shape: tuple[int, ...]) -> str:
    sizes = f"Target sizes: {list(shape)}.  Tensor sizes: {list(have)}"
    if len(have) > len(shape):
        kind = f"torch.{SCALAR_TYPES[dtype_of(v.array.dtype)]}Tensor"
        return (
            f"expand({kind}{{{list(have)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({len(have)})"
        )
    for d in range(1, len(have) + 1):
        if have[-d] not in (1, shape[-d]):
            return (
                f"The expanded size of the tensor ({shape[-d]}) must match the existing size ({have[-d]}) at non-singleton dimension "
                f"{len(shape) - d}.  {sizes}"
            )
    return f"The expanded size of the tensor must match the existing size.  {sizes}"


def _store(x: Any, raw: Any, index: Any, value: Any) -> None:
    first, rest = integers_first(x, index)
    try:
        if first is None:
            raw[rest] = value
        else:
            part = raw[first]
            part[rest] = value
    except (ValueError, TypeError) as error:
        if type(value) is Batched:
            _inplace.refuse_batch(x, value)
        place = raw[index].shape
        while np.ndim(value) > len(place) and value.shape[0] == 1:
            value = value[0]
            if np.ndim(value) == len(place):
                raw[index] = value
                return
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(value))} cannot be broadcast to indexing result of shape "
            f"{list(place)}"
        ) from error


def _value(x: Any, value: Any) -> Any:
    want = x.array.dtype
    if isinstance(value, Core):
        raw, node = value.read()
        if raw.dtype == want:
            return wrap(raw, node)
        return STYLE.astype(wrap(raw, node), want)
    if type(value) in (int, float, bool, complex):
        if type(value) is complex and want.kind != "c":
            raise RuntimeError("value cannot be converted to type float without overflow")
        return wrap(np.array(value).astype(want)[()])
    if isinstance(value, str | bytes):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{SCALAR_TYPES[dtype_of(want)]}Tensor")
    return wrap(np.asarray(value).astype(want))


def _in_index(index: Any) -> bool:
    """Whether an index holds anything but NumPy's arrays and what Python has."""
    return any(hasattr(k, "shape") and not isinstance(k, np.ndarray) for k in (index if type(index) is tuple else (index,)))
