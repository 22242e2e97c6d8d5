"""The older home of mixed precision."""

from __future__ import annotations

from typing import Any

from tapegrad.torch import amp as _amp
from tapegrad.torch._missing import refusing


class GradScaler(_amp.GradScaler):
    """`amp.GradScaler` for a GPU."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__("cuda", *args, **words)


class autocast(_amp.autocast):
    """`amp.autocast` for a GPU."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        from tapegrad.torch import float16

        super().__init__("cuda", enabled=enabled, dtype=dtype or float16, cache_enabled=cache_enabled)


__getattr__ = refusing(globals())
