"""Whether a function is being traced, asked without importing TensorFlow; and what is to be done outside of it."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.registry.backends import placed
from tapegrad.registry.places import has_values

if TYPE_CHECKING:
    from collections.abc import Callable


def is_tracing() -> bool:
    """Whether this thread is tracing a function, so that tensors have no values."""
    cells = sys.modules.get("tapegrad.compiled.cells")
    return cells is not None and bool(cells.is_tracing())


def outside_of_traces() -> contextlib.AbstractContextManager[None]:
    """A context in which everything is computed at once, whatever is being traced."""
    if not is_tracing():
        return contextlib.nullcontext()
    from tapegrad.compiled import cells

    return cells.outside()


def open_integer(raw: Any) -> Any:
    """A 0-d integer of the function that is being traced, as an index takes it."""
    from tapegrad.kernels.tensorflow_calls import INT32
    from tapegrad.kernels.tensorflow_lengths import Size
    from tapegrad.kernels.tensorflow_promotion import converted

    return Size(converted(raw, INT32).bare)


def started_outside(start: Callable[..., None]) -> None:
    """Start a variable at once, whatever is being traced."""
    with outside_of_traces():
        start(settled)


def settled(raw: Any) -> Any:
    """The value of an array; of one that is being traced, the value that it has in every call.

    Raises ValueError where that depends on what the function is called with.
    """
    if has_values(raw):
        return raw
    from tapegrad.kernels.tensorflow_array import static_value

    found = static_value(raw.bare)
    if found is None:
        raise ValueError(
            "a variable that is made inside a compiled function begins with a value that depends on the function's arguments: "
            "make it outside, or with a function that gives its value"
        )
    return placed(np.asarray(found)[()])
