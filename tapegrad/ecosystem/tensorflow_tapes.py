"""TensorFlow's own code under a tape: a `tf.function`, a layer, whatever computes with its tensors and variables.

Where a tape of tapegrad meets TensorFlow's tensors, one of TensorFlow's is put beside it, which records what TensorFlow
computes: `Beside`.  A tensor of tapegrad that goes over is a source of that tape, a tensor of TensorFlow's that comes back
(an argument of an op, a target) is a node whose pullback asks it.  Each tape has one of its own beside it, so derivatives
of derivatives are recorded by those that go on, as TensorFlow's tapes do in each other.

What comes back is told by TensorFlow's word that some tape records it.  A tensor that only a `tf.GradientTape` of the user's
records is taken for one that might be ours: its node gets no cotangent to pass on.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import TYPE_CHECKING, Any, final

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.framework.ops import SymbolicTensor
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tapegrad.core import watching
from tapegrad.core.engine import sweeping
from tapegrad.core.node import Node, Recorded, make_node, receive
from tapegrad.core.recorder import EMPTY, Recorder, group, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.errors import DTypeError, GradientError, NotDifferentiable
from tapegrad.kernels.batched import Batched
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_calls import EAGER, MANY
from tapegrad.kernels.tensorflow_graphs import graph, is_branch
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import moved
from tapegrad.registry.space import F, space_of_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class _Local(threading.local):
    def __init__(self) -> None:
        self.besides: list[Any] = []  # weak references


_local = _Local()


@final
class Beside:
    """The tape of TensorFlow's beside the recorder of one of ours."""

    __slots__ = ("__weakref__", "graph", "known", "leaves", "recorder", "taken", "tape")

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.graph = graph()
        self.tape: Any = tf.GradientTape(persistent=True, watch_accessed_variables=recorder.auto)
        #: What TensorFlow was given: its tensor or variable, the node, and whether that is of an array of NumPy's.
        self.leaves: list[tuple[Any, Node, bool]] = []
        self.known: dict[int, tuple[Any, Tensor]] = {}  # tensors of TensorFlow's and what they are here, by identity
        self.taken = 0  # so many variables that the tape watches by itself are leaves
        _local.besides.append(weakref.ref(self))

    def start(self) -> None:
        """Record from now on."""
        if not self.tape._recording:
            self.tape.__enter__()

    def stop(self) -> None:
        """Record nothing for now."""
        if self.tape._recording:
            self.tape.__exit__(None, None, None)

    def add(self, x: Any, t: Tensor, *, of_numpy: bool = False) -> None:
        """Take a tensor or a variable of TensorFlow's for a source, which is `t` here."""
        assert t.node is not None
        self.tape.watch(x)
        self.leaves.append((x, t.node, of_numpy))
        self.known[id(x)] = (x, t)

    def take_variables(self) -> None:
        """Make those variables sources that the tape has come to watch by itself."""
        variables = self.tape.watched_variables()
        for v in variables[self.taken :]:
            if id(v) not in self.known:
                self.add(v, _watched(v, self.recorder))
        self.taken = len(variables)

    def knows(self, y: Any) -> bool:
        """Whether the tape may have recorded a tensor."""
        with _only(self):
            return bool(pywrap_tfe.TFE_Py_TapeSetShouldRecordBackprop([y]))


def _live() -> list[Beside]:
    """The tapes beside those of this thread that may still be asked, newest first."""
    refs = _local.besides
    if not refs:
        return []
    found = [b for ref in refs if (b := ref()) is not None and b.recorder.live]
    if len(found) < len(refs):
        refs[:] = [weakref.ref(b) for b in found]
    return sorted(found, key=lambda b: -b.recorder.serial)


def _beside(recorder: Recorder) -> Beside:
    """The tape beside a recorder; from now on there is one."""
    found: Beside | None = recorder.beside
    if found is None:
        found = recorder.beside = Beside(recorder)
        if recorder in state.active.recorders:
            found.start()
    return found


