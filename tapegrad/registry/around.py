"""What a kernel set puts around rules and bodies that compute with its arrays, and make others beside them.

A rule may make zeros out of nothing; where a kernel set has several devices, they are to be on that of its cotangent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.registry.op import OPS

if TYPE_CHECKING:
    from collections.abc import Callable

#: Functions that give another one with something around it.
AROUND: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []


def surrounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with what stands around it."""
    for around in AROUND:
        function = around(function)
    return function


def surround(around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put this around rules and the bodies of composites, those that have been compiled already too."""
    AROUND.append(around)
    for op in OPS.values():
        for _, variant in op.variants.values():
            variant.forget()
        scope = getattr(op.entry, "__globals__", {})
        if op.kind == "composite" and "BODY" in scope:
            scope["BODY"] = surrounded(op.body)
