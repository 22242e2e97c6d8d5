"""Tapes: contexts that record operations on watched values, and give derivatives of what was recorded."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, NoReturn, Self, final

from tapegrad.asked import (
    Unconnected,
    absent,
    check_mode,
    check_sources,
    check_target,
    cotangents_of,
    is_foreign,
    targets_of,
    way_out,
    zeros_for,
)
from tapegrad.core import recorder as rec
from tapegrad.core.cuts import paused
from tapegrad.core.foreign import WATCHING
from tapegrad.core.recorder import Recorder
from tapegrad.core.tensor import Tensor, standing_for, tensor
from tapegrad.core.watching import watch_all, watch_plainly
from tapegrad.dtypes import float32, float64, is_inexact
from tapegrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, SpentError
from tapegrad.kernels.batched import Batched, Level
from tapegrad.registry.batching import identity, inside, new_level, stacked, unit_rows
from tapegrad.registry.space import F, space_of_type
from tapegrad.seeds import pushed, seeds_of, source_of, swept
from tapegrad.tree import flatten, unchanged_leaves
from tapegrad.variable import STAND_INS, Variable, present

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tapegrad.inspect.explaining import Reasons


@final
class GradientTape:
    """A context that records operations, to differentiate them afterwards.

    * `persistent`: several derivatives can be taken; otherwise values are let go of as the first one is computed.
    * `watch_accessed_variables`: trainable variables are watched when they are read; otherwise call `watch`.
    * `traced`: note where values lose their derivative, so that `explain` can name file and line.

    Tapes nest to any order: what an inner tape computes is recorded by the outer ones.  For complex values the
    gradient of a real target is df/dRe + i df/dIm, the conjugate Wirtinger derivative that TensorFlow and PyTorch use.

    A tape records what its thread computes while it is entered, and nothing of other threads.  Tasks of `asyncio` share a
    thread: each gets its own gradients, but a tape that is open across an `await` keeps values of the other tasks too.

    >>> import tapegrad as tg
    >>> x = tg.asarray(1.5)
    >>> with tg.GradientTape() as outer:
    ...     outer.watch(x)
    ...     with tg.GradientTape() as inner:
    ...         inner.watch(x)
    ...         y = x ** 3
    ...     slope = inner.gradient(y, x)
    >>> slope, outer.gradient(slope, x)
    (Tensor(6.75, dtype=float32), Tensor(9., dtype=float32))
    """

    __slots__ = ("__weakref__", "_persistent", "_reasons", "_recorder", "_spent", "_traced", "_watched", "_watches")

    def __init__(
        self, persistent: bool = False, watch_accessed_variables: bool = True, *, traced: bool = False
    ) -> None:
        self._persistent = persistent
        self._watches = watch_accessed_variables
        self._traced = traced
        self._recorder = Recorder(auto=watch_accessed_variables)
        if traced:
            self._recorder.cuts = []
        self._spent = False
        self._watched: tuple[Variable, ...] = ()  # what a spent tape has watched
        self._reasons: Reasons | None = None  # why the derivative that spent it was None for some sources

    # -- recording -------------------------------------------------------------------------------
    @property
    def recording(self) -> bool:
        """Whether the tape is inside its context."""
        return self._recorder.entered

    @property
    def spent(self) -> bool:
        """Whether a derivative was taken, so that another needs a new recording."""
        return self._spent

    def __repr__(self) -> str:
        words = [name for name, said in (("persistent", self._persistent), ("traced", self._traced)) if said]
        arguments = ", ".join(f"{name}=True" for name in words)
        count = sum(len(owners.nodes) for owners in self._recorder.groups.values())
        kept = "spent by a derivative" if self._spent else f"{count} value{'' if count == 1 else 's'} kept"
        return f"<GradientTape({arguments}): {'recording, ' if self.recording else ''}{kept}>"

    def __reduce__(self) -> NoReturn:
        raise ArgumentError("a GradientTape is not pickled or copied: what it has recorded is of this run; copy values instead")

    def __enter__(self) -> Self:
        if self._recorder.entered:
            raise ValueError("this tape is recording already; a tape is entered once at a time")
        if self._spent:
            self.reset()
        rec.enter(self._recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rec.leave(self._recorder)

    def __del__(self) -> None:
        rec.abandon(getattr(self, "_recorder", None))

    def watch(self, value: Any) -> None:
        """Record what is computed from this tensor or variable (or each in a nested structure) from now on.

        Tensors and variables of TensorFlow's are watched too: what its own functions compute of them is recorded.

        Raises ArgumentError for what is no tensor, DTypeError for integers: they have no derivative; and then watches
        nothing.  Raises SpentError after a derivative was taken, until the tape is entered again.
        """
        if self._spent:
            raise SpentError("watch(value): a derivative was taken from this tape, and it records no more; enter it anew")
        if type(value) is Tensor and ((d := value.array.dtype) is float32 or d is float64) and watch_plainly(value, self._recorder):
            return
        given = unchanged_leaves(value)
        for x in given:
            if type(x) is not Tensor or ((d := x.array.dtype) is not float32 and d is not float64):
                break
        else:  # plain tensors of a usual dtype: there is nothing to check
            watch_all(given, frozenset([self._recorder]))
            return
        others = [x for x in given if not isinstance(x, Tensor)]
        foreign = [x for x in others if is_foreign(x)]
        leaves = [standing_for(x) for x in given if not is_foreign(x)] if others else given
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ArgumentError(f"watch(value): expected a Tensor or Variable, got {type(x).__name__}{way_out(x)}")
            if not is_inexact(x.array.dtype):
                raise DTypeError(
                    f"watch(value): expected a floating dtype, got {x.array.dtype}; integers have no derivative, "
                    "so write tapegrad.astype(value, tapegrad.float32)"
                )
        recorder = self._recorder
        present_ones = [*map(present, leaves)] if STAND_INS else leaves
        new = {
            id(x): x
            for x in present_ones
            if isinstance(x, Variable) and (x.node is None or recorder not in x.node.owners.recorders)
        }
        watch_all(present_ones, frozenset([recorder]))
        recorder.variables += new.values()
        for x in foreign:
            WATCHING[type(x)](x, self._recorder)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that this tape watches, in the order in which it met them."""
        return self._watched if self._spent else tuple(self._recorder.variables)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing to this tape inside; other tapes go on."""
        if not self._recorder.entered:
            raise ValueError("stop_recording(): this tape is not recording")
        if rec.NOTING:
            paused("tape.stop_recording()")
        stopped = rec.pause([self._recorder])
        try:
            yield
        finally:
            rec.resume(stopped)

    def reset(self) -> None:
        """Forget all that was recorded, and go on with an empty tape."""
        entered = self._recorder.entered
        if entered:
            rec.leave(self._recorder)
        rec.release(self._recorder)
        self._recorder = Recorder(auto=self._watches)
        if self._traced:
            self._recorder.cuts = []
        self._spent = False
        self._reasons = None
        if entered:
            rec.enter(self._recorder)

    # -- derivatives -----------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Unconnected = "none",
    ) -> Any:
        """The gradient of the sum of all target elements for each source, in the structure of `sources`.

        * `target`: a tensor or a nested structure of them.  Integer targets are logged and give None.
        * `sources`: a tensor or variable, or a nested structure of them.
        * `output_gradients`: cotangents, in the structure of `target`: the result is their product with the Jacobian.
        * `unconnected_gradients`: what a source gets that the target does not depend on: None, or "zero" for zeros.

        A tape that is not persistent records no more once a derivative is taken, not even inside its context.

        Raises SpentError if the tape is not persistent and a derivative was taken before.
        """
        check_mode(unconnected_gradients)
        self._check_ready()
        targets = targets_of(target)
        leaves, rebuild = flatten(sources)
        check_sources(leaves)
        seeds = seeds_of(self._recorder, targets, cotangents_of(output_gradients, target, len(targets)), leaves)
        (found,) = self._sweep([seeds], leaves, targets)
        if unconnected_gradients == "zero":
            found = [zeros_for(x) if g is None else g for g, x in zip(found, leaves, strict=True)]
        return rebuild(found)

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: Unconnected = "none", *, vectorized: bool = True
    ) -> Any:
        """The Jacobian of a tensor for each source, (*target.shape, *source.shape), in the structure of `sources`.

        All rows are computed in one sweep, with batched cotangents; row by row, in less memory, if not `vectorized`.
        Raises SpentError as `gradient`.
        """
        check_target("jacobian", target)
        check_mode(unconnected_gradients)
        self._check_ready()
        leaves, rebuild = flatten(sources)
        check_sources(leaves)
        raw = target.array
        size = math.prod(raw.shape)
        if vectorized and size != 1:
            found = self._batch(target, identity(raw, _of_rows(size)), leaves)
        else:
            found = self._rows(target, unit_rows(raw), leaves, vectorized)
        shape = raw.shape
        return rebuild(
            [
                absent(x, shape, unconnected_gradients)
                if g is None
                else g if len(shape) == 1 else F.reshape(g, (*shape, *g.shape[1:]))
                for x, g in zip(leaves, found, strict=True)
            ]
        )

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: Unconnected = "none", *, vectorized: bool = True
    ) -> Any:
        """The Jacobian of each item of a batch for the same item of the source: (b, *target.shape[1:], *source.shape[1:]).

        * `target`, `source`: tensors whose first axes have one length; item i of the target must depend on item i of the
          source alone, else the result is the sum over all items of the target.

        Raises SpentError as `gradient`.
        """
        check_target("batch_jacobian", target)
        check_target("batch_jacobian", source, "source")
        check_mode(unconnected_gradients)
        self._check_ready()
        check_sources([source])
        raw, shape = target.array, source.shape
        if not raw.shape or not shape or raw.shape[0] != shape[0]:
            raise ShapeError(
                f"batch_jacobian(target, source): expected target.shape[0] == source.shape[0], got {raw.shape} and {shape}"
            )
        b, inner = raw.shape[0], raw.shape[1:]
        size = math.prod(inner)
        xp = space_of_type(type(raw))
        rows = xp.broadcast_to(xp.reshape(xp.eye(size, dtype=raw.dtype), (size, 1, *inner)), (size, b, *inner))
        (g,) = self._rows(target, rows, [source], vectorized)
        if g is None:
            return absent(source, raw.shape, unconnected_gradients, shape[1:])
        return F.reshape(F.moveaxis(g, 0, 1), (*raw.shape, *shape[1:]))

    def _rows(self, target: Any, rows: Any, sources: list[Any], vectorized: bool) -> list[Any]:
        """For each source the cotangents that belong to each row, a cotangent of the target; None where there are none."""
        size = rows.shape[0]
        if vectorized and size != 1:
            return self._batch(target, Batched(rows, _of_rows(size)), sources)
        if not size:
            return [None if x is None else F.zeros((0, *x.array.shape), dtype=x.array.dtype) for x in sources]
        each = self._sweep([seeds_of(self._recorder, [target], [tensor(rows[k])], sources) for k in range(size)], sources, [target])
        return [None if gs[0] is None else F.stack(list(gs)) for gs in zip(*each, strict=True)]

    def _batch(self, target: Any, seeds: Batched, sources: list[Any]) -> list[Any]:
        """The same from a batch of cotangents, in one sweep."""
        level = seeds.level
        with inside(level):
            (found,) = self._sweep([seeds_of(self._recorder, [target], [tensor(seeds)], sources)], sources, [target])
        return [None if g is None else stacked(g, level) for g in found]

    def explain(self, target: Any, source: Any) -> str:
        """Whether the gradient of a tensor for another is there, through which ops; or why it is None, in a sentence.

        A tape that `gradient` has spent still tells of that call's target why a source got None.  A tape with `traced=True`
        also names the places where values were cut off from the source: by `stop_gradient`, `no_grad`, a cast to integers, a
        comparison, `x.numpy()`.  Raises SpentError for all else that is asked of a spent tape.

        >>> import tapegrad as tg
        >>> x, w = tg.asarray(1.5), tg.Variable(2.0)
        >>> with tg.GradientTape() as tape:
        ...     y = tg.sin(w * x)
        >>> tape.explain(y, w)
        'a gradient, through 2 ops: source -> multiply -> sin -> target'
        >>> tape.explain(y, x).partition(";")[0]
        'None: the source was never watched by this tape'
        """
        from tapegrad.inspect.explaining import explained

        check_target("explain", target)
        check_target("explain", source, "source")
        asked = present(source) if STAND_INS else source
        if self._spent:
            known = self._reasons and self._reasons.why(target, asked)
            if known:
                return known
            raise SpentError(
                "explain(target, source): a derivative was taken from this tape, which knows no more than why that was None; "
                "ask before tape.gradient, or use GradientTape(persistent=True)"
            )
        self._check_ready()
        return explained(target, asked, self._recorder)

    def _push(self, sources: list[Any], tangents: list[Any], targets: list[Any]) -> list[Any]:
        """The tangents of the targets, through what this tape has recorded; zeros where they do not depend on the sources.

        Sources are tensors that it watches, or None, and the tape is persistent, and has been left.
        """
        return pushed(self._recorder, sources, tangents, targets)

    def _check_ready(self) -> None:
        if self._spent:
            raise SpentError(
                "a derivative was taken from this tape before, and it has let go of its values; "
                "use GradientTape(persistent=True) to take several"
            )
        if not self._recorder.groups:
            raise GradientError("a derivative was asked of a tape that has recorded nothing: it was never entered")

    def _sweep(self, batches: list[Any], sources: list[Any], targets: list[Any]) -> list[list[Any]]:
        """Run the engine for each list of seeds of the targets, recorded if anybody else is recording what is swept."""
        recorder = self._recorder
        if STAND_INS:
            sources = list(map(present, sources))
        consume = not self._persistent
        paused = rec.pause([recorder]) if consume and recorder.entered else None
        try:
            found = []
            for k, seeds in enumerate(batches, 1):
                nodes = [
                    n
                    if x is not None and (n := x.node) is not None and n.p is None and recorder in n.owners.recorders
                    else source_of(x, recorder, seeds)
                    for x in sources
                ]
                found.append(swept(recorder, seeds, nodes, consume=consume and k == len(batches)))
        except BaseException:
            if paused:
                rec.resume(paused)
            raise
        if consume:
            if recorder.entered:
                rec.leave(recorder)
            for g in found[0]:
                if g is None:
                    from tapegrad.inspect.explaining import Reasons

                    without = [x for x, g in zip(sources, found[0], strict=True) if g is None]
                    self._reasons = Reasons(targets, without, recorder)
                    break
            self._spent = True
            self._watched = tuple(recorder.variables)
            rec.release(recorder)
        return found


def _of_rows(size: int) -> Level:
    """The level of a batch of so many rows of a Jacobian."""
    return new_level(size, randomness="same")
