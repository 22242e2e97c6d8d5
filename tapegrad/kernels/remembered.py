"""Results of functions of shapes, which are asked for again at every step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


def remembered(function: _Function) -> _Function:
    """The function, which for arguments that it had before gives what it gave then; these are numbers, texts and tuples.

    Of others, such as lengths that only a compiled graph knows, it is computed.  What is equal is taken for the same: 2.0 for 2.
    """
    known = functools.lru_cache(512)(function)

    @functools.wraps(function)
    def call(*args: Any, **words: Any) -> Any:
        try:
            return known(*args, **words)
        except TypeError:
            return function(*args, **words)

    return cast(_Function, call)
