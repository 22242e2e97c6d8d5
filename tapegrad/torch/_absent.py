"""What stands for a device that is not there."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing, where there is nothing to do without a device."""
    return None


class NoDevice(contextlib.ContextDecorator):
    """The context of a device that is not there, which changes nothing; around a block, or as a decorator."""

    def __init__(self, device: Any = None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def part(package: str, name: str, doc: str, **members: Any) -> Any:
    """A module of a package, made of these members: flags that scripts set, and answers.  Other parts may be below it."""
    made = types.ModuleType(f"{package}.{name}", doc)
    made.__path__ = []
    vars(made).update(members)
    sys.modules[made.__name__] = made
    return made
