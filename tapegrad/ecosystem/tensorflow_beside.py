"""A tape of TensorFlow's beside one of tapegrad's, and the tensors that go over to it."""

from __future__ import annotations

import bisect
import contextlib
import operator
import threading
import weakref
from typing import TYPE_CHECKING, Any, final

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tapegrad.core.node import Node
from tapegrad.core.recorder import Recorder, state
from tapegrad.core.tensor import Tensor, linked
from tapegrad.errors import GradientError
from tapegrad.kernels.tensorflow_array import TFArray
from tapegrad.kernels.tensorflow_calls import EAGER, MANY
from tapegrad.kernels.tensorflow_graphs import graph, is_branch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_age = operator.attrgetter("seq")


class _Local(threading.local):
    def __init__(self) -> None:
        self.besides: list[Any] = []  # weak references


_local = _Local()


@final
class Beside:
    """The tape of TensorFlow's beside the recorder of one of ours."""

    __slots__ = ("__weakref__", "crossings", "graph", "known", "leaves", "recorder", "taken", "tape", "waiting")

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.graph = graph()
        self.tape: Any = tf.GradientTape(persistent=True, watch_accessed_variables=recorder.auto)
        #: What TensorFlow was given: its tensor, or a variable's handle, the node, and whether that is of an array of NumPy's.
        self.leaves: list[tuple[Any, Node, bool]] = []
        self.known: dict[int, tuple[Any, Tensor]] = {}  # tensors of TensorFlow's and what they are here, by identity
        self.taken = 0  # so many variables that the tape watches by itself are leaves
        self.crossings: list[Node] = []  # of what TensorFlow has computed and came back, oldest first
        #: By crossing, what newer ones have left to it: the token of the sweep, the tensor, its cotangent.
        self.waiting: dict[Node, list[tuple[Any, Any, Any]]] = {}
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
        self.leaves.append((x.handle if isinstance(x, ResourceVariable) else x, t.node, of_numpy))
        self.known[id(x)] = (x, t)

    def crossed(self, x: Any, t: Tensor) -> None:
        """Take note of a tensor that comes back, which is `t` here."""
        assert t.node is not None
        self.known[id(x)] = (x, t)
        self.crossings.append(t.node)

    def before(self, node: Node) -> Node | None:
        """The crossing before this one."""
        at = bisect.bisect_left(self.crossings, node.seq, key=_age)
        return self.crossings[at - 1] if at else None

    def left_to(self, node: Node) -> list[tuple[Any, Any]]:
        """Take what newer crossings have left to this one in the sweep under way: tensors and their cotangents."""
        found = self.waiting.pop(node, [])
        others = [w for w in found if w[0] is not node.mark]  # of a sweep around this one, or of one that failed
        if others:
            self.waiting[node] = others
        return [(y, g) for token, y, g in found if token is node.mark]

    def knows(self, y: Any) -> bool:
        """Whether the tape may have recorded a tensor."""
        with only(self):
            return bool(pywrap_tfe.TFE_Py_TapeSetShouldRecordBackprop([y]))


def live() -> list[Beside]:
    """The tapes beside those of this thread that may still be asked, newest first."""
    refs = _local.besides
    if not refs:
        return []
    found = [b for ref in refs if (b := ref()) is not None and b.recorder.live]
    if len(found) < len(refs):
        refs[:] = [weakref.ref(b) for b in found]
    return sorted(found, key=lambda b: -b.recorder.serial)


def beside_of(recorder: Recorder) -> Beside:
    """The tape beside a recorder; from now on there is one."""
    found: Beside | None = recorder.beside
    if found is None:
        found = recorder.beside = Beside(recorder)
        if recorder in state.active.recorders:
            found.start()
    return found


@contextlib.contextmanager
def stopped(besides: Iterable[Beside]) -> Iterator[None]:
    running = [b for b in besides if b.tape._recording]
    for b in running:
        b.stop()
    try:
        yield
    finally:
        for b in running:
            b.start()


@contextlib.contextmanager
def only(beside: Beside) -> Iterator[None]:
    ran = beside.tape._recording
    with stopped([b for b in live() if b is not beside]):
        beside.start()
        try:
            yield
        finally:
            if not ran:
                beside.stop()


def is_tape(recorder: Recorder) -> bool:
    """Whether a recorder is that of a tape or an accumulator, which begins and ends."""
    return recorder.keeping or recorder.on_push is not None


def same(x: Any) -> Any:
    """Another tensor of TensorFlow's of the same memory, where that is: its tapes tell tensors by identity."""
    with where(x):
        return tf.identity(x)


def where(x: Any) -> contextlib.AbstractContextManager[Any]:
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
    found = same(tf.constant(raw) if of_numpy else raw.bare)
    t = linked(raw, node)
    for recorder in node.owners.recorders & state.active.recorders:
        if is_tape(recorder):
            beside_of(recorder).add(found, t, of_numpy=of_numpy)
    return found
