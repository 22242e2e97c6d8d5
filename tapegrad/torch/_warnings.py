"""Warnings that point at the line of the user's."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def _is_ours(frame: FrameType) -> bool:
    """Whether this is a function of the package, or one made of a table's row."""
    return frame.f_globals.get("__name__", "").startswith("tapegrad.") or frame.f_code.co_filename.startswith("<tapegrad")


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn where tapegrad was called from, however deep that is below."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level + 1)


_SAID: set[str] = set()


def warn_once(key: str, text: str) -> None:
    """Warn the first time in a process, as PyTorch does of what is old."""
    if key not in _SAID:
        _SAID.add(key)
        warn(text)
