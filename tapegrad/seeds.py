"""What a tape asks of the engine: the nodes and cotangents that a sweep starts from, the nodes it ends at, and the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.asked import warn
from tapegrad.core import recorder as rec
from tapegrad.core.engine import sweep
from tapegrad.core.node import WATCH, make_node
from tapegrad.core.pushing import advance
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import WRAPPERS, Tensor, linked, tensor
from tapegrad.core.watching import origin, root
from tapegrad.dtypes import is_inexact
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import NAMES, backend_of
from tapegrad.registry.batching import matched
from tapegrad.registry.lengths import brought_to, may_agree
from tapegrad.registry.space import F, space_of_type

if TYPE_CHECKING:
    from tapegrad.core.node import Node
    from tapegrad.core.recorder import Recorder


def seeds_of(
    recorder: Recorder, targets: list[Any], cotangents: list[Any], sources: list[Any]
) -> list[tuple[Node, Any]]:
    """The nodes of the targets, each with its cotangent, a Tensor or None for ones."""
    seeds: list[Any] = []
    for y, given in zip(targets, cotangents, strict=True):
        if not isinstance(y, Tensor):
            continue
        if not is_inexact(y.array.dtype):
            warn("gradient of a target of dtype %s: only floating targets have one", y.array.dtype)
            continue
        g = given if given is None or isinstance(given, Tensor) else asarray(given)
        if g is not None:
            if g.shape != y.shape:
                if not may_agree(g.shape, y.shape):
                    raise ShapeError(f"output_gradients: expected the target's shape {y.shape}, got {g.shape}")
                g = brought_to(g, y.shape)
            wanted, got = y.array.dtype, g.array.dtype
            if got != wanted:
                if got.kind == "c" and wanted.kind != "c":
                    raise DTypeError(f"output_gradients: expected the target's dtype {wanted}, got {got}")
                g = F.cast(g, wanted)
            here, there = backend_of(g.array), backend_of(y.array)
            if here != there and here in NAMES and there in NAMES:
                g = asarray(g, backend=there)
        node = root(y.node, recorder)
        if node is None and any(y is x for x in sources):  # the gradient of a tensor for itself, watched or not
            alone = rec.group(frozenset([recorder]))
            node = _seeded(y, seeds) or make_node(WATCH, None, None, None, None, alone)
        if node is not None:
            seeds.append((node, y, g))
    return seeds


def swept(recorder: Recorder, seeds: Any, nodes: list[Node | None], *, consume: bool) -> list[Any]:
    """The cotangent of each node, through what the recorder has recorded; it is let go of on the way if it is consumed."""
    if not seeds:
        return [None] * len(nodes)
    recorded = state.active is not EMPTY and _is_recorded(seeds, recorder)
    started = [(n, _cotangent(y, g, recorded)) for n, y, g in seeds]
    with np.errstate(all="ignore"):
        if recorded:
            found = sweep(started, nodes, recorder, recorded=True)
            return [g if g is None else linked(g.array, g.node) for g in found]  # a tensor may be written to
        consumed = recorder.alone if consume else None
        found = sweep(started, nodes, recorder, recorded=False, consumed=consumed)
    return [g if g is None else WRAPPERS.get(type(g), tensor)(g) for g in found]


def pushed(recorder: Recorder, sources: list[Any], tangents: list[Any], targets: list[Any]) -> list[Any]:
    """The tangents of the targets, through what the recorder has recorded; zeros where they do not depend on the sources."""
    pairs = [
        (node, t)
        for x, t in zip(sources, tangents, strict=True)
        if x is not None and (node := root(x.node, recorder)) is not None
    ]
    nodes = [None if y is None or not is_inexact(y.array.dtype) else root(y.node, recorder) for y in targets]
    recorded = state.active is not EMPTY and _is_recorded([(n, None, t) for n, t in pairs], recorder)
    with np.errstate(all="ignore"):
        found = advance([(n, t if recorded else t.read()[0]) for n, t in pairs], nodes, recorder, recorded=recorded)
    return [_tangent(y, t) for y, t in zip(targets, found, strict=True)]


def _tangent(y: Any, t: Any) -> Any:
    if y is None:
        return None
    if t is None:
        return F.zeros_like(tensor(y.array))
    return linked(t.array, t.node) if isinstance(t, Tensor) else tensor(t)


def source_of(x: Any, recorder: Recorder, seeds: Any) -> Node | None:
    """The node of a source for a recorder; None if it knows of none."""
    return None if x is None else origin(x.node, recorder) or _seeded(x, seeds)


def _seeded(x: Any, seeds: Any) -> Node | None:
    """The node of a tensor among the targets, where it has none that the tape knows."""
    return next((node for node, y, _ in seeds if y is x), None)


def _is_recorded(seeds: Any, recorder: Recorder) -> bool:
    """Whether somebody may record what a sweep from these seeds computes."""
    # What the PyTorch style records by itself is not asked for here: its word for that is `create_graph`.  The tapes of
    # transforms, which watch nothing by themselves, compose with it as with all others.
    active = {r for r in state.active.recorders if r.keeping or not recorder.auto}
    nodes = [n for n, _, _ in seeds] + [g.node for _, _, g in seeds if g is not None and g.node is not None]
    if any(not n.owners.recorders.isdisjoint(active) for n in nodes):
        return True
    # A tape that did not record the target, for it was paused, may have recorded what leads to it.
    return any(owners.nodes and not owners.recorders.isdisjoint(active) for owners in list(recorder.groups.values()))


def _cotangent(y: Tensor, g: Tensor | None, recorded: bool) -> Any:
    if g is not None:
        if recorded:  # rules compute with plain Tensors alone
            return g if type(g) is Tensor else linked(*g.read())
        return matched(g.read()[0], y.array)
    ones = ones_for(y.array)
    return tensor(ones) if recorded else ones


def ones_for(raw: Any) -> Any:
    """The cotangent of a value that nobody gave one for: ones."""
    found = _ONES.get(type(raw))
    if found is not None:
        return found
    return type(raw)(1) if isinstance(raw, np.generic) else space_of_type(type(raw)).ones_like(raw)


#: The cotangent of a sum, of a loss: the numbers of NumPy's that are never written to.
_ONES: dict[type, Any] = {t: t(1) for t in (np.float32, np.float64)}
