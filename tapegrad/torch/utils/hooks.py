"""What registering a hook gives: a handle that takes it away again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook away by `remove()`, or at the end of a `with` block."""

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref = _reference(hooks_dict)
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(_reference(table) for table in extra)

    def remove(self) -> None:
        """Take the hook away, if it is still there."""
        for table in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = table()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.id, self.hooks_dict_ref(), tuple(table() for table in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.id, hooks, extra = state
        self.hooks_dict_ref = _reference(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(_reference(OrderedDict() if table is None else table) for table in extra)
        while next(_ids) <= self.id:  # a handle that is made later has another number
            pass


def unserializable_hook(f: Any) -> Any:
    """Mark a hook of a tensor as one that a pickle of the tensor may leave out without a warning."""
    f.__torch_unserializable__ = True
    return f


def _reference(table: Any) -> Any:
    """A weak reference where the dictionary's class has them; a plain dictionary has none."""
    try:
        return weakref.ref(table)
    except TypeError:
        return lambda: table
