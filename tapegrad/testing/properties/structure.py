"""What the values show of a function, its gradient has too: rows of their own, symmetries, broadcasting, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import eps_in
from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.properties.agreement import apart, steady
from tapegrad.testing.trial import filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial

    Move = Callable[[Any], Any]

#: Inputs at which a value does not have a symmetry by accident.
_GENERIC = frozenset(["usual", "positive", "negative", "the example"])


def batch(t: Trial) -> Outcome:
    """A batch of pullbacks is the loop over them, in the inputs and in the cotangents."""
    if not t.system.batches or not steady(t) or "batch" in t.settings.absent:
        return SILENT
    other = [np.asarray(x + 0.3 * u, x.dtype) for x, u in zip(t.active, t.direction(), strict=True)]
    more = [t.noise(g) for g in t.gs]
    try:
        values, found = t.system.batched(
            t.kept,
            [np.stack(pair) for pair in zip(t.active, other, strict=True)],
            [np.stack(pair) for pair in zip(t.gs, more, strict=True)],
        )
    except Exception:  # no batching rule: each framework says so in its own way
        t.settings.absent.add("batch")
        return SILENT
    ys, pull = t.system.run(t.system.replaced(t.kept, other))
    alone = filled(pull([g.copy() for g in more]), t.active)
    for k, (values_alone, expected) in enumerate(((t.ys_before, t.grads), (ys, alone))):
        if any(c.shape[:1] != (2,) for c in (*values, *found)):
            return Failure("batch", f"a batch of two pullbacks gives arrays of the shapes {[c.shape for c in found]}")
        problem = apart(t, [y[k] for y in values], values_alone, values_alone)
        if problem and all(np.isfinite(y).all() for y in values_alone):
            return Failure("batch", f"in a batch (vmap), the value is another one than alone: {problem}")
        problem = apart(t, [c[k] for c in found], expected, (t.gs, more)[k])
        if problem and np.isfinite(np.concatenate([c.ravel() for c in expected])).all():
            return Failure("batch", f"in a batch (vmap), the gradient is another one than alone: {problem}")
    return HOLDS


def _applies(t: Trial, name: str) -> bool:
    return (
        steady(t)
        and len(t.ys) == 1
        and t.ys[0].size > 0
        and t.point.label in _GENERIC
        and name not in t.settings.absent
        and not t.settings.hermitian
    )


def _alike(a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    size = float(np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0)) <= 1e3 * eps_in(b.dtype) * size


def _moved(t: Trial, axis: int, n: int) -> list[int]:
    """The leaves that have this length along an axis."""
    return [i for i, x in enumerate(t.kept) if type(x) is np.ndarray and x.ndim and x.shape[axis] == n]


def _with(xs: list[Any], which: list[int], move: Move) -> list[Any]:
    return [move(x).copy() if i in which else x.copy() if type(x) is np.ndarray else x for i, x in enumerate(xs)]


def _nearby(t: Trial) -> list[Any]:
    """The leaves at a random point, so that nothing is equal there that is not equal everywhere."""
    return t.system.replaced(t.kept, [x + 0.3 * u for x, u in zip(t.active, t.direction(), strict=True)])


def rows(t: Trial) -> Outcome:
    """Where each row of the value comes from that row of the arguments alone, so does each row of the gradient."""
    if not _applies(t, "rows"):
        return SILENT
    y = t.ys_before[0]
    n = y.shape[0] if y.ndim else 0
    if n < 2:
        return SILENT
    which = _moved(t, 0, n)
    k = t.point.seed % n
    if not any(i in t.system.active for i in which) or not t.settings.any_length.issuperset(which):
        return SILENT

    def row(x: Any) -> Any:
        return x[k : k + 1]

    def rest(x: Any) -> Any:
        return np.delete(x, k, 0)

    near = _nearby(t)
    try:
        value, pull = t.system.run(_with(t.kept, which, row))
        whole = t.system.value(near)[0]
        alone, without = (t.system.value(_with(near, which, part))[0] for part in (row, rest))
        # Of this row alone it comes, and the others do without it.
        if not (_alike(value[0], row(y)) and _alike(alone, row(whole)) and _alike(without, rest(whole))):
            t.settings.absent.add("rows")
            return SILENT
    except Exception:  # it takes no row alone
        t.settings.absent.add("rows")
        return SILENT
    active = [row(x) if i in which else x for i, x in zip(t.system.active, t.active, strict=True)]
    found = filled(pull([row(t.gs[0]).copy()]), active)
    pairs = [(c, row(d)) for i, c, d in zip(t.system.active, found, t.grads, strict=True) if i in which]
    problem = apart(t, [c for c, _ in pairs], [d for _, d in pairs], t.gs)
    if problem:
        return Failure("rows", f"the gradient of row {k} alone is another one than among the other rows: {problem}")
    return HOLDS


def permuted(t: Trial) -> Outcome:
    """Where an order of the arguments does not matter to the value, or passes on to it, so it does with the gradient."""
    found = [_permuted(t, axis) for axis in (0, -1)]
    return next((f for f in found if isinstance(f, Failure)), HOLDS if HOLDS in found else SILENT)


def _permuted(t: Trial, axis: int) -> Outcome:
    name = f"permuted {axis}"
    if not _applies(t, name):
        return SILENT
    y, x = t.ys_before[0], t.active[0]
    if not x.ndim or x.shape[axis] < 2 or (axis < 0 and x.ndim < 2):
        return SILENT
    n = x.shape[axis]
    which = _moved(t, axis, n)
    order = np.argsort(t.noise(np.empty(n)))
    if (order == np.arange(n)).all():
        order = order[::-1]

    def reorder(a: Any) -> Any:
        return np.take(a, order, axis)

    try:
        value, pull = t.system.run(_with(t.kept, which, reorder))
        near = _nearby(t)
        there, before = t.system.value(_with(near, which, reorder))[0], t.system.value(near)[0]
    except Exception:  # whatever it is that this order does not go with
        t.settings.absent.add(name)
        return SILENT
    one = len(value) == 1
    follows = one and y.ndim > 0 and y.shape[axis] == n and _alike(value[0], reorder(y))
    follows = follows and _alike(there, reorder(before))
    if not follows and not (one and _alike(value[0], y) and _alike(there, before)):
        t.settings.absent.add(name)
        return SILENT
    g = reorder(t.gs[0]) if follows else t.gs[0]
    found = filled(pull([g.copy()]), t.active)
    expected = [reorder(c) if i in which else c for i, c in zip(t.system.active, t.grads, strict=True)]
    problem = apart(t, found, expected, t.gs)
    if problem:
        told = "follows the order of its arguments" if follows else "is the same in any order of its arguments"
        return Failure("permuted", f"the value {told}, and the gradient does not: {problem}")
    return HOLDS


def broadcast(t: Trial) -> Outcome:
    """The gradient for an argument that is broadcast is the sum of those for its copies."""
    if len(t.active) < 2 or not t.settings.any_shape.issuperset(t.system.active) or not steady(t):
        return SILENT
    full = _full(t)
    if full is None or "broadcast" in t.settings.absent:
        return SILENT
    copies = [np.broadcast_to(x, full).copy() for x in t.active]
    xs = t.system.replaced(t.kept, copies)
    try:
        ys, pull = t.system.run(xs)
        near = _nearby(t)
        wide = [np.broadcast_to(near[i], full).copy() for i in t.system.active]
        there, before = t.system.value(t.system.replaced(near, wide))[0], t.system.value(near)[0]
    except Exception:  # its arguments go together in another way
        t.settings.absent.add("broadcast")
        return SILENT
    if len(ys) != 1 or not (_alike(ys[0], t.ys_before[0]) and _alike(there, before)):
        t.settings.absent.add("broadcast")
        return SILENT
    found = filled(pull([t.gs[0].copy()]), copies)
    if any(d.shape != full for d in found):
        return SILENT  # what has one shape here has another meaning
    for i, c, d, x in zip(t.system.active, t.grads, found, t.active, strict=True):
        problem = apart(t, [c], [_summed(d, x.shape)], t.gs)
        if problem:
            name = t.settings.names[i]
            return Failure("broadcast", f"the gradient of {name} is not the sum of those of its copies: {problem}")
    return HOLDS


def _full(t: Trial) -> tuple[int, ...] | None:
    """The shape of the output, if arguments of several sizes are broadcast to it."""
    try:
        full = np.broadcast_shapes(*(x.shape for x in t.active))
    except ValueError:
        return None
    fits = len(t.ys) == 1 and t.ys[0].shape == full
    return full if fits and any(x.size != t.ys[0].size for x in t.active) else None


def _summed(c: Any, shape: tuple[int, ...]) -> Any:
    extra = c.ndim - len(shape)
    axes = (*range(extra), *(extra + k for k, n in enumerate(shape) if n == 1 and c.shape[extra + k] != 1))
    return c.sum(axis=axes).reshape(shape) if axes else c
