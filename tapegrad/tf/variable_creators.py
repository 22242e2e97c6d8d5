"""`tf.variable_creator_scope`: functions that are asked before a variable is made, and may change how."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from typing import TYPE_CHECKING, Any

from tapegrad.tf.export import export

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Creators(threading.local):
    """The creators of this thread; the last one is asked first."""

    def __init__(self) -> None:
        self.stack: list[Callable[..., Any]] = []


_CREATORS = _Creators()


class Created(type):
    """The class of `tf.Variable`: to call it asks the creators, where there are any."""

    def __call__(cls, *args: Any, **words: Any) -> Any:
        make = super().__call__
        if not _CREATORS.stack:
            return make(*args, **words)
        bound = inspect.signature(type.__getattribute__(cls, "__init__")).bind(None, *args, **words)
        bound.apply_defaults()
        arguments = dict(list(bound.arguments.items())[1:])  # without `self`
        for creator in _CREATORS.stack:
            make = functools.partial(creator, make)
        return make(**arguments)


@export("variable_creator_scope")
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Inside, `tf.Variable(...)` calls `variable_creator(next_creator, **arguments)`, which gives the variable.

    >>> import tapegrad.tf as tf
    >>> def frozen(next_creator, **arguments):
    ...     return next_creator(**(arguments | {"trainable": False}))
    >>> with tf.variable_creator_scope(frozen):
    ...     v = tf.Variable(1.5)
    >>> v.trainable
    False
    """
    if not callable(variable_creator):
        raise TypeError(f"variable_creator_scope: expected a function of next_creator and keywords, got {variable_creator!r}")
    _CREATORS.stack.append(variable_creator)
    try:
        yield
    finally:
        _CREATORS.stack.pop()
