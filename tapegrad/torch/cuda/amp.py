"""The older home of mixed precision."""

from __future__ import annotations

from typing import Any

from tapegrad.torch import amp as _amp
from tapegrad.torch._absent import part
from tapegrad.torch._missing import refusing
from tapegrad.torch.amp import custom_bwd as _custom_bwd
from tapegrad.torch.amp import custom_fwd as _custom_fwd


class GradScaler(_amp.GradScaler):
    """`amp.GradScaler` for a GPU."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__("cuda", *args, **words)


class autocast(_amp.autocast):
    """`amp.autocast` for a GPU."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        from tapegrad.torch import float16

        super().__init__("cuda", enabled=enabled, dtype=dtype or float16, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`amp.custom_fwd` for a GPU."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd` for a GPU."""
    return _custom_bwd(bwd, device_type="cuda")


grad_scaler = part(__name__, "grad_scaler", "Where GradScaler was written.", GradScaler=GradScaler)
autocast_mode = part(
    __name__, "autocast_mode", "Where autocast was written.", autocast=autocast, custom_fwd=custom_fwd, custom_bwd=custom_bwd
)
__path__: list[str] = []

__getattr__ = refusing(globals())
