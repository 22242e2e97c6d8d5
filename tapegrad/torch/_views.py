"""Views: tensors on another's memory, which see what is written there, and give what is written into them back.

A view keeps its base and the steps by which it comes from it.  A write makes the views of one base stale: their class is
swapped, so that the next to read one regenerates it.  Nothing is asked of a tensor that is not stale.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.node import make_node
from tapegrad.core.recorder import state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.registry.call import owned
from tapegrad.registry.op import OPS, spec_of
from tapegrad.registry.rules import variant_for
from tapegrad.torch._modes import INFERENCE
from tapegrad.torch._node_names import tag
from tapegrad.torch._recorder import OWNERS, is_enabled, switch
from tapegrad.torch._storage import Storage, owner
from tapegrad.torch._tensor import ORDINARY, STYLE, Tensor, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    #: From a parent to its view, by recorded ops; and from a parent and a new value of the view to the new parent.
    Step = tuple[Callable[[Any], Any], Callable[[Any, Any], Any] | None]


@final
class View:
    """How a view comes from its base.

    `cut`: it shares memory alone, not history.  `untracked`: the mode that it was taken in, where nothing was recorded, or
    that with "above", if it is a view of one that was.  `several`: the name of an op that gave it along with others, and its
    number among them.  `custom`: that of the `Function` whose one output it is.
    """

    __slots__ = ("base", "custom", "cut", "several", "steps", "untracked")

    def __init__(self, base: Any, steps: tuple[Step, ...], cut: bool, several: tuple[str, int] | None) -> None:
        self.base = base
        self.steps = steps
        self.cut = cut
        self.untracked = "" if state.active is OWNERS or is_enabled() else "inference_mode" if INFERENCE.on else "no_grad"
        self.several = several
        self.custom: str | None = None

    @property
    def is_barred(self) -> bool:
        """Whether it cannot follow its base, once there was a write, by the steps that it was taken by."""
        return bool(self.several or self.custom or (self.untracked and not self.cut))


def store_of(x: Any) -> Storage:
    """What a tensor shares with its views."""
    found: Storage | None = getattr(x, "_store", None)
    if found is None:
        found = x._store = Storage()
    return found


def view_of(x: Any) -> View | None:
    """How a tensor comes from its base, if it is a view."""
    return getattr(x, "_view", None)  # an exception would take 1 us


def is_of_base(x: Any) -> bool:
    """Whether a tensor is a view that has its history from a base."""
    info = getattr(x, "_view", None)
    return info is not None and not info.cut


def give_memory(x: Any) -> None:
    """Let a 0-d tensor have memory that it can share: until now its value may be a number of NumPy's."""
    if isinstance(x.array, np.generic):
        x.array = np.array(x.array)


def take(
    x: Any,
    run: Callable[[Any], Any],
    back: Callable[[Any, Any], Any] | None = None,
    *,
    several: tuple[str, int] | None = None,
    name: str | None = None,
) -> Any:
    """The view `run(x)`; a plain result where the values had to be copied.  `name` is what PyTorch calls its node."""
    raw = x.array
    if type(raw) is not np.ndarray and isinstance(raw, np.generic):
        give_memory(x)
        raw = x.array
    y = run(x if type(x) is Tensor else wrap(raw, x.node))  # other classes may be read as a copy
    if name is not None and y.node is not None:
        tag(y.node, name)
    made = y.array
    if type(raw) is np.ndarray:
        if made is raw:
            y.array = raw.view()
        elif type(made) is not np.ndarray:
            return y
        else:
            base = made.base  # NumPy's views mostly have the owner itself there
            if base is None or (base is not raw and base is not raw.base and owner(made) is not owner(raw)):
                return y
    return join(x, y, (run, back), several)


def join(x: Any, y: Any, step: Step, several: tuple[str, int] | None) -> Any:
    """`y`, which lies in the memory of `x`, as the view of it that a step gives."""
    store = getattr(x, "_store", None)
    if store is None:
        store = x._store = Storage()
    store.shared = True
    above = getattr(x, "_view", None)
    if above is None or above.cut:
        y._view = View(x, (step,), False, several)
        if above is not None and above.is_barred:
            y._view.custom = above.custom
            y._view.several = several or (above.several and (above.several[0], 0))
    else:
        y._view = View(above.base, (*above.steps, step), False, several or (above.several and (above.several[0], 0)))
        y._view.custom = above.custom
        if above.untracked and not y._view.untracked:
            y._view.untracked = above.untracked.split()[0] + " above"
    y._store = store
    kind = type(x)
    if kind not in ORDINARY:
        y.__class__ = kind
    elif type(y) is not Tensor:  # made in inference mode, where a view of an ordinary tensor is one too
        y.__class__ = Tensor
    fresh = store.fresh
    if len(fresh) < store.size:
        fresh.append(weakref.ref(y))
    else:
        store.join(y)
    return y


def laid_out(x: Any) -> Any:
    """An array with the shape and the steps of a tensor; of one that cannot be written to, without its values."""
    raw = x.array
    if isinstance(raw, np.ndarray | np.generic):
        return np.asarray(raw)
    info = view_of(x)
    if info is None:
        return np.empty(raw.shape, raw.dtype)
    found = laid_out(info.base)
    return found if info.cut else stepped(info, found)


def stepped(info: Any, raw: Any) -> Any:
    """What the steps of a view make of an array in the place of its base."""
    t = wrap(raw)
    was = switch(False)
    try:
        for run, _ in info.steps:
            t = run(t)
    finally:
        switch(was)
    return np.asarray(t.array)


