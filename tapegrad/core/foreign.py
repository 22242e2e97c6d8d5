"""Arrays of other libraries, by their type: what they stand for here, and who records what those libraries compute of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: What gives the tensor that an array stands for, or the array if it stands for none now.
STANDING: dict[type, Callable[[Any], Any]] = {}
#: What has an array recorded for a recorder from now on.
WATCHING: dict[type, Callable[[Any, Any], None]] = {}
#: Called with a type of arrays as it is met for the first time.
MET: list[Callable[[type], None]] = []
