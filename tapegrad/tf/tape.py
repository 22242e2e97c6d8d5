"""`tf.GradientTape` and `tf.autodiff.ForwardAccumulator`: TensorFlow's words around the tapes of the core."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from enum import Enum
from types import TracebackType
from typing import Any, Self

import tapegrad as tg
from tapegrad.core import tensor as core
from tapegrad.dtypes import is_inexact
from tapegrad.sparse import SparseRows
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.slices import IndexedSlices, slices_of
from tapegrad.tf.style import S, short

_NOT_FLOATING = "The dtype of the %s tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, got %r"
_LOG = logging.getLogger("tapegrad")


class UnconnectedGradients(Enum):
    """What a source gets that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


def _mode(value: Any) -> Any:
    try:
        return UnconnectedGradients(value).value
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}") from None


def found(x: Any) -> Any:
    """A derivative, as TensorFlow shows it."""
    if type(x) is SparseRows:
        return slices_of(x)
    return S.adopt(x)


def _inputs(structure: Any, what: str) -> list[Any]:
    """The tensors and variables of a structure; of slices and ragged tensors the values."""
    leaves: list[Any] = []
    for x in nest.flatten(structure):
        stands = core.standing_for(x)
        if isinstance(stands, core.Tensor):
            leaves.append(stands)
        elif isinstance(x, IndexedSlices):
            leaves.append(x.values)
        elif hasattr(x, "flat_values"):
            leaves.append(x.flat_values)
        elif what == "watch":
            raise ValueError(f"Passed in object {x!r} of type {type(x).__name__!r}, not tf.Tensor or tf.Variable or ExtensionType.")
        else:
            kind = TypeError if x is None else ValueError
            raise kind(f"GradientTape.gradient: {what} are tf.Tensor or tf.Variable, got {x!r} of type {type(x).__name__!r}")
    return leaves


def _packed(sources: Any, gradients: list[Any]) -> Any:
    """Derivatives in the structure of the sources: those of a ragged tensor's values have its rows."""
    leaves = nest.flatten(sources)
    shown = [
        x.with_flat_values(found(g)) if g is not None and hasattr(x, "with_flat_values") else found(g)
        for x, g in zip(leaves, gradients, strict=True)
    ]
    return nest.pack_sequence_as(sources, shown)


class GradientTape:
    """A context that records operations, to differentiate them afterwards, with TensorFlow's words and warnings."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._tape = tg.GradientTape(persistent, watch_accessed_variables)
        self._persistent = persistent
        self._warned = False
        self._entered = False
        self._stopped = False  # whether it is inside `stop_recording`

    # -- recording ---------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        if self._tape.recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        self._tape.__enter__()
        self._entered = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._tape.recording:
            self._tape.__exit__(kind, error, trace)

    def watch(self, tensor: Any) -> None:
        """Record what is computed from this tensor or variable, or each in a nested structure, from now on.

        Integers and strings have no derivative: they are logged and not watched.
        """
        for x in _inputs(tensor, "watch"):
            if not is_inexact(x.array.dtype):
                _LOG.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", as_dtype(x.array.dtype)
                )
            else:
                self._ready()
                self._tape.watch(x)

    def owns(self, x: core.Tensor) -> bool:
        """Whether this tape watches a tensor or has recorded how it came to be."""
        node = x.read()[1]
        return node is not None and self._tape._recorder in node.owners.recorders

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that this tape watches, in the order in which they were made."""
        return tuple(sorted(self._tape.watched_variables(), key=lambda v: getattr(v, "_born", math.inf)))

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing to this tape inside; raises ValueError outside the context, RuntimeError for a tape without record."""
        if not self._tape.recording and not (self._entered and not self._tape.spent):
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        if self._stopped or not self._tape.recording:
            raise ValueError("Tape is not recording.")
        self._stopped = True
        try:
            with self._tape.stop_recording():
                yield
        finally:
            self._stopped = False

    def reset(self) -> None:
        """Forget all that was recorded, and go on with an empty tape; raises ValueError outside the context."""
        if not self._tape.recording:
            raise ValueError("Tape is not recording.")
        self._tape.reset()

    # -- derivatives ---------------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of all target elements for each source, in the structure of `sources`."""
        self._ready()
        mode = _mode(unconnected_gradients)
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
                "differentiated, but received None."
            )
        self._warn_inside("gradient")
        targets = _inputs(target, "targets")
        given = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        if len(given) != len(targets):
            raise ValueError(f"output_gradients: expected one for each of {len(targets)} targets, got {len(given)}")
        ys, gs = [], []
        for y, g in zip(targets, given, strict=True):
            if not is_inexact(y.array.dtype):
                _LOG.warning(_NOT_FLOATING, "target", as_dtype(y.array.dtype))
                continue
            ys.append(y)
            gs.append(None if g is None else _seed(y, g))
        xs = self._sources(sources)
        return _packed(sources, self._tape.gradient(ys, xs, gs, mode))

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of a tensor for each source, in the structure of `sources`: target's axes, then the source's."""
        self._ready()
        mode = _mode(unconnected_gradients)
        y = core.standing_for(target)
        if not isinstance(y, core.Tensor):
            raise ValueError(f"GradientTape.jacobian: target is a tf.Tensor, got {target!r}")
        xs = self._sources(sources)
        self._may_loop("jacobian", experimental_use_pfor)
        jacobians = self._tape.jacobian(y, xs, mode, vectorized=bool(experimental_use_pfor))
        return nest.pack_sequence_as(sources, [found(j) for j in jacobians])

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each row of the target for the same row of the source, (n, *I) by (n, *J): (n, *I, *J)."""
        self._ready()
        _mode(unconnected_gradients)
        y, x = core.standing_for(target), core.standing_for(source)
        for what, given in (("target", y), ("source", x)):
            if not isinstance(given, core.Tensor):
                raise ValueError(f"GradientTape.batch_jacobian: {what} is a tf.Tensor, got {given!r}")
        a, b = y.array.shape, x.array.shape
        if (a and len(a) < 2) or (b and len(b) < 2):
            shapes = f"target {tuple(a)} and source {tuple(b)}"
            raise ValueError(f"batch_jacobian: target and source must have rank at least 2 (a batch axis and another), got {shapes}")
        if not a or not b or a[:1] != b[:1]:
            raise ValueError(f"Need first dimension of target shape ({tuple(a)}) and source shape ({b}) to match.")
        self._may_loop("batch_jacobian", experimental_use_pfor)
        return found(self._tape.batch_jacobian(y, x, "zero", vectorized=bool(experimental_use_pfor)))

    def _may_loop(self, what: str, at_once: bool) -> None:
        if not at_once and not self._persistent:
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {what} with eager execution enabled and "
                "with experimental_use_pfor set to False."
            )

    def _sources(self, sources: Any) -> list[Any]:
        leaves = _inputs(sources, "sources")
        for x in leaves:
            if not is_inexact(x.array.dtype):
                _LOG.warning(_NOT_FLOATING, "source", as_dtype(x.array.dtype))
        return leaves

    def _ready(self) -> None:
        if self._tape.spent and not self._tape.recording:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")

    def _warn_inside(self, what: str) -> None:
        if self._persistent and self._tape.recording and not self._warned:
            self._warned = True
            _LOG.warning(
                "Calling GradientTape.%s on a persistent tape inside its context is significantly less efficient than calling "
                "it outside the context (it causes the gradient ops to be recorded on the tape, leading to increased CPU and "
                "memory usage). Only call GradientTape.%s inside the context if you actually want to trace the gradient in "
                "order to compute higher order derivatives.",
                what,
                what,
            )


