"""Where TensorFlow's arrays are, and how kernels stay there.

TensorFlow puts an eager op on its first GPU, wherever its arguments are, and copies them silently.  So where there is more
than one device, each kernel tells TensorFlow that of its arguments.  Where there is one, none of this is called.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tapegrad.errors import DeviceError
from tapegrad.kernels.tensorflow_array import TFArray, made, waiting
from tapegrad.kernels.tensorflow_calls import EAGER, HERE, INT32, short

if TYPE_CHECKING:
    from collections.abc import Callable

_LOCAL = "/job:localhost/replica:0/task:0/device:"


def names() -> list[str]:
    """The devices there are."""
    return [short(d.name) for d in tf.config.list_logical_devices()]


def long(name: str) -> str:
    """TensorFlow's name of a device that is there; raises DeviceError for another."""
    found = short(name)
    there = names()
    if found not in there:
        raise DeviceError(
            f"device: expected 'cpu' (NumPy's kernels), or one of TensorFlow's: {', '.join(map(repr, there))}; got {name!r}"
        )
    return found if found.startswith("/") else _LOCAL + found


def copied(x: TFArray, name: str) -> TFArray:
    """The array on the device of this name; itself, if it is there, or if a graph is to decide."""
    if not name or x.device == name:
        return x
    with tf.device(long(name)):
        return made(tf.identity(x.bare), x.dtype, x._shape)


# -- ops where their arguments are -----------------------------------------------------------------------
def _arrays(given: Any, found: list[TFArray]) -> list[TFArray]:
    """The arrays among arguments: in tensors, in batches, in sequences."""
    for x in given:
        if type(x) is TFArray:
            found.append(x)
        elif type(x) is tuple or type(x) is list:
            _arrays(x, found)
        else:
            for slot in ("array", "value"):  # of a tensor, of a batch
                if hasattr(type(x), slot):
                    _arrays((getattr(x, slot),), found)
    return found


def device_of(given: Any) -> str | None:
    """TensorFlow's name of the one device of all arrays among the arguments; None if it decides where they are.

    Raises DeviceError where they are on several.  TensorFlow keeps int32 numbers of a GPU in the host's memory, so these may
    be there; so may a single number, as in PyTorch.
    """
    arrays = _arrays(given, [])
    if any(map(waiting, arrays)):  # of a graph, and not to be read for this
        return None
    if not all(type(x.bare) is EAGER for x in arrays) or not arrays:
        return None
    devices = {str(x.bare.device): x for x in arrays}
    if len(devices) > 1:
        host = {x.bare.device for x in arrays if short(x.bare.device) == "CPU:0" and (x.dtype is INT32 or x.shape == ())}
        held = {x.bare.device for x in arrays if x.dtype is not INT32 and x.shape != ()}
        devices = {name: x for name, x in devices.items() if name in held or name not in host}
        if len(devices) > 1:
            raise DeviceError(f"expected all arrays on one device, got {' and '.join(map(short, devices))}; move one with x.to(device)")
    return next(iter(devices)) or None


def staying(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays whose ops, and whatever it makes, are on the device of its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **params: Any) -> Any:
        device = device_of(args)
        before = HERE.device_name
        if device is None or device == before:
            return function(*args, **params)
        HERE.device_name = device
        try:
            return function(*args, **params)
        finally:
            HERE.device_name = before

    return call
