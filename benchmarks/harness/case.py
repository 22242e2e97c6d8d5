"""What a workload file is made of.

A workload module holds

    NAME    short name, used by --only, and the name of the file
    TITLE   one line for the reader
    CASES   list of Case
    SKIP    {peer: reason}: peers that cannot do this workload at all (optional)
    inputs(c, rng)               -> {name: ndarray}, the same in every process
    numpy_hand(c, data)          -> step        hand-written forward + backward
    torch(T, c, data)            -> step        T is the torch namespace (or a look-alike)
    tf(tf, c, data, wrap)        -> step        wrap: nothing | tf.function | tf.function + XLA
    jax(jax, c, data, wrap)      -> step        wrap: jax.jit | nothing
    autograd(ag, c, data)        -> step
    mygrad(mg, c, data)          -> step

A step takes no argument, does the work once, and returns a flat list of outputs in the library's own types: the
value first, then the gradients. An implementation may return `(step, post)`, where `post(list of ndarray) -> list of
ndarray` brings the outputs into the reference's layout (outside the timed part). The reference is `numpy_hand` in
float64. An implementation that a library has no way to offer is left out.

NumPy is not imported here: the worker must be able to time the import of its library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Arrays: TypeAlias = "dict[str, np.ndarray]"
Outputs: TypeAlias = "list[np.ndarray]"
Step: TypeAlias = Callable[[], list[Any]]
Post: TypeAlias = "Callable[[Outputs], Outputs]"
Made: TypeAlias = "Step | tuple[Step, Post]"


class Unavailable(Exception):
    """A peer that cannot run here; the text says why, and an empty one is not worth a line."""


class Wrap:
    """The way a step is compiled: called on the function; `mode` is for the rare step that must know."""

    def __init__(self, mode: str, compiler: Callable[..., Any] | None = None) -> None:
        self.mode = mode
        self.compiler = compiler

    def __call__(self, f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        return self.compiler(f, **options) if self.compiler else f


EAGER = Wrap("eager")


@dataclass(frozen=True)
class Case:
    """One size or kind of a workload, and how its result is shown and checked."""

    id: str
    p: dict[str, Any] = field(default_factory=dict)
    unit: str = "ms"  # us/op | us | ms | GB/s | GFLOP/s
    work: float = 1.0  # ops, bytes or flops of one step, as the unit asks
    ops: int = 0  # primitive operations a tape would record in one step
    rtol: float = 2e-4  # of the largest entry of each output
    quick: bool = True  # part of --quick
    check_steps: int = 1  # steps taken before the outputs are compared
    skip: dict[str, str] = field(default_factory=dict)

    def show(self, seconds: float) -> float:
        """The time of one step in the unit of this case."""
        if self.unit == "us/op":
            return seconds / self.work * 1e6
        if self.unit == "us":
            return seconds * 1e6
        if self.unit == "ms":
            return seconds * 1e3
        return self.work / seconds / 1e9  # GB/s, GFLOP/s


def moved(data: Arrays, names: list[str], canonical: dict[str, Callable[[Any], Any]] | None = None) -> Post:
    """The `post` of a training step: from [loss, parameters] to [loss, change of the parameters].

    `canonical` maps a name to the function that brings that parameter into the reference's layout.
    """
    start = {k: data[k].copy() for k in names}
    bring = canonical or {}

    def post(out: Outputs) -> Outputs:
        loss, *params = out
        return [loss] + [bring.get(k, lambda p: p)(p) - start[k] for k, p in zip(names, params, strict=True)]

    return post
