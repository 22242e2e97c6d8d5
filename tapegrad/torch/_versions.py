"""Whether what a graph has saved is still what it was: looked at before a sweep, and only if there was a write since."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tapegrad.core.backward import Hooked
from tapegrad.core.node import parents
from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._node_names import name_of
from tapegrad.torch._recorder import is_leaf_node
from tapegrad.torch._storage import LAST, REPLACED, WRITTEN, owner


def check(order: list[Any]) -> None:
    """Raise if a node was made from values that were written to afterwards."""
    if not order or LAST[0] <= order[-1].seq:
        return
    oldest = order[-1].seq
    logs = {key: log.seqs for key, log in list(WRITTEN.items()) if log.seqs and log.seqs[-1] > oldest}
    for storage in list(REPLACED):
        logs.update({id(raw): [seq] for raw, seq in storage.scalars if seq > oldest})
    if not logs:
        return
    for node in order:
        _look(node, node.s, logs)
        if type(node.t) is np.ndarray:
            _look(node, node.t, logs)


def _look(node: Any, value: Any, logs: dict[int, list[int]]) -> None:
    kind = type(value)
    if kind is tuple:
        for v in value:
            _look(node, v, logs)
        return
    if kind is np.ndarray:
        seqs = logs.get(id(owner(value)))
    elif isinstance(value, np.generic):
        seqs = logs.get(id(value))
    else:
        return
    if seqs and seqs[-1] > node.seq:
        _refuse(node, value, seqs)


def _refuse(node: Any, value: Any, seqs: list[int]) -> NoReturn:
    expected = sum(s < node.seq for s in seqs)
    kind = f"torch.{SCALAR_TYPES[dtype_of(value.dtype)]}Tensor {list(value.shape)}"
    made = _maker(node, value)
    source = f", which is output 0 of {made}," if made else ""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind}]{source} is at version {len(seqs)}; expected version {expected} instead. It was saved by {name_of(node)}. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )


def _maker(node: Any, value: Any) -> str | None:
    """The name of the node that made a saved value."""
    op = node.op.op if type(node.op) is Hooked else node.op
    saved = getattr(op, "saved", None)
    if saved is None:
        return None
    fields = node.s if op.general or len(saved) > 2 else (node.s, node.t)
    name = next((n for n, v in zip(saved, fields, strict=False) if v is value), None)
    if name == "y":
        return name_of(node)
    if name in op.op.arrays:
        i = op.op.arrays.index(name)
        ps = parents(node)
        k = i if op.wide else (op.watched.index(i) if i in op.watched else None)
        if k is not None and ps[k] is not None and not is_leaf_node(ps[k]):
            return name_of(ps[k])
    return None
