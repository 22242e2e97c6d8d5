"""Tensors whose pieces several processes have: there are none, which libraries find out by `isinstance`."""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad.torch._missing import refusing

__all__ = ["DTensor", "distribute_tensor"]


class DTensor:
    """A tensor whose pieces several processes have; none can be made."""

    def __new__(cls, *_: Any, **__: Any) -> NoReturn:
        _refuse("DTensor")

    @staticmethod
    def from_local(*_: Any, **__: Any) -> NoReturn:
        """Refused: there is one process."""
        _refuse("DTensor.from_local")


def distribute_tensor(*_: Any, **__: Any) -> NoReturn:
    """Refused: there is one process."""
    _refuse("distribute_tensor")


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"{name}: tapegrad.torch works in one process, which has the whole of every tensor; use the tensor itself")


__getattr__ = refusing(globals())
