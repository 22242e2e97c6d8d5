"""The CPU as a device, asked in the words that GPUs are asked in."""

from __future__ import annotations

from typing import Any

from tapegrad.torch import amp
from tapegrad.torch._absent import NoDevice
from tapegrad.torch._missing import refusing


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def device_count() -> int:
    """The number of CPUs as devices: one."""
    return 1


def current_device() -> str:
    """The device that is in use."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing: an op is done when it returns."""


class Stream(NoDevice):
    """A queue of work, which on a CPU is done at once."""

    def synchronize(self) -> None:
        """Nothing is waiting."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing is waiting."""


def current_stream(device: Any = None) -> Stream:
    """The queue that is in use."""
    return Stream()


def stream(stream: Any) -> NoDevice:
    """A context in which the given queue is used."""
    return NoDevice()


__getattr__ = refusing(globals())

__all__ = [
    "Stream", "amp", "current_device", "current_stream", "device_count", "is_available", "set_device", "stream", "synchronize",
]  # fmt: skip
