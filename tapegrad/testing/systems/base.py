"""What the harness asks of a function, whatever framework it is written for."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    Arrays = Sequence[Any]
    Pull = Callable[[Arrays], list[Any]]

#: What a framework can show: a fault of another kind cannot occur in it, or is mended by it unseen.
EVERYTHING = frozenset(["negative strides", "strides", "writes", "dtypes", "precisions", "shapes", "saved", "integers"])


REFUSALS = (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError, np.linalg.LinAlgError)


class System(ABC):
    """A function of leaves: NumPy arrays, and what is passed on as it is.

    * `active`: which leaves are differentiated.
    * `single`: whether it is one op with a derivative of its own, not a program of many.
    * `shows`: what faults it can have.
    * `sources`: the functions whose code is searched for numbers.
    """

    framework = "numpy"
    shows: frozenset[str] = EVERYTHING
    single = True
    has_jvp = False
    #: Whether each new shape costs a compilation: then few are drawn.
    compiles = False
    #: Whether it can be told which leaves are differentiated, so that the others' gradients are not computed.
    selects = False
    #: The dtypes of half precision that it has.
    halves: tuple[str, ...] = ("float16",)
    #: What functions raise that do not take an input.
    refusals: tuple[type[Exception], ...] = REFUSALS
    #: By property: what is often the reason where it fails for one op with a derivative of its own.
    advice: Mapping[str, str] = MappingProxyType({})
    #: Whether `compiled` is to be all the way to machine code, whatever that takes: where it was asked for by its name.
    fully_compiled = False
    #: Whether pullbacks can be mapped over a batch.
    batches = False

    def __init__(
        self, name: str, call: Callable[[list[Any]], Any], active: Sequence[int], sources: Sequence[Any]
    ) -> None:
        self.name = name
        self.call = call
        self.active = tuple(active)
        self.sources = tuple(sources)

    def at_work(self) -> AbstractContextManager[None]:
        """What a check is run inside of."""
        return nullcontext()

    @abstractmethod
    def value(self, xs: Arrays) -> list[Any]:
        """The floating outputs."""

    @abstractmethod
    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        """The floating outputs, and what turns their cotangents into those of the active leaves, None for zero."""

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        """The tangents of the floating outputs, where `has_jvp`."""
        raise NotImplementedError

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        """The pullback as a function of the leaves and the cotangents; None where it cannot be differentiated."""
        return None

    def in_other_orders(self, xs: Arrays, g: Any) -> Iterator[tuple[str, list[Any]]]:
        """What a derivative that is written by hand gives for its arguments in other orders, and how these are called."""
        return iter(())

    # -- other ways to the same: None where there is none --------------------------------------------------
    def narrowed(self, active: Sequence[int]) -> System:
        """The same function with other leaves differentiated, where it `selects`."""
        made = copy.copy(self)
        made.active = tuple(active)
        return made

    def batched(self, xs: Arrays, moved: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        """The values and the gradients for active leaves and cotangents that are stacked, of one batch, where it `batches`."""
        raise NotImplementedError

    def compiled(self) -> System | None:
        """The same function, compiled."""
        return None

    def on_other_kernels(self) -> System | None:
        """The same function on other kernels."""
        return None

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]] | None:
        """The gradients of two backward passes, added up as the framework does it; and those of a third one."""
        return None

    def for_constants(self, xs: Arrays, gs: Arrays) -> list[tuple[int, Any]]:
        """What the pullback gives for leaves that are not differentiated."""
        return []

    def replaced(self, xs: Arrays, moved: Arrays) -> list[Any]:
        """The leaves with others in the place of the active ones."""
        full = list(xs)
        for i, x in zip(self.active, moved, strict=True):
            kind = full[i].dtype  # arithmetic makes scalars of 0-d arrays, and those make float32 arrays wider
            full[i] = x if type(x) is np.ndarray and x.dtype == kind else np.asarray(x, kind)
        return full


def outputs(y: Any, name: str) -> list[Any]:
    """The leaves of what a function returned."""
    y = flatten(y)[0] if isinstance(y, tuple | list | dict) else [y]
    if not y or any(v is None for v in y):
        raise ArgumentError(
            f"{name} returned {'None' if y else 'an empty structure'}; return the value that is to be differentiated"
        )
    return y


def is_float(x: Any) -> bool:
    """Whether an array can have a cotangent."""
    return x.dtype.kind in "fc" or x.dtype.kind == "V"


def as_array(x: Any) -> Any:
    """A NumPy array of a leaf that is one, or a number."""
    return x if type(x) is np.ndarray else np.asarray(x)


def added_in_place(system: System, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
    """`accumulated` for gradients that are NumPy arrays, and the caller's."""
    _, pull = system.run(xs)
    total = pull([g.copy() for g in gs])
    for k, c in enumerate(pull([g.copy() for g in gs])):
        if c is None or total[k] is None:
            continue
        own = not any(d is not None and np.may_share_memory(total[k], d) for j, d in enumerate(total) if j != k)
        if own and total[k].flags.writeable and total[k].shape == c.shape and total[k].dtype == c.dtype:
            np.add(total[k], c, out=total[k])
        else:
            total[k] = total[k] + c
    kept = [None if c is None else c.copy() for c in total]
    return kept, pull([g.copy() for g in gs])
