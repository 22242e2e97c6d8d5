"""Writing into tensors: a new value is computed by recorded ops, and the tensor's memory, history and version follow.

Where nothing else uses the memory of a tensor, it just takes over the memory of the new value; otherwise the values are
copied to where all can see them.  A graph that has saved the old values raises when it is swept, as PyTorch's does.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.node import tick
from tapegrad.core.recorder import EMPTY, refcount, state
from tapegrad.kernels.batched import Batched
from tapegrad.registry.rules import Variant
from tapegrad.torch import _devices
from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._promotion import _CATEGORY
from tapegrad.torch._recorder import OWNERS, is_enabled, is_leaf_node, own, switch
from tapegrad.torch._stale import spoil
from tapegrad.torch._storage import KEPT_HERE_ALONE, WRITTEN, Storage, moved, owner, replaced, superseded, wrote
from tapegrad.torch._tensor import OF_NUMPY, STYLE, WITHOUT_DEVICE, Tensor, beside, wrap
from tapegrad.torch._views import View, note_put, put_back, store_of, view_of
from tapegrad.torch._watching import bare, is_held
from tapegrad.torch._write_checks import check, check_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def in_place(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The method that computes `function(self, ...)` and leaves the result in `self`."""

    overwrites = (name or f"{function.__name__}_") in _OVERWRITES
    constant = overwrites and name != "copy_"

    if overwrites:

        @functools.wraps(function)
        def method(self: Any, *args: Any, **words: Any) -> Any:
            return update(self, function, *args, overwriting=True, constant=constant, **words)

    else:

        @functools.wraps(function)
        def method(self: Any, *args: Any, **words: Any) -> Any:
            return _updated(self, function, args, words)

    method.__name__ = method.__qualname__ = name or f"{function.__name__}_"
    return method


#: What leaves nothing of the old values.
_OVERWRITES = frozenset(["copy_", "fill_", "zero_"])


def update(x: Any, function: Callable[..., Any], *args: Any, overwriting: bool = False, constant: bool = False, **words: Any) -> Any:
    """Let `x` have the value of `function(x, *args, **words)`; `overwriting`, if that does not depend on the old one.

    A write through `.data` is not heard of by graphs that have saved the values, as in PyTorch, where it changes them: an
    update of parameters between two sweeps.  Overwritten values are another matter: no gradient at them can be meant.
    """
    return _updated(x, function, args, words, overwriting, constant)


def _updated(
    x: Any, function: Callable[..., Any], args: tuple[Any, ...], words: dict[str, Any], overwriting: bool = False, constant: bool = False
) -> Any:
    plain = type(x.array) is np.ndarray
    info = getattr(x, "_view", None)
    unrecorded = plain and info is None and _is_unrecorded(x)
    usual = plain and not unrecorded and _is_made_here(x, info)
    if not usual and not unrecorded:
        check(x, constant=constant)
    before = tick()
    given = x
    if plain and state.active is not EMPTY and _is_shared(x):
        given = wrap(x.array.copy(), x.node)  # what the op saves of it has to survive the write
    if info is not None and given.node is not None and is_held(given.node, info.base.node):
        given = wrap(given.array, bare(given.node, info.base.node))
    y = function(given, *args, **words)
    made = y.array
    if not plain or type(made) is not np.ndarray or made.dtype is not x.array.dtype or made.shape != x.array.shape:
        y = fitting(x, y)
    elif (y.node is None if unrecorded else usual and not overwriting and y.node is not None) and (
        _is_handed_over(x, y, made, before) if info is None else _is_put_back(x, y, made, info)
    ):
        return x
    del made
    if (overwriting or y.node is None) and _is_known(x.node):
        y = STYLE.put(wrap(x.array, given.node), y, ...)  # it stays in the graph, with a gradient of zero
    commit(x, y, before, counted=overwriting or not _is_apart(x))
    return x


