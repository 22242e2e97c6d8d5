"""Forward mode: tangents are computed along with the values."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, Self, final

import numpy as np

from tapegrad.asked import check_mode, zeros_for
from tapegrad.core import recorder as rec
from tapegrad.core.node import Node, parents
from tapegrad.core.recorder import EMPTY, Recorder, group, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.core.watching import watch
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DTypeError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.lengths import brought_to, may_agree
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from types import TracebackType


@final
class ForwardAccumulator:
    """A context in which every op also computes the directional derivative of its output.

    * `primals`: a tensor or variable, or a nested structure of them: the inputs.
    * `tangents`: the direction, in the same structure, shapes and dtypes.

    Accumulators and tapes nest in any order.  Nothing is kept for a reverse sweep.

    >>> import tapegrad as tg
    >>> x = tg.asarray([1.5, -0.5])
    >>> with tg.ForwardAccumulator(x, tg.asarray([1.0, 0.0])) as acc:
    ...     y = tg.sum(x ** 3)
    >>> acc.jvp(y)
    Tensor(6.75, dtype=float32)
    """

    __slots__ = ("__weakref__", "_recorder", "_tangents")

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._tangents: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()
        self._recorder = Recorder(auto=False, on_push=functools.partial(_push, self._tangents))
        xs, _ = flatten(primals)
        ts, _ = flatten(tangents)
        if len(xs) != len(ts):
            raise ShapeError(f"ForwardAccumulator: expected as many tangents as primals, got {len(ts)} and {len(xs)}")
        pairs = [(x, _checked(x, t)) for x, t in zip(xs, ts, strict=True)]
        if len({id(x) for x in xs}) < len(xs):
            raise ArgumentError("ForwardAccumulator: a tensor is among the primals twice; give it the sum of its tangents")
        for x, t in pairs:
            self._tangents[watch(x, frozenset([self._recorder]))] = t

    def __reduce__(self) -> NoReturn:
        raise ArgumentError("a ForwardAccumulator is not pickled or copied: what it has recorded is of this run; copy values instead")

    def __enter__(self) -> Self:
        if self._recorder.entered:
            raise ValueError("this accumulator is active already")
        rec.enter(self._recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rec.leave(self._recorder)

    def __del__(self) -> None:
        rec.abandon(getattr(self, "_recorder", None))

    def jvp(self, primals: Any, unconnected_gradients: str = "none") -> Any:
        """The tangent of each tensor in a structure; None (or zeros, if "zero") where it does not depend on the inputs."""
        check_mode(unconnected_gradients)
        leaves, rebuild = flatten(primals)
        found = []
        for y in leaves:
            if y is not None and not isinstance(y, Tensor):
                raise ArgumentError(f"jvp(primals): expected Tensors or Variables, got {type(y).__name__}")
            t = self._tangents.get(y.node) if y is not None and y.node is not None else None
            if t is not None:
                t = linked(t.array, t.node)  # a tensor may be written to
            elif unconnected_gradients == "zero" and y is not None:
                t = zeros_for(y)
            found.append(t)
        return rebuild(found)


def _checked(x: Any, t: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise ArgumentError(f"ForwardAccumulator: expected Tensors or Variables as primals, got {type(x).__name__}")
    if not is_inexact(x.array.dtype):
        raise DTypeError(f"ForwardAccumulator: expected floating primals, got {x.array.dtype}")
    t = asarray(t, dtype=None if isinstance(t, Tensor) else x.array.dtype)
    t = linked(*t.read())  # a tensor may be written to
    if t.shape != x.array.shape and may_agree(t.shape, x.array.shape):
        t = brought_to(t, x.array.shape)
    if t.shape != x.array.shape or t.dtype != x.array.dtype:
        raise ShapeError(
            f"ForwardAccumulator: expected a tangent like its primal, {x.array.dtype} {x.array.shape}, "
            f"got {t.dtype} {t.shape}"
        )
    return t


def _push(tangents: weakref.WeakKeyDictionary[Node, Any], node: Node, recorder: Recorder) -> None:
    """What runs for every node that is made: the tangent of its value, where a parent has one.

    Outer accumulators record the tangent; to inner ones it is a constant.
    """
    given = tuple(tangents.get(p) if p is not None else None for p in parents(node))
    if not any(t is not None for t in given):
        return
    recorded = any(map(_is_recorded, given))
    before = state.active
    serial = recorder.serial
    others = group(frozenset(r for r in before.recorders if r.on_push is None or r.serial < serial))
    state.active = others
    try:
        if others is not EMPTY and (recorded or not others.recorders.isdisjoint(node.owners.recorders)):
            found = node.op.push_recorded(node, given)
        else:
            with np.errstate(all="ignore"):
                found = node.op.push(node, tuple(map(_raw, given)))
            found = tuple(map(tensor, found)) if type(found) is tuple else tensor(found)
    finally:
        state.active = before
    tangents[node] = found


def _is_recorded(t: Any) -> bool:
    """Whether somebody records a tangent: of an op of several outputs, any of them."""
    if type(t) is tuple:
        return any(map(_is_recorded, t))
    return t is not None and t.node is not None


def _raw(t: Any) -> Any:
    if type(t) is tuple:
        return tuple(map(_raw, t))
    return None if t is None else t.array