def laid_anew(x: Any) -> bool:
    """Whether the memory of a tensor could be laid out in the usual order, as nobody can tell.

    Ops leave their results in the order in which they were computed (convolutions with the channels, or the items, last), where
    PyTorch's are in the usual one, so that programs take views of them.  What a program has transposed or sliced stays as it is.
    """
    base, info = x, view_of(x)
    while info is not None:
        if not info.cut:
            return False
        base = info.base
        info = view_of(base)
    raw, group, stores = base.array, [base], []
    for t in group:  # it grows: who shares the memory, and who shares theirs
        store = getattr(t, "_store", None)
        if store is None or store in stores:
            continue
        if store.exposed is not None:
            return False
        stores.append(store)
        group += [other for r in store.fresh if (other := r()) is not None and other is not base]
    place = raw.__array_interface__["data"][0], raw.shape, raw.strides
    for t in group:
        mine = t.array
        if type(mine) is not np.ndarray or (mine.__array_interface__["data"][0], mine.shape, mine.strides) != place:
            return False
    made = np.ascontiguousarray(raw)
    for t in group:
        t.array = made
    return True


def alias(x: Any, *, apart: bool = False) -> Any:
    """A tensor on the same memory that is no part of the graph; `apart`, with a version of its own."""
    give_memory(x)
    y = wrap(x.array)
    store = store_of(x)
    store.shared = True
    if apart:
        y._store = own = Storage()
        own.shared = own.apart = True
        own.exposed = store.exposed
    else:
        y._store = store
    y._view = View(x, (), True, None)
    if type(x) not in ORDINARY:
        y.__class__ = type(x)
    store.join(y)
    return y


NODE: Any = Core.node


def node_before(x: Any) -> Any:
    """The node that a tensor had before what it is a view of was written to, if it has not been read since."""
    return NODE.__get__(x)


def put_back(info: View, new: Any) -> Any:
    """The base with the elements that a view shows replaced, by recorded ops."""
    parents = [wrap(info.base.array, info.base.node)]
    for run, _ in info.steps[:-1]:
        parents.append(run(parents[-1]))
        if _bytes_of(parents[-1].array) > _bytes_of(parents[-2].array):
            return _put_where_repeated(info, parents[0], new)
    for parent, (run, back) in zip(reversed(parents), reversed(info.steps), strict=True):
        new = back(parent, new) if back is not None else _put_anywhere(parent, run, new)
    if new.node is not None and new.node.op.name != "put":  # a view of all elements: nothing of the base is left
        tag(new.node, "=torch::autograd::CopySlices")
    return new


def _bytes_of(raw: Any) -> int:
    return math.prod(raw.shape) * int(raw.dtype.itemsize)


def _put_where_repeated(info: View, base: Any, new: Any) -> Any:
    """The same for a view of what shows elements several times: the others that show what was written are not to undo it."""

    def run(t: Any) -> Any:
        for step, _ in info.steps:
            t = step(t)
        return t

    new = _put_anywhere(base, run, new)
    if new.node is not None:
        tag(new.node, "=torch::autograd::CopySlices")
    return new


def putter(index: Any) -> Callable[[Any, Any], Any]:
    """How what a basic index picks is put back."""

    def back(parent: Any, new: Any) -> Any:
        return STYLE.put(parent, new, index)

    back.index = index  # type: ignore[attr-defined]
    return back


_PUT = OPS["put"]


def note_put(x: Any, value: Any, index: Any) -> Any:
    """The node of `put(x, value, index)`, whose value is already in memory, or is about to be: nothing is copied."""
    p, q = x.node, value.node
    owners: Any = state.active
    if p is None or q is None or p.owners is not owners or q.owners is not owners:
        owners, p, q = owned(owners, p, q)
        if owners is None:
            return None
    found = _PUTS.get((p is None, q is None))
    if found is None:
        watched = tuple(i for i, n in ((0, p), (1, q)) if n is not None)
        _, variant = variant_for(_PUT, watched, False)
        found = _PUTS[p is None, q is None] = variant, variant.saved
    variant, names = found
    if names == _WHOLE:
        whole = p.s[1] if p.op is variant else spec_of(x.array)  # of a tensor that was written to just before
        return make_node(variant, p, q, (index, whole, spec_of(value.array)), None, owners)
    saved = tuple([index if n == "index" else spec_of((x if n == "x.spec" else value).array) for n in names])
    s, t = (saved, None) if len(saved) > 2 else (*saved, None, None)[:2]
    return make_node(variant, p if p is not None else q, q if p is not None else None, s, t, owners)


_WHOLE = ("index", "x.spec", "value.spec")
#: The recorded forms of `put`, by which of base and value are not watched, and what each saves.
_PUTS: dict[tuple[bool, bool], tuple[Any, tuple[str, ...]]] = {}


def _put_anywhere(parent: Any, run: Callable[[Any], Any], new: Any) -> Any:
    """The same for any view: where its elements are is found by taking the view of their numbers."""
    shape = parent.array.shape
    size = int(np.prod(shape))
    numbers = np.arange(size).reshape(shape)
    if type(parent.array) is np.ndarray and not parent.array.flags.c_contiguous:
        order = np.argsort(parent.array.strides, kind="stable")[::-1]  # a view by strides is taken of the memory as that is laid out
        numbers = np.ascontiguousarray(numbers.transpose(order)).transpose(np.argsort(order))
    where = np.asarray(run(wrap(numbers)).array).reshape(-1)
    flat = STYLE.put(STYLE.reshape(parent, (size,)), STYLE.reshape(new, (where.size,)), where)
    return STYLE.reshape(flat, shape)