def _is_made_here(x: Any, info: View | None) -> bool:
    """Whether a tensor, and what it is a view of, were made by recorded ops of PyTorch's style alone: nothing is to be refused."""
    if type(x) is not Tensor:
        return False
    node = x.node
    if (
        node is None
        or state.active is not OWNERS
        or node.owners is not OWNERS
        or is_leaf_node(node)
        or 0 in x.array.strides
    ):
        return False
    if info is None:
        return True
    base = info.base.node
    return not (
        info.cut or info.untracked or info.several or info.custom or base is None or base.owners is not OWNERS or is_leaf_node(base)
    )


def _is_unrecorded(x: Any) -> bool:
    """Whether a tensor that is no view has no history, or is a leaf while nobody records: nothing is to be refused."""
    if type(x) is not Tensor or 0 in x.array.strides:
        return False
    node = x.node
    return node is None or (state.active is EMPTY and node.owners is OWNERS and node.p is None and is_leaf_node(node))


def _is_handed_over(x: Any, y: Any, made: Any, before: int) -> bool:
    """What `commit` does where a tensor just takes over a new array, in the usual case alone: whether it was that."""
    node = y.node
    store = getattr(x, "_store", None)
    if store is None:
        store = x._store = Storage()
    if (
        store.shared
        or made.base is not None
        or x.array.base is not None
        or made is x.array
        or id(x.array) in WRITTEN
        or refcount(x.array) > (_ONLY_HERE - 1 if node is None else _ONLY_HERE - 1 + (node.s is x.array) + (node.t is x.array))
    ):
        return False
    x.array = made
    if node is not None:
        node.held = None  # `x` among them would refer to itself
        x.node = node
    if store.seqs:
        store.count(before)
    else:
        store.version += 1
    return True


def _is_put_back(x: Any, y: Any, made: Any, info: View) -> bool:
    """What `commit` does for what one index shows of a tensor that is no view, in the usual case alone: whether it was that."""
    base, node, steps = info.base, y.node, info.steps
    index = getattr(steps[0][1], "index", None)
    if (
        len(steps) != 1
        or index is None
        or base.node.op.name in _MAY_BE_KEPT
        or getattr(base, "_view", None) is not None
    ):
        return False
    raw, store, number = x.array, x._store, tick()
    if node.s is made or node.t is made or type(node.s) is tuple:
        _keep_output(node, made, raw)
    base.node = note_put(base, y, index)
    np.copyto(raw, made)
    wrote(store, raw, number=number)
    spoil(store, None)
    return True


def _is_apart(x: Any) -> bool:
    store = getattr(x, "_store", None)
    return store is not None and store.apart


def fitting(x: Any, y: Any) -> Any:
    """A result in the dtype of `x`; refused where shape or category differ."""
    if y.array.shape != x.array.shape:
        raise RuntimeError(
            f"output with shape {list(x.array.shape)} doesn't match the broadcast shape {list(y.array.shape)}"
        )
    if type(x.array) not in WITHOUT_DEVICE and _devices.several():
        y = _devices.moved(y, _devices.device_of(x.array))
    if type(y.array) is not type(x.array):
        y.array = beside(y.array, x.array)
    have, want = y.array.dtype, x.array.dtype
    if have == want:
        return y
    if _CATEGORY[have.kind] > _CATEGORY[want.kind]:
        a, b = SCALAR_TYPES[dtype_of(have)], SCALAR_TYPES[dtype_of(want)]
        raise RuntimeError(f"result type {a} can't be cast to the desired output type {b}")
    return STYLE.astype(y, want)


def _is_shared(x: Any) -> bool:
    """Whether a write has to go to the memory that a tensor has now."""
    store = getattr(x, "_store", None)
    return store is not None and store.shared