@contextlib.contextmanager
def _stopped(besides: Iterable[Beside]) -> Iterator[None]:
    running = [b for b in besides if b.tape._recording]
    for b in running:
        b.stop()
    try:
        yield
    finally:
        for b in running:
            b.start()


@contextlib.contextmanager
def _only(beside: Beside) -> Iterator[None]:
    ran = beside.tape._recording
    with _stopped([b for b in _live() if b is not beside]):
        beside.start()
        try:
            yield
        finally:
            if not ran:
                beside.stop()


# -- over to TensorFlow, and back ------------------------------------------------------------------------
def attend() -> None:
    """Have the variables watched that TensorFlow reads, for tapes that watch variables by themselves."""
    for recorder in state.active.recorders:
        if recorder.auto and is_tape(recorder):
            _beside(recorder)


def is_tape(recorder: Recorder) -> bool:
    """Whether a recorder is that of a tape or an accumulator, which begins and ends."""
    return recorder.keeping or recorder.on_push is not None


def _same(x: Any) -> Any:
    """Another tensor of TensorFlow's of the same memory, where that is: its tapes tell tensors by identity."""
    with _where(x):
        return tf.identity(x)


def _where(x: Any) -> contextlib.AbstractContextManager[Any]:
    """What lets TensorFlow compute where a tensor is, if there is a choice."""
    scope: contextlib.AbstractContextManager[Any] = tf.device(x.device) if MANY and type(x) is EAGER else contextlib.nullcontext()
    return scope


def exported(raw: Any, node: Node) -> Any:
    """A tensor of TensorFlow's for one that tapes record: what is computed of it is recorded too."""
    of_numpy = type(raw) is not TFArray
    here = graph()
    if is_branch(here):
        for recorder in node.owners.recorders & state.active.recorders:
            if recorder.beside is None or recorder.beside.graph is not here:
                raise GradientError(  # no TypeError, in whose place TensorFlow would put one of its own
                    "a tape does not see inside a branch or a loop of TensorFlow's graph (an `if` or a `for` over tensors in a "
                    "tf.function, tf.cond, tf.while_loop, tf.map_fn), where ops of tapegrad have been recorded; use TensorFlow's "
                    "ops there, tapegrad.where for an `if`, a range of Python's for a loop, or tapegrad.vmap"
                )
    found = _same(tf.constant(raw) if of_numpy else raw.bare)
    t = linked(raw, node)
    for recorder in node.owners.recorders & state.active.recorders:
        if is_tape(recorder):
            _beside(recorder).add(found, t, of_numpy=of_numpy)
    return found


def standing(x: Any) -> Any:
    """What a tensor or variable of TensorFlow's is here, for a tape that knows it; itself, if there is none."""
    besides = _live()
    if not besides:
        return x
    here = graph()
    if is_branch(here):  # what is computed there of tensors from outside, TensorFlow's own tape sees as one op
        besides = [b for b in besides if b.graph is here]
    for b in besides:
        b.take_variables()
    known = _known(x, besides)
    if isinstance(x, tf.Variable):
        return _read(x, None if known is None else known.node)
    if known is None:
        known = _computed(x, besides)
    return x if known is None else known


def _known(x: Any, besides: Sequence[Beside]) -> Tensor | None:
    return next((b.known[id(x)][1] for b in besides if id(x) in b.known), None)


def _computed(x: Any, besides: Sequence[Beside]) -> Tensor | None:
    """A tensor that TensorFlow has computed of what it was given."""
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return None
    knowing = [b for b in besides if b.leaves and b.knows(x)]
    if not knowing:
        return None
    with _stopped(besides):
        raw = wrapped(_same(x))
    parents = tuple({id(node): node for b in knowing for _, node, _ in b.leaves}.values())
    owners = group(frozenset(b.recorder for b in knowing))
    t = linked(raw, make_node(_COMPUTED, parents[0], parents, x, None, owners))
    for b in knowing:
        b.known[id(x)] = (x, t)
    return t


def watch(x: Any, recorder: Recorder) -> None:
    """Record what TensorFlow computes of its tensor or variable from now on."""
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(
            f"watch(value): expected a floating dtype, got {x.dtype.name}; integers have no derivative, so write "
            "tf.cast(value, tf.float32)"
        )
    _beside(recorder).add(x, _watched(x, recorder))


