"""Stale views: those whose base was written to since they were last read.  Reading one makes it anew from its base.

Of some nobody knows how: one of several that an op gave, what a `Function` gave of its input, what was taken in `no_grad`.
Those have the values that their base has, and whoever asks for their history is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.node import WATCH, make_node
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.registry.op import OPS, spec_of
from tapegrad.registry.rules import variant_for
from tapegrad.torch._node_names import tag, tagged
from tapegrad.torch._recorder import OWNERS, is_enabled, switch
from tapegrad.torch._storage import Storage, owner
from tapegrad.torch._tensor import Tensor, settle_class, wrap
from tapegrad.torch._views import NODE, View
from tapegrad.torch._write_checks import refuse_view


def spoil(store: Storage, but: Any, *, moved: bool = False, silent: bool = False) -> None:
    """Make views stale after a write to the memory that they share, `but` for one that was written to and is no view by itself.

    A view that was written to is stale too: from now on it is made from the base as that is now, which is where its gradient
    goes.  So is one of a base with a history that got no new part, as nobody recorded the write: hooks belong to the value that
    they were given with.  `moved`, if the values are somewhere else; `silent`, if that is all, and no graph hears of it.
    """
    kept = []
    for ref in store.fresh:
        t = ref()
        if t is None:
            continue
        info = t._view
        if (t is but and not info.is_barred) or (
            type(t.array) is np.ndarray and not moved and ((info.cut and not info.is_barred) or not _is_known(info.base))
        ):
            kept.append(ref)
        elif silent and not info.cut:
            renew_values(t)
            kept.append(ref)
        else:
            t.__class__ = STALE_AS.get(type(t), Stale)
    store.fresh = kept


def is_computed(node: Any) -> bool:
    """Whether a node is there that is not a leaf's: a view of a constant can be a leaf by itself."""
    return node is not None and node.op is not WATCH


def is_barred(x: Any) -> bool:
    """Whether a stale view cannot be made again from its base."""
    info = x._view
    return info.is_barred and _is_known(info.base)


def _is_known(base: Any) -> bool:
    """Whether what there are views of has a history."""
    return (isinstance(base, Stale) and is_barred(base)) or base.node is not None


def regenerate(x: Any) -> None:
    """Let a stale view be what its base says."""
    info = x._view
    if is_barred(x):
        if is_enabled():
            refuse_view(x, info, of_base=True)
        renew_values(x)
        return
    x.__class__ = Tensor
    settle_class(x)
    if info.cut:
        x.array = info.base.array
        if info.steps:  # it was given another shape
            renew_values(x)
    elif not _shown_anew(x, info):
        t = wrap(info.base.array, info.base.node)
        was = switch(not info.untracked)
        try:
            for run, _ in info.steps:
                t = run(t)
        finally:
            switch(was)
        if type(x.array) is not np.ndarray or type(t.array) is not np.ndarray or owner(t.array) is not owner(x.array):
            x.array = t.array
        if not info.untracked and (t.node is not None or is_computed(x.node)):
            x.node = t.node
            if t.node is not None and t.node is not info.base.node:
                tag(t.node, "AsStrided0").shown = (info.base.node,)
    x.like = None
    x._store.join(x)


def _shown_anew(x: Any, info: View) -> bool:
    """What making a view again comes to for what one index shows of memory that is still the same, in the usual case: whether it was."""
    index = getattr(info.steps[0][1], "index", None)
    base, raw = info.base, x.array
    whole, above = base.array, base.node
    if (
        index is None
        or len(info.steps) != 1
        or info.untracked
        or above is None
        or above.owners is not OWNERS
        or type(raw) is not np.ndarray
        or type(whole) is not np.ndarray
        or owner(raw) is not owner(whole)
    ):
        return False
    x.node = make_node(_SHOWN_ANEW, above, None, spec_of(whole), index, OWNERS)
    return True


#: The recorded form of an index that shows what was written to.
_SHOWN_ANEW = tagged(variant_for(OPS["getitem"], (0,), False)[1], "AsStrided0")


def renew_values(x: Any) -> None:
    """Let a stale view have the values that its base has now; it stays stale."""
    info = x._view
    raw, whole = _ARRAY.__get__(x), info.base.array
    if type(raw) is np.ndarray and type(whole) is np.ndarray and owner(raw) is owner(whole):
        return
    was = switch(False)
    try:
        t = wrap(whole)
        for run, _ in info.steps:
            t = run(t)
    finally:
        switch(was)
    _ARRAY.__set__(x, t.array)


#: What a view of a class of a program's becomes, by that class.
STALE_AS: dict[type, type] = {}


class Stale(Tensor):
    """A view whose base was written to since it was last read."""

    __slots__ = ()

    def read(self) -> tuple[Any, Any]:
        if state.active is EMPTY:  # nobody asks for a history
            renew_values(self)
            return _ARRAY.__get__(self), None
        regenerate(self)
        return self.array, self.node

    def _get_array(self) -> Any:
        if is_barred(self):
            renew_values(self)
            return _ARRAY.__get__(self)
        regenerate(self)
        return self.array

    def _set_array(self, value: Any) -> None:
        _ARRAY.__set__(self, value)

    def _get_node(self) -> Any:
        regenerate(self)
        return NODE.__get__(self)

    def _set_node(self, value: Any) -> None:
        regenerate(self)
        NODE.__set__(self, value)

    def _get_like(self) -> None:
        return None

    def _set_like(self, value: Any) -> None:
        _LIKE.__set__(self, value)


_ARRAY: Any = Core.array
_LIKE: Any = Core.like
Stale.array = property(Stale._get_array, Stale._set_array)
Stale.node = property(Stale._get_node, Stale._set_node)  # type: ignore[assignment]
Stale.like = property(Stale._get_like, Stale._set_like)
Stale.__name__ = Stale.__qualname__ = "Tensor"