def commit(x: Any, y: Any, before: int, *, counted: bool = True) -> None:
    """Let `x` be what `y` is, whose value was computed since the sequence number `before`."""
    store = store_of(x)
    raw, made = x.array, y.array
    if type(made) is Batched:
        refuse_batch(x, made)
    info = view_of(x)
    if info is not None and not info.cut:
        _commit_view(x, y, info, store, counted)
        return
    history = y.node is not None
    if info is not None and history and info.is_barred and is_enabled():
        check_view(x, info, own(x.node), own(y.node))
    if history:
        y.node.held = None  # `x` among them would refer to itself
    if type(raw) is np.ndarray and type(made) in OF_NUMPY and _is_shared(x):
        protect(x, raw)
        np.copyto(raw, made)
        wrote(store, raw, counted=counted)
        if y.node is not None:
            _keep_output(y.node, made, raw)
    elif (
        type(raw) is type(made) is np.ndarray
        and raw.base is made.base is None
        and refcount(raw) <= (_ONLY_HERE + (y.node.s is raw) + (y.node.t is raw) if history else _ONLY_HERE)
        and id(raw) not in WRITTEN
        and made is not raw
    ):  # no graph can have saved it but this op's node, and that may
        x.array = made
        if store.seqs:
            store.count(before)
        else:
            store.version += 1
    else:
        _take_over(x, raw, made, before, store, counted)
    if history or not _is_ours(x.node):
        x.node = y.node
    moved_on = type(raw) not in OF_NUMPY or type(made) not in OF_NUMPY
    if info is not None and moved_on:
        _pass_down(info.base, _as_in_base(info, made), x)
    if store.fresh:
        spoil(store, x, moved=moved_on)


def refuse_batch(x: Any, made: Any) -> None:
    """Refuse to write what differs from item to item of a batch into a tensor that is the same for all: it would outlive the batch."""
    known = set(_batches(x.array))
    if not known.issuperset(_batches(made)):
        raise RuntimeError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
            "more elements than `self`: `other` is vmapped over, and has a value for each item, while `self`, of shape "
            f"{list(x.array.shape)}, is not. Use an out-of-place operator, or make `self` of what is vmapped over, as by "
            "torch.zeros_like(other)."
        )


def _batches(raw: Any) -> Iterator[Any]:
    """The batches for each item of which an array has a value."""
    while type(raw) is Batched:
        yield raw.level
        raw = raw.value


#: What `refcount` says in `commit` of an array that only the tensor and the function there refer to.
_ONLY_HERE = 3


def _is_known(node: Any) -> bool:
    """Whether somebody who records now knows a value."""
    return node is not None and not node.owners.recorders.isdisjoint(state.active.recorders)


def _is_ours(node: Any) -> bool:
    return node is not None and own(node) is not None


def _pass_down(x: Any, made: Any, but: Any) -> None:
    """On arrays that cannot be written to: what an alias was given is the value of the tensor that it shares memory with."""
    info = view_of(x)
    store = store_of(x)
    if info is not None and not info.cut:
        x.array = made
        _pass_down(info.base, _as_in_base(info, made), but)
        return
    x.array = made
    if info is not None:
        _pass_down(info.base, _as_in_base(info, made), but)
    if store.fresh:
        spoil(store, but, moved=True, silent=_is_apart(but))


def _as_in_base(info: View, made: Any) -> Any:
    """What a base is once what is seen of it by some steps has other values."""
    if not info.steps:
        return made
    was = switch(False)
    try:
        return put_back(info, wrap(made)).array
    finally:
        switch(was)


def _take_over(x: Any, raw: Any, made: Any, before: int, store: Storage, counted: bool) -> None:
    """Nobody else uses the memory of `x`: it gets that of the new value."""
    if type(made) is np.ndarray and (made.base is not None or made is raw):
        made = made.copy(order="K" if type(raw) is np.ndarray and made.strides == raw.strides else "C")
    x.array = made
    if type(raw) is not np.ndarray:
        if x.node is not None and counted:
            replaced(store, raw, before)
        else:
            store.version += 1
            if not counted:
                superseded(raw, made)
        return
    if not counted:
        store.version += 1
        return
    moved(store, raw, before)


