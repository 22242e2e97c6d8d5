"""`torch.save` and `torch.load`, of which the module is imported at their first use."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._functions._build import function


@function
def save(obj: Any, f: Any, *args: Any, **words: Any) -> None:
    """Write an object to a path or a binary file; see `torch.serialization.save`."""
    from tapegrad.torch import serialization

    serialization.save(obj, f, *args, **words)


@function
def load(f: Any, *args: Any, **words: Any) -> Any:
    """The object in a file of `torch.save`; see `torch.serialization.load`."""
    from tapegrad.torch import serialization

    return serialization.load(f, *args, **words)
