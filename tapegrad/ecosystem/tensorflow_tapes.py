"""TensorFlow's own code under a tape: a `tf.function`, a layer, whatever computes with its tensors and variables.

Where a tape of tapegrad meets TensorFlow's tensors, one of TensorFlow's is put beside it, which records what TensorFlow
computes: `Beside`.  A tensor of tapegrad that goes over is a source of that tape, a tensor of TensorFlow's that comes back
(an argument of an op, a target) is a node whose pullback asks it.  Each tape has one of its own beside it, so derivatives
of derivatives are recorded by those that go on, as TensorFlow's tapes do in each other.

What comes back is told by TensorFlow's word that some tape records it.  A tensor that only a `tf.GradientTape` of the user's
records is taken for one that might be ours: its node gets no cotangent to pass on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.framework.ops import SymbolicTensor
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tapegrad.core import watching
from tapegrad.core.node import Node, make_node
from tapegrad.core.recorder import Recorder, group, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.ecosystem.tensorflow_beside import Beside, beside_of, exported, is_tape, live, same, stopped
from tapegrad.ecosystem.tensorflow_pulls import COMPUTED
from tapegrad.errors import DTypeError
from tapegrad.kernels.tensorflow_array import wrapped
from tapegrad.kernels.tensorflow_calls import EAGER
from tapegrad.kernels.tensorflow_graphs import graph, is_branch
from tapegrad.registry.space import space_of_type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["attend", "exported", "is_tape", "standing", "watch"]


def attend() -> None:
    """Have the variables watched that TensorFlow reads, for tapes that watch variables by themselves."""
    for recorder in state.active.recorders:
        if recorder.auto and is_tape(recorder):
            beside_of(recorder)


def standing(x: Any) -> Any:
    """What a tensor or variable of TensorFlow's is here, for a tape that knows it; itself, if there is none."""
    besides = live()
    if not besides:
        return x
    here = graph()
    if is_branch(here):  # what is computed there of tensors from outside, TensorFlow's own tape sees as one op
        besides = [b for b in besides if b.graph is here]
    for b in besides:
        _take_variables(b)
    known = _known(x, besides)
    if isinstance(x, tf.Variable):
        return _read(x, None if known is None else known.node)
    if known is None:
        known = _computed(x, besides)
    return x if known is None else known


def _take_variables(beside: Beside) -> None:
    """Make those variables sources that the tape has come to watch by itself."""
    variables = beside.tape.watched_variables()
    for v in variables[beside.taken :]:
        if id(v) not in beside.known:
            beside.add(v, _watched(v, beside.recorder))
    beside.taken = len(variables)


def _known(x: Any, besides: Sequence[Beside]) -> Tensor | None:
    return next((b.known[id(x)][1] for b in besides if id(x) in b.known), None)


def _computed(x: Any, besides: Sequence[Beside]) -> Tensor | None:
    """A tensor that TensorFlow has computed of what it was given."""
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return None
    knowing = [b for b in besides if b.leaves and b.knows(x)]
    if not knowing:
        return None
    with stopped(besides):
        raw = wrapped(same(x))
    parents = tuple(dict.fromkeys(node for b in knowing for _, node, _ in b.leaves))
    owners = group(frozenset(b.recorder for b in knowing))
    t = linked(raw, make_node(COMPUTED, parents[0], parents, x, None, owners))
    for b in knowing:
        b.crossed(x, t)
    return t


def watch(x: Any, recorder: Recorder) -> None:
    """Record what TensorFlow computes of its tensor or variable from now on."""
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(
            f"watch(value): expected a floating dtype, got {x.dtype.name}; integers have no derivative, so write "
            "tf.cast(value, tf.float32)"
        )
    beside_of(recorder).add(x, _watched(x, recorder))


def _watched(x: Any, recorder: Recorder) -> Tensor:
    """What a new source of a tape beside is here."""
    besides = live()
    t = _known(x, besides)
    with stopped(besides):
        if isinstance(x, tf.Variable):
            t = tensor(wrapped(x)) if t is None else t
        elif t is None:
            t = _computed(x, besides)
            t = tensor(wrapped(same(x))) if t is None else t
    watching.watch(t, frozenset([recorder]))  # one tensor for all tapes that know it
    return t


def _read(v: Any, node: Node | None) -> Tensor:
    """A variable with its present value."""
    with stopped(live()):
        found: Tensor = linked(wrapped(v), node)
        return found


for _kind in (EAGER, SymbolicTensor, ResourceVariable):
    space_of_type(_kind)  # from now on a tensor may stand for one of ours
