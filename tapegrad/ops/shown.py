"""What a tensor looks like in print: its values, what they are, and who records them."""

from __future__ import annotations

import numpy as np

from tapegrad.core.node import Node
from tapegrad.core.recorder import state
from tapegrad.core.tensor import Tensor
from tapegrad.kernels.batched import Batched
from tapegrad.registry.backends import NAMES, backend_of


def text(self: Tensor) -> str:
    """What `repr` gives: without values where there are none yet, in a batch or in a graph that is being built."""
    raw, node = self.read()
    notes = [f"dtype={raw.dtype}"]
    name = backend_of(raw)
    if name in NAMES[1:]:
        notes.append(f"backend={name!r}")
    by = recorded_by(node)
    if by:
        notes.append(by)
    if type(raw) is Batched:
        values = f"{raw.level.size} items {raw.shape}"
    elif getattr(raw, "symbolic", False):
        values = f"symbolic, shape={raw.bare.shape}"
    else:
        values = np.array2string(np.asarray(raw), separator=", ", prefix="Tensor(")
        if raw.size > np.get_printoptions()["threshold"] or (not raw.size and raw.ndim > 1):
            values += f", shape={raw.shape}"
    return f"Tensor({values}, {', '.join(notes)})"


def recorded_by(node: Node | None) -> str:
    """Who is recording a value at present: tapes, forward accumulators, the PyTorch style; "" for nobody."""
    if node is None:
        return ""
    recorders = node.owners.recorders & state.active.recorders
    forward = sum(r.on_push is not None for r in recorders)
    tapes = sum(r.keeping for r in recorders) - forward
    parts = [
        *(["a tape" if tapes == 1 else f"{tapes} tapes"] if tapes else []),
        *(["a forward accumulator" if forward == 1 else f"{forward} forward accumulators"] if forward else []),
    ]
    found = [f"recorded by {' and '.join(parts)}"] if parts else []
    return ", ".join([*found, *(["requires_grad"] if any(not r.keeping for r in recorders) else [])])


__all__ = ["recorded_by", "text"]
