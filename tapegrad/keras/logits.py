"""What softmax and sigmoid were taken of: a cross-entropy of their results is computed from it, as Keras does on TensorFlow.

Of probabilities that have become 0 or 1 there is no way back: Keras keeps them away from both by 1e-7, and where that bites,
the loss is at most 16 and its gradient 0.  From the logits it is exact.  On TensorFlow Keras notes them at the tensor; here
they are noted beside it, by its array, for as long as that lives: tensors of all looks share their arrays.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor, linked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: By the address of an array: the array, weakly; what it was computed from; by which function; whether where TensorFlow compiles.
_NOTED: dict[int, tuple[weakref.ref[Any], Any, str, bool]] = {}


def note(y: Any, x: Any, function: str) -> None:
    """Remember that a tensor is this function ("softmax" or "sigmoid") of another."""
    raw = y.array
    key = id(raw)
    with contextlib.suppress(TypeError):  # a number of NumPy's, which takes no weak reference
        _NOTED[key] = (weakref.ref(raw, lambda _: _NOTED.pop(key, None)), linked(*x.read()), function, is_compiled())


def noted(y: Tensor, function: str) -> Any:
    """What a tensor is this function of, or None where nobody has noted it on the same side of what TensorFlow compiles."""
    found = _NOTED.get(id(y.array))
    if found is None or found[2] != function or found[0]() is not y.array or found[3] != is_compiled():
        return None
    return found[1]


class _Steps(threading.local):
    depth = 0


_STEPS = _Steps()


@contextlib.contextmanager
def compiled_step() -> Iterator[None]:
    """Inside, what runs is a step that Keras compiles on TensorFlow: there it sees the logits of TensorFlow's own functions too."""
    _STEPS.depth += 1
    try:
        yield
    finally:
        _STEPS.depth -= 1


#: Who knows of something that runs and that TensorFlow would compile.
_KNOWN: list[Callable[[], bool]] = [lambda: _STEPS.depth > 0]


def ask(function: Callable[[], bool]) -> None:
    """From now on, ask this too whether something runs that TensorFlow would compile."""
    _KNOWN.append(function)


def is_compiled() -> bool:
    """Whether something runs that TensorFlow would compile: a step of `fit`, a function of a facade."""
    return any(known() for known in _KNOWN)