def _watched(x: Any, recorder: Recorder) -> Tensor:
    """What a new source of a tape beside is here."""
    besides = _live()
    t = _known(x, besides)
    with _stopped(besides):
        if isinstance(x, tf.Variable):
            t = tensor(wrapped(x)) if t is None else t
        elif t is None:
            t = _computed(x, besides)
            t = tensor(wrapped(_same(x))) if t is None else t
    watching.watch(t, frozenset([recorder]))  # one tensor for all tapes that know it
    return t


def _read(v: Any, node: Node | None) -> Tensor:
    """A variable with its present value."""
    with _stopped(_live()):
        found: Tensor = linked(wrapped(v), node)
        return found


# -- the steps of the engine -----------------------------------------------------------------------------
def _tape_of(node: Node) -> Beside:
    """The tape beside that for which the engine is at work, or another one that knows the node."""
    recorder = sweeping()
    if recorder is not None and recorder.beside is not None:
        found: Beside = recorder.beside
        return found
    return next(r.beside for r in node.owners.recorders if r.beside is not None)


def _pull(node: Node, g: Any) -> None:
    wanted = _wanted(node)
    with _stopped(_live()):
        found = _by_rows(lambda g: _gradients(node, wanted, g), g)
    for (_, p, _), c in zip(wanted, found, strict=True):
        if c is not None:
            receive(p, c)


def _wanted(node: Node) -> list[tuple[Any, Node, bool]]:
    return [leaf for leaf in _tape_of(node).leaves if leaf[1].mark is node.mark and leaf[1].seq < node.seq]


def _gradients(node: Node, wanted: Sequence[Any], g: TFArray) -> list[TFArray | None]:
    """Raw cotangents of sources, for a raw one of what was computed."""
    found = _asked(_tape_of(node), node.s, [x for x, _, _ in wanted], moved(g, "tensorflow").bare)
    return [
        None if c is None else moved(wrapped(c), "numpy") if of_numpy else wrapped(c)
        for c, (_, _, of_numpy) in zip(found, wanted, strict=True)
    ]


def _asked(beside: Beside, y: Any, sources: Sequence[Any], g: Any) -> list[Any]:
    """What TensorFlow's tape gives, dense."""
    try:
        with _where(y):
            found = beside.tape.gradient(y, sources, output_gradients=g)
    except LookupError as error:
        raise NotDifferentiable(f"tensorflow: it has no derivative of an op of its own ({error})") from error
    return [c if c is None or isinstance(c, tf.Tensor) else tf.convert_to_tensor(c) for c in found]


def _by_rows(run: Callable[[Any], list[Any]], g: Any) -> list[Any]:
    """The same for each item of a batch of cotangents, one after the other."""
    if type(g) is not Batched:
        return run(g)
    rows = [_by_rows(run, g.value[i]) for i in range(g.level.size)]
    stack: Any = F.stack
    return [
        None if cs[0] is None else Batched(stack([tensor(c) for c in cs]).array, g.level) for cs in zip(*rows, strict=True)
    ]


def _pull_recorded(node: Node, g: Tensor) -> None:
    wanted = _wanted(node)
    levels: list[Any] = []
    while type(g.array) is Batched:
        levels.append(g.array.level)
        g = F.unbatch(g, g.array.level)
    found = _recorded_rows(node, wanted, g, [level.size for level in levels])
    for (_, p, _), c in zip(wanted, found, strict=True):
        if c is not None:
            receive(p, functools.reduce(F.enbatch, reversed(levels), c))


def _recorded_rows(node: Node, wanted: Sequence[Any], g: Tensor, sizes: Sequence[int]) -> list[Any]:
    if sizes:
        rows = [_recorded_rows(node, wanted, g[i], sizes[1:]) for i in range(sizes[0])]
        return [None if cs[0] is None else F.stack(list(cs)) for cs in zip(*rows, strict=True)]
    ours = _tape_of(node)
    bare = handed(asarray(g, backend="tensorflow"))
    with _stopped([] if ours.recorder in state.active.recorders else [ours]):
        found = _asked(ours, node.s, [x for x, _, _ in wanted], bare)
    return [
        None if c is None else asarray(c, backend="numpy" if of_numpy else None)
        for c, (_, _, of_numpy) in zip(found, wanted, strict=True)
    ]