def _keep_output(node: Any, made: Any, raw: Any) -> None:
    """An op that saves its output has saved what is now in `raw`: writes to come are noticed there."""
    if "y" in KEPT_HERE_ALONE.get(node.op.name, ()):
        return
    found = False
    for field in ("s", "t"):
        value = getattr(node, field)
        if value is made:
            setattr(node, field, raw)
            found = True
        elif type(value) is tuple and any(v is made for v in value):
            setattr(node, field, tuple(raw if v is made else v for v in value))
            found = True
    if found:
        node.seq = tick()


#: Ops that may give an array on the memory of another's output.
_SHARING = frozenset(["pick", "reshape", "permute_dims", "expand_dims", "squeeze"])
_MAY_BE_KEPT = _SHARING | KEPT_HERE_ALONE.keys()


def protect(x: Any, raw: Any) -> None:
    """Before memory is overwritten: what the node that made its values keeps of them, and PyTorch's would not, is copied."""
    info = view_of(x)
    while info is not None:
        x = info.base
        info = view_of(x)
    node = x.node
    while node is not None and node.op.name in _SHARING:  # its values may be in the memory of what it was made from
        node = node.p
    if node is None or node.op.name not in KEPT_HERE_ALONE or type(node.op) is not Variant:
        return
    memory = owner(raw)
    log = WRITTEN.get(id(memory))
    if log is not None and log.hard > node.seq:
        return  # it is too late
    for field in ("s", "t"):
        value = getattr(node, field)
        if type(value) in (np.ndarray, tuple):
            setattr(node, field, _elsewhere(value, memory))


def _elsewhere(value: Any, memory: Any) -> Any:
    """A saved value, or several, with copies of those that are in this memory."""
    if type(value) is tuple:
        return tuple(_elsewhere(v, memory) for v in value)
    return value.copy() if type(value) is np.ndarray and owner(value) is memory else value


def _commit_view(x: Any, y: Any, info: View, store: Storage, counted: bool) -> None:
    if (info.several or info.custom or info.untracked) and y.node is not None and is_enabled():
        check_view(x, info, own(x.node), own(y.node))
    base = info.base
    raw, made = x.array, y.array
    node = y.node
    history = node is not None or _is_known(base.node)
    number = tick()
    if type(raw) is np.ndarray and (type(made) is np.ndarray or type(made) in OF_NUMPY):
        if node is not None and (node.s is made or node.t is made or type(node.s) is tuple):
            _keep_output(node, made, raw)
        above = _put_back_in_place(info, y) if history else None
        made_by = base.node
        if view_of(base) is not None or (made_by is not None and made_by.op.name in _MAY_BE_KEPT):
            protect(x, raw)
        np.copyto(raw, made)
        wrote(store, raw, counted=counted, number=number)
        if history:
            base.node = above
    else:
        whole = put_back(info, y)
        x.array = made
        base.array = whole.array
        below = view_of(base)
        if below is not None:
            _pass_down(below.base, whole.array, x)
        wrote(store, raw)
        if history:
            base.node = whole.node
    spoil(store, None, moved=type(base.array) is not np.ndarray)


def _put_back_in_place(info: View, y: Any) -> Any:
    """The node of a base whose memory is about to be written to through a view."""
    if len(info.steps) == 1:
        index = getattr(info.steps[0][1], "index", None)
        if index is not None:
            return note_put(info.base, y, index)
    return put_back(info, y).node


def add_into(x: Any, raw: Any) -> None:
    """Add to a tensor without history, as gradients are accumulated."""
    have = x.array
    if type(have) is np.ndarray:
        if not have.flags.writeable:
            have = x.array = have.copy()
        np.add(have, raw, out=have, casting="unsafe")
        wrote(store_of(x), have)
    else:
        x.array = (have + raw).astype(have.dtype)
        store_of(x).version += 1
    store = x._store
    if store.fresh:
        spoil(store, x)


def rewrite(x: Any, node: Any) -> None:
    """Give a tensor, whose memory was written to by other means, the node that made its present value."""
    info = view_of(x)
    store = store_of(x)
    if info is not None and not info.cut:
        whole = put_back(info, wrap(x.array, node))
        info.base.node = whole.node
        spoil(store, None)
        return
    x.node = node
    if store.fresh:
        spoil(store, x)
