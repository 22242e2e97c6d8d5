"""`torch.fx`: what libraries ask of it that make no graphs; functions run as they stand."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["wrap"]


def wrap(fn_or_name: Any) -> Any:
    """The function itself: nobody traces."""
    return fn_or_name


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'tapegrad.torch.fx' has no attribute {name!r}: tapegrad's facade lacks it; it runs functions as they stand and makes no "
        "graphs of them: call the function or module itself",
        name=name,
    )
