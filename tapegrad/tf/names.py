"""Name scopes: what stands before the names of variables."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any


class _State(threading.local):
    """The scopes that are open in this thread."""

    def __init__(self) -> None:
        self.stack: list[str] = []


_state = _State()


class name_scope:
    """A context in which names of variables begin with this one; `scope_name` gives the whole."""

    def __init__(self, name: str | None) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def __enter__(self) -> str:
        outer = _state.stack[-1] if _state.stack else ""
        scope = self._name if self._name.endswith("/") else outer + self._name + "/" if self._name else ""
        _state.stack.append(scope)
        return scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _state.stack.pop()

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            with name_scope(self._name):
                return function(*args, **words)

        return wrapped


def scoped(name: str) -> str:
    """A name in the scopes that are open."""
    return (_state.stack[-1] if _state.stack else "") + name
