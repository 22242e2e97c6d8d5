"""`tf.gradients` and `tf.hessians`, which TensorFlow has inside of a `tf.function` alone.

There a graph knows what was computed from what.  Here a tape does: a function in which one of them is called begins again, with
a tape around it that watches its arguments, and has that tape in each call from then on.
"""

from __future__ import annotations

import threading
from typing import Any

from tapegrad.core import tensor as core
from tapegrad.dtypes import is_inexact
from tapegrad.tf import nest
from tapegrad.tf.export import export
from tapegrad.tf.tape import GradientTape


class _Running(threading.local):
    """What runs in this thread: how many functions inside of each other, and the tape around the outermost one."""

    depth = 0
    tape: GradientTape | None = None


RUNNING = _Running()


class Unrecorded(RuntimeError):
    """A gradient was asked for where no tape was around the function; nobody sees it but where there is no function at all."""


def recorded(function: Any) -> Any:
    """A function with a tape around it."""

    def inside(*args: Any, **kwargs: Any) -> Any:
        if RUNNING.tape is not None:
            watch(RUNNING.tape, (args, kwargs))
            return function(*args, **kwargs)
        with GradientTape(persistent=True) as tape:
            tape._warned = True  # derivatives inside of it are what it is there for
            watch(tape, (args, kwargs))
            RUNNING.tape = tape
            try:
                return function(*args, **kwargs)
            finally:
                RUNNING.tape = None

    inside.__name__ = getattr(function, "__name__", "function")
    inside.__qualname__ = getattr(function, "__qualname__", inside.__name__)
    return inside


def watch(tape: GradientTape, arguments: Any) -> None:
    """Let a tape watch the arguments of which it has recorded nothing yet."""
    for x in nest.flatten(arguments):
        if isinstance(x, core.Tensor) and is_inexact(x.read()[0].dtype) and not tape.owns(x):
            tape.watch(x)


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Any]:
    """The derivative of the sum of all `ys` for each of `xs`, inside of a `tf.function`.

    Raises RuntimeError outside of one, and NotImplementedError for one of `xs` that the function has made of constants: a tape
    does not know of it.
    """
    tape = _tape("gradients")
    if stop_gradients is not None:
        raise NotImplementedError("tf.gradients(stop_gradients=...): write tf.stop_gradient(x) where x is used")
    sources = nest.flatten(xs)
    for k, x in enumerate(sources):
        stands = core.standing_for(x)
        if isinstance(stands, core.Tensor) and is_inexact(stands.array.dtype) and not tape.owns(stands):
            raise NotImplementedError(
                f"tf.gradients: xs[{k}] was made inside of the tf.function of constants alone, and no tape knows what was computed "
                "from it; give it to the function as an argument, or use tf.GradientTape and tape.watch"
            )
    given = None if grad_ys is None else nest.flatten(grad_ys)
    found: list[Any] = tape.gradient(nest.flatten(ys), sources, output_gradients=given, unconnected_gradients=unconnected_gradients)
    return found


@export("hessians")
def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None, name: str = "hessians"
) -> list[Any]:
    """The second derivatives of the sum of `ys` for each of `xs`, inside of a `tf.function`: (shape, shape)."""
    tape = _tape("hessians")
    found = zip(gradients(ys, xs), nest.flatten(xs), strict=True)
    return [None if g is None else tape.jacobian(g, x, unconnected_gradients="zero") for g, x in found]


def _tape(name: str) -> GradientTape:
    if RUNNING.tape is None:
        raise Unrecorded(f"tf.{name} is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    return RUNNING.tape
