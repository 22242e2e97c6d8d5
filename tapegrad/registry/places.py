"""Places: kernels, and for TensorFlow's one of its devices.  Where arrays are made, and where they are moved to."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, DeviceError
from tapegrad.info import CPU, DEFAULT
from tapegrad.kernels.batched import innermost
from tapegrad.registry import backends
from tapegrad.registry.space import HERE, NUMPY, SPACES, Space, default_space

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Place:
    """Kernels and a device of theirs.

    * `device`: TensorFlow's name of one, or None for NumPy's kernels, and where TensorFlow is to decide.
    """

    __slots__ = ("device", "space")

    def __init__(self, space: Space, device: str | None) -> None:
        self.space = space
        self.device = device

    @property
    def name(self) -> str:
        """Its name as `place` takes it."""
        if self.space is NUMPY:
            return CPU
        from tapegrad.kernels.tensorflow_calls import short

        return short(self.device or "")

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """What lets kernels make arrays here."""
        if self.device is None:
            return contextlib.nullcontext()
        import tensorflow as tf

        scope: contextlib.AbstractContextManager[Any] = tf.device(self.device)
        return scope


def place(device: Any = None, backend: str | None = None) -> Place:
    """The place of these names; where new arrays are made if both are None.

    Raises DeviceError for a device that is not there, ArgumentError for a backend that does not have it.
    """
    if device is None:
        space = default_space() if backend is None else backends.backend(backend)
        return Place(space, None)
    name = str(device)
    if backend is not None and (name == CPU) != (backend == "numpy"):
        raise ArgumentError(f"the device {name!r} and the backend {backend!r} do not go together")
    if name == CPU:
        return Place(NUMPY, None)
    try:
        space = backends.tensorflow()
    except ImportError as error:
        raise DeviceError(f"device: expected {CPU!r}, got {name!r}; {error}") from error
    from tapegrad.kernels.tensorflow_devices import long

    return Place(space, long(name) if name else None)


def place_of(raw: Any) -> str:
    """The name of the place of a raw value."""
    raw = innermost(raw)
    found: str = CPU if backends.backend_of(raw) == "numpy" else getattr(raw, "device", "")
    return found


def at(raw: Any, where: Place) -> Any:
    """A raw value at a place."""
    if where.space is NUMPY:
        return backends.moved(raw, "numpy")
    if backends.backend_of(raw) == "numpy":
        with where.scope():
            return backends.moved(raw, "tensorflow")
    if where.device is None:
        return raw
    from tapegrad.kernels.tensorflow_devices import copied

    return copied(raw, where.name)


def is_at(raw: Any, where: Place) -> bool:
    """Whether a raw value is there already."""
    raw = innermost(raw)
    if (where.space is NUMPY) != (backends.backend_of(raw) == "numpy"):
        return False
    return where.device is None or place_of(raw) == where.name


def beside(raw: Any, other: Any) -> Any:
    """A raw value where another one is."""
    if type(raw) is type(other) and type(raw) is np.ndarray:
        return raw
    there = place_of(other)
    return raw if place_of(raw) == there else at(raw, place(there))


@final
class _Making:
    """Kernels that make arrays at a place."""

    def __init__(self, where: Place) -> None:
        self._where = where

    def __getattr__(self, name: str) -> Callable[..., Any]:
        run = getattr(self._where.space, name)

        def call(*args: Any, **params: Any) -> Any:
            with self._where.scope():
                return run(*args, **params)

        return call


def making(xp: Any, device: Any, backend: str | None = None, sizes: Any = ()) -> Any:
    """The kernels that make an array: those of a device or a name, if one is given; else those that know its sizes."""
    if device is None and backend is None:
        for n in sizes if isinstance(sizes, tuple | list) else (sizes,):
            if type(n) is not int and SPACES.get(type(n), NUMPY) is not NUMPY:
                return SPACES[type(n)]
        return xp
    where = place(device, backend)
    return where.space if where.device is None else _Making(where)


@final
class device:
    """A context in which this thread's new arrays are made on a device.

    * "cpu": NumPy's kernels.
    * "CPU:0", "GPU:1", or TensorFlow's longer names: TensorFlow's kernels, there.

    It is for `asarray`, for functions that make arrays out of numbers, and for random numbers.  What computes with arrays
    stays where they are.  Raises DeviceError for a device that is not there, as the context is made.

    >>> import tapegrad as tg
    >>> with tg.device("cpu"):
    ...     print(tg.zeros(2).device)
    cpu
    """

    def __init__(self, name: str) -> None:
        self._place = place(name)
        self._entered: list[tuple[Space | None, contextlib.AbstractContextManager[Any]]] = []

    def __enter__(self) -> device:
        scope = self._place.scope()
        scope.__enter__()
        self._entered.append((HERE.space, scope))
        HERE.space = self._place.space
        return self

    def __exit__(self, *error: Any) -> None:
        HERE.space, scope = self._entered.pop()
        scope.__exit__(*error)

    def __repr__(self) -> str:
        return f"device({self._place.name!r})"


def _default() -> str:
    if default_space() is NUMPY:
        return CPU
    return str(getattr(backends.moved(np.zeros(()), "tensorflow"), "device", ""))


DEFAULT.append(_default)


def has_values(raw: Any) -> bool:
    """Whether a raw array has values, which one of a function that is being traced has not."""
    if isinstance(raw, np.ndarray | np.generic) or not hasattr(raw, "bare"):
        return True
    from tapegrad.kernels.tensorflow_calls import EAGER

    return type(raw.bare) is EAGER


def at_hand(x: Any) -> np.ndarray[Any, Any] | None:
    """The values of a number, an array or a tensor, of a batch those of every item, where they lie in NumPy's memory; else None.

    A look at them asks for no computation, and for no copy of another device's.
    """
    raw = innermost(x.array if type(x) is Tensor else x)
    return np.asarray(raw) if isinstance(raw, int | np.ndarray | np.generic) else None


def is_at_hand(raw: Any) -> bool:
    """Whether the host holds the values of a raw array.  Those on another device do not travel here for a look at them."""
    return type(raw) is np.ndarray or (has_values(raw) and getattr(raw, "device", "CPU:0") == "CPU:0")
