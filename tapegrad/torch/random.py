"""`torch.random`: seeding the default generator, and its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad.torch._generator import Generator, default_generator
from tapegrad.torch._missing import refusing

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Start the default generator anew from a seed, and return it."""
    return default_generator().manual_seed(int(seed))


def seed() -> int:
    """Start the default generator anew from a seed of the operating system's, and return the seed."""
    return default_generator().seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator().initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, a ByteTensor that PyTorch can take over."""
    return default_generator().get_state()


def set_rng_state(new_state: Any) -> None:
    """Put the default generator into a state that `get_rng_state`, here or in PyTorch, has given."""
    default_generator().set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Leave the default generator, at the end, in the state that it had before; also a decorator."""
    if not enabled:
        yield
        return
    generator = default_generator()
    state = generator.state_bytes()
    try:
        yield
    finally:
        generator.set_state_bytes(state)


__getattr__ = refusing(globals())