def _seed(y: Any, g: Any) -> Any:
    """A cotangent in the dtype and shape of its target."""
    is_typed = isinstance(g, core.Tensor) or hasattr(g, "dtype")  # an array of NumPy's does not adapt
    t = convert(g) if is_typed else convert(g, y.array.dtype, prefer=True)
    if t.array.dtype != y.array.dtype:
        raise invalid(
            None, f"output_gradients: expected a {short(y.array.dtype)} tensor, but it is a {short(t.array.dtype)} tensor"
        )
    if t.array.shape != y.array.shape:
        raise invalid(
            None, f"output_gradients: expected the target's shape {tuple(y.array.shape)}, got shape {tuple(t.array.shape)}"
        )
    return t


class ForwardAccumulator:
    """A context in which every op also computes the directional derivative of its output."""

    def __init__(self, primals: Any, tangents: Any) -> None:
        nest.assert_same_structure(primals, tangents)
        xs = _inputs(primals, "primals")
        if len({id(x) for x in xs}) < len(xs):
            raise ValueError(
                "A tensor was specified as a primal multiple times. This may indicate an error. If it was intended, please sum the "
                "corresponding tangents."
            )
        ts = [
            convert(t, x.array.dtype, prefer=not isinstance(t, core.Tensor))
            for x, t in zip(xs, nest.flatten(tangents), strict=True)
        ]
        for x in xs:
            if not is_inexact(x.array.dtype):
                _LOG.warning(
                    "The dtype of the watched primal must be floating (e.g. tf.float32), got %r", as_dtype(x.array.dtype)
                )
        followed = [k for k, x in enumerate(xs) if is_inexact(x.array.dtype)]
        self._accumulator = tg.ForwardAccumulator([xs[k] for k in followed], [ts[k] for k in followed])

    def __enter__(self) -> Self:
        if self._accumulator._recorder.entered:
            raise ValueError("Accumulator is already recording.")
        self._accumulator.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._accumulator.__exit__(kind, error, trace)

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The tangent of each tensor in a structure; None (or zeros) where it does not depend on the inputs."""
        mode = _mode(unconnected_gradients)
        leaves = [core.standing_for(x) for x in nest.flatten(primals)]
        return nest.pack_sequence_as(primals, [found(t) for t in self._accumulator.jvp(leaves, mode)])
