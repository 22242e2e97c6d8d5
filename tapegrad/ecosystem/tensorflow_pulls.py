"""The steps of the engine through what TensorFlow has computed: its tape beside is asked."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.eager.imperative_grad import imperative_grad

from tapegrad.core.marks import sweeping
from tapegrad.core.node import Node, Recorded, receive
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.ecosystem.tensorflow_beside import Beside, exported, live, stopped, where
from tapegrad.errors import NotDifferentiable
from tapegrad.kernels.batched import Batched
from tapegrad.kernels.tensorflow_array import wrapped
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import moved
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _tape_of(node: Node) -> Beside:
    """The tape beside that for which the engine is at work, or another one that knows the node."""
    recorder = sweeping()
    if recorder is not None and recorder.beside is not None:
        found: Beside = recorder.beside
        return found
    return next(r.beside for r in node.owners.recorders if r.beside is not None)


def _left(node: Node, wanted: Sequence[tuple[Any, Node, bool]], g: Any, zero: Callable[[Any], Any]) -> bool:
    """Leave a cotangent to an older crossing, if no source between them waits for what it gives.

    TensorFlow's tape goes back to its beginning each time that it is asked, so that it is asked for all together: else a
    model of TensorFlow's whose outputs come over one by one costs the square of their number (measured for 100: 0.6 s, so 0.05).
    """
    beside = _tape_of(node)
    older = beside.before(node)
    if older is None or older.mark is not node.mark or any(p.seq > older.seq for _, p, _ in reversed(wanted)):
        return False
    beside.waiting.setdefault(older, []).extend((node.mark, y, c) for y, c in [(node.s, g), *beside.left_to(node)])
    if older.grad is None:  # it is asked for all the same
        older.grad, older.own = zero(older.s), False
    return True


def _pull(node: Node, g: Any) -> None:
    wanted = _wanted(node)
    with stopped(live()):
        if type(g) is Batched:  # what was left is no batch
            left = _tape_of(node).left_to(node)
            found = [_gradients(node, wanted, left)] if left else []
            found.append(_by_rows(lambda g: _gradients(node, wanted, [(node.s, g)]), g))
        elif _left(node, wanted, g, lambda y: wrapped(tf.zeros_like(y))):
            return
        else:
            found = [_gradients(node, wanted, [(node.s, g), *_tape_of(node).left_to(node)])]
    for cs in found:
        for (_, p, _), c in zip(wanted, cs, strict=True):
            if c is not None:
                receive(p, c)


def _wanted(node: Node) -> list[tuple[Any, Node, bool]]:
    return [leaf for leaf in _tape_of(node).leaves if leaf[1].mark is node.mark and leaf[1].seq < node.seq]


def _gradients(node: Node, wanted: Sequence[Any], pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Raw cotangents of sources, for raw ones of what was computed."""
    gs = [moved(g, "tensorflow").bare for _, g in pairs]
    found = _asked(_tape_of(node), [y for y, _ in pairs], [x for x, _, _ in wanted], gs)
    return [
        None if c is None else moved(wrapped(c), "numpy") if of_numpy else wrapped(c)
        for c, (_, _, of_numpy) in zip(found, wanted, strict=True)
    ]


def _asked(beside: Beside, ys: Sequence[Any], sources: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
    """What TensorFlow's tape gives, dense.

    A tape has as many sources as tensors have gone over, and is asked as often as some came back.  So it is asked past its
    `gradient`, which looks at each source for some 20 us (measured for 320 times to and fro: 5.8 s, so 0.35).
    """
    try:
        with where(ys[0]):
            found = imperative_grad(beside.tape._tape, list(ys), list(sources), list(gs), list(sources))
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
    if not levels and _left(node, wanted, g, lambda y: tensor(wrapped(tf.zeros_like(y)))):
        return
    left = _tape_of(node).left_to(node)
    if levels:  # what was left is no batch
        found = [_recorded(node, wanted, left)] if left else []
        rows = _recorded_rows(node, wanted, g, [level.size for level in levels])
        found.append([None if c is None else functools.reduce(F.enbatch, reversed(levels), c) for c in rows])
    else:
        found = [_recorded(node, wanted, [(node.s, g), *left])]
    for cs in found:
        for (_, p, _), c in zip(wanted, cs, strict=True):
            if c is not None:
                receive(p, c)


def _recorded_rows(node: Node, wanted: Sequence[Any], g: Tensor, sizes: Sequence[int]) -> list[Any]:
    if sizes:
        rows = [_recorded_rows(node, wanted, g[i], sizes[1:]) for i in range(sizes[0])]
        return [None if cs[0] is None else F.stack(list(cs)) for cs in zip(*rows, strict=True)]
    return _recorded(node, wanted, [(node.s, g)])


def _recorded(node: Node, wanted: Sequence[Any], pairs: Sequence[tuple[Any, Tensor]]) -> list[Any]:
    ours = _tape_of(node)
    gs = [handed(asarray(g, backend="tensorflow")) for _, g in pairs]
    with stopped([] if ours.recorder in state.active.recorders else [ours]):
        found = _asked(ours, [y for y, _ in pairs], [x for x, _, _ in wanted], gs)
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

    with stopped(live()):
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
    with stopped([ours]):
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
    with where(node.s):
        zeros = tf.zeros_like(node.s)
        with tf.GradientTape() as tape:
            tape.watch(zeros)
            found = _asked(ours, [node.s], sources, [zeros])
        there = [(c, t) for c, t in zip(found, tangents, strict=True) if c is not None]
        return tape.gradient([c for c, _ in there], zeros, output_gradients=[t for _, t in there]) if there else None


COMPUTED = Recorded("tensorflow", _pull, _pull_recorded, _push, _push_recorded)
