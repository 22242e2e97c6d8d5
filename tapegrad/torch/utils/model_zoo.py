"""Weights from the web: not fetched here."""

from __future__ import annotations

from typing import Any


def load_url(url: str, *_: Any, **__: Any) -> Any:
    """Refuse: download the file yourself and give its path to `torch.load`."""
    raise NotImplementedError(f"load_url({url!r}): tapegrad downloads nothing; fetch the file and give its path to torch.load")