def handed(x: Tensor) -> Any:
    """A tensor of TensorFlow's for a tensor on its kernels, recorded where that is."""
    raw, node = x.read()
    if node is None or state.active is EMPTY or node.owners.recorders.isdisjoint(state.active.recorders):
        return raw.bare
    return exported(raw, node)


def _push(node: Node, tangents: tuple[Any, ...]) -> Any:
    ours, sources, ts = _directions(node, tangents)

    def run(ts: list[Any]) -> Any:
        found = _pushed(node, ours, sources, [moved(t, "tensorflow").bare for t in ts])
        return wrapped(tf.zeros_like(node.s) if found is None else found)

    with _stopped(_live()):
        return _each_item(run, ts)


def _each_item(run: Callable[[list[Any]], Any], ts: list[Any]) -> Any:
    """The same for each item of batches of tangents, one after the other."""
    level = max((t.level for t in ts if type(t) is Batched), default=None)
    if level is None:
        return run(ts)
    items = [[t.value[i] if type(t) is Batched and t.level == level else t for t in ts] for i in range(level.size)]
    stack: Any = F.stack
    return Batched(stack([tensor(_each_item(run, item)) for item in items]).array, level)


def _push_recorded(node: Node, tangents: tuple[Any, ...]) -> Any:
    ours, sources, ts = _directions(node, tangents)
    return _recorded_items(node, ours, sources, ts)


def _recorded_items(node: Node, ours: Beside, sources: list[Any], ts: list[Tensor]) -> Tensor:
    level = max((t.array.level for t in ts if type(t.array) is Batched), default=None)
    if level is not None:
        rows = [F.unbatch(t, level) if type(t.array) is Batched and t.array.level == level else None for t in ts]
        each = [
            _recorded_items(node, ours, sources, [t if r is None else r[i] for t, r in zip(ts, rows, strict=True)])
            for i in range(level.size)
        ]
        found: Tensor = F.enbatch(F.stack(each), level)
        return found
    bare = [handed(asarray(t, backend="tensorflow")) for t in ts]
    with _stopped([ours]):
        pushed = _pushed(node, ours, sources, bare)
    return asarray(tf.zeros_like(node.s) if pushed is None else pushed)


def _directions(node: Node, tangents: tuple[Any, ...]) -> tuple[Beside, list[Any], list[Any]]:
    """A tape that knows all sources that have tangents, and these."""
    assert type(node.q) is tuple
    given = {id(p): t for p, t in zip(node.q, tangents, strict=True) if t is not None}
    active = state.active.recorders  # these record what is pushed
    for recorder in sorted(node.owners.recorders, key=lambda r: (r in active, -r.serial)):
        if recorder.beside is not None:
            leaves = {id(p): x for x, p, _ in recorder.beside.leaves}
            if given.keys() <= leaves.keys():
                return recorder.beside, [leaves[k] for k in given], list(given.values())
    raise AssertionError("a source that no tape knows")


def _pushed(node: Node, ours: Beside, sources: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The tangent of what was computed: the pullback is linear, and this is its transpose.  None for zero."""
    with _where(node.s):
        zeros = tf.zeros_like(node.s)
        with tf.GradientTape() as tape:
            tape.watch(zeros)
            found = _asked(ours, node.s, sources, zeros)
        there = [(c, t) for c, t in zip(found, tangents, strict=True) if c is not None]
        return tape.gradient([c for c, _ in there], zeros, output_gradients=[t for _, t in there]) if there else None


_COMPUTED = Recorded("tensorflow", _pull, _pull_recorded, _push, _push_recorded)
for _kind in (EAGER, SymbolicTensor, ResourceVariable):
    space_of_type(_kind)  # from now on a tensor may stand for one of ours
