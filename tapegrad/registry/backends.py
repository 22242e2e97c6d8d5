"""Which kernels there are by name, which of them make new arrays, and how arrays go from one to the other."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.foreign import MET
from tapegrad.core.tensor import PLAIN
from tapegrad.errors import ArgumentError
from tapegrad.info import DEVICES
from tapegrad.kernels.numpy_scatter import ROW_KERNELS
from tapegrad.registry import space as spaces
from tapegrad.registry.around import surround
from tapegrad.registry.space import (
    ADOPTERS,
    ARRAYS,
    BUILDING,
    ERRORS,
    FINDERS,
    NUMPY,
    SCALARS,
    SPACES,
    STANDING_NUMBERS,
    Space,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("numpy", "tensorflow")
#: The environment variable that says which kernels make new arrays.
VARIABLE = "TAPEGRAD_BACKEND"


def tensorflow() -> Space:
    """The TensorFlow kernels; the first call imports TensorFlow."""
    found = _known.get("tensorflow")
    if found is None:
        try:
            from tapegrad.registry.without_keras import without_keras  # brings importlib.abc: 8 ms

            with without_keras():
                from tapegrad.kernels import tensorflow as kernels
        except ImportError as error:
            raise ImportError(f"the backend 'tensorflow' needs TensorFlow ({error}); pip install 'tapegrad[tensorflow]'") from error
        from tapegrad.kernels.tensorflow_array import TFArray
        from tapegrad.kernels.tensorflow_calls import HERE, MANY
        from tapegrad.kernels.tensorflow_devices import names, staying
        from tapegrad.kernels.tensorflow_lengths import SYMBOLIC, Ratio, Size
        from tapegrad.kernels.tensorflow_promotion import asarray
        from tapegrad.kernels.tensorflow_scatter import rows_add_later

        found = _known["tensorflow"] = Space("TensorFlow", 1, kernels, around=staying if MANY else None)
        found.deferring = Space("TensorFlow", 1, kernels, around=staying if MANY else None)
        found.deferring.rows_add = rows_add_later
        ROW_KERNELS[TFArray] = kernels
        SPACES.update(dict.fromkeys([TFArray, *SYMBOLIC], found))
        SCALARS.update(SYMBOLIC)
        STANDING_NUMBERS.update({Size: (1, asarray), Ratio: (1.0, asarray)})
        PLAIN.update(SYMBOLIC)
        ARRAYS.add(TFArray)
        DEVICES.append(names)
        if MANY:
            surround(staying)
        _translate_errors()
        BUILDING[:] = [HERE]
    return found


_known: dict[str, Space] = {"numpy": NUMPY}


def backend(name: str) -> Space:
    """The kernels of this name."""
    if name not in NAMES:
        raise ArgumentError(f"backend: expected one of {', '.join(map(repr, NAMES))}, got {name!r}")
    return NUMPY if name == "numpy" else tensorflow()


def backend_of(raw: Any) -> str:
    """The name of the kernels that a raw value belongs to."""
    return spaces.space_of([raw]).space_name.lower()


def default_backend() -> str:
    """The name of the kernels that make new arrays.

    >>> import tapegrad as tg
    >>> tg.default_backend()
    'numpy'
    """
    return spaces.default_space().space_name.lower()


def set_default_backend(name: str | None) -> None:
    """Say which kernels make new arrays: "numpy", or "tensorflow", which is imported then.

    It is for `asarray`, for functions that make arrays out of numbers, and for random numbers; the environment variable
    TAPEGRAD_BACKEND says it before the program starts, and again if `name` is None.  What computes with arrays goes by
    their type alone.
    """
    spaces.DEFAULT[:] = [backend(os.environ.get(VARIABLE) or "numpy" if name is None else name)]


def moved(raw: Any, name: str) -> Any:
    """A raw value on the kernels of this name; what is new there is where this thread's new arrays are."""
    kernels = backend(name)
    if backend_of(raw) == name:
        return raw
    if kernels is NUMPY:
        found = np.array(raw)  # TensorFlow may take its memory back
        return found[()] if found.ndim == 0 else found
    from tapegrad.kernels.tensorflow_promotion import asarray

    return asarray(raw)


def placed(raw: Any) -> Any:
    """A raw value where new arrays are made."""
    space = spaces.default_space()
    return raw if space is NUMPY else moved(raw, space.space_name.lower())


@contextlib.contextmanager
def making_on(name: str) -> Iterator[None]:
    """Let new arrays be made by the kernels of this name, inside."""
    before = spaces.DEFAULT[:]
    set_default_backend(name)
    try:
        yield
    finally:
        spaces.DEFAULT[:] = before


# -- TensorFlow's own objects ------------------------------------------------------------------------------
def _find_tensorflow(kind: type) -> Space | None:
    """Its tensors and variables, which are wrapped before anything is computed with them."""
    if not any(c.__module__.partition(".")[0] == "tensorflow" for c in kind.__mro__):
        return None
    tf = sys.modules["tensorflow"]
    if not issubclass(kind, tf.Tensor | tf.Variable):
        return None
    found = tensorflow()
    from tapegrad.kernels.tensorflow_array import wrapped

    ADOPTERS[kind] = wrapped
    for tell in MET:
        tell(kind)
    return found


FINDERS.append(_find_tensorflow)


def _translate_errors() -> None:
    """Which of tapegrad's errors stands for each of TensorFlow's."""
    import tensorflow as tf

    from tapegrad.errors import (
        BoundsError,
        DeviceError,
        DTypeError,
        EscapedError,
        KernelError,
        MatrixError,
        ResourceError,
        ShapeError,
    )

    def shape_or_bounds(error: Exception) -> type[Exception]:
        text = str(error)
        if "not invertible" in text or "not successful" in text:
            return MatrixError
        return BoundsError if "is not in [" in text or "out of bounds" in text else ShapeError

    def always(kind: type[Exception]) -> Callable[[Exception], type[Exception]]:
        return lambda error: kind

    ERRORS[tf.errors.OpError] = always(KernelError)
    ERRORS[tf.errors.ResourceExhaustedError] = always(ResourceError)
    ERRORS[tf.errors.InvalidArgumentError] = shape_or_bounds
    ERRORS[tf.errors.OutOfRangeError] = always(BoundsError)
    def of_type(error: Exception) -> Callable[[str], Exception]:
        if "is out of scope" in str(error):
            return lambda text: EscapedError(
                f"{text.partition(':')[0]}: a tensor that was made while a function was traced is used outside of it, where it "
                "has no value; let the function return it, or assign it to a Variable"
            )
        return DeviceError if isinstance(error, DeviceError) else DTypeError

    ERRORS[TypeError] = of_type
    for kind in (tf.errors.UnimplementedError, tf.errors.NotFoundError):
        ERRORS[kind] = always(DTypeError)
