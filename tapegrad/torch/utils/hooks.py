"""What registering a hook gives: a handle that takes it away again."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook away by `remove()`, or at the end of a `with` block."""

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self._tables = [_reference(table) for table in (hooks_dict, *extra)]

    def remove(self) -> None:
        """Take the hook away, if it is still there."""
        for table in self._tables:
            hooks = table()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _reference(table: Any) -> Any:
    """A weak reference where the dictionary's class has them; a plain dictionary has none."""
    try:
        return weakref.ref(table)
    except TypeError:
        return lambda: table
