"""Whether what a graph has saved is still what it was: looked at before a sweep, and only if there was a write since."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from tapegrad.core.backward import Hooked
from tapegrad.core.node import parents
from tapegrad.core.tensor import Tensor as Core
from tapegrad.registry.rules import Variant, is_array
from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._node_names import name_of, pattern_of
from tapegrad.torch._node_table import REFLECTED
from tapegrad.torch._recorder import is_leaf_node, own
from tapegrad.torch._storage import KEPT_HERE_ALONE, LAST, REPLACED, SUPERSEDED, WRITTEN, Part, owner, reached

#: By the id of the array: the number of the last write to its memory, those of writes to the tensor, that of the last one that
#: overwrote it, how many there were earlier, the version now (-1 of what `.data` gave, whose versions are not those of the value),
#: the last write that was not to a part through `.data`, and those.
_Log = tuple[int, list[int], int, int, int, int, list[tuple[int, Part]]]
_Logs = dict[int, _Log]


def check(order: list[Any]) -> None:
    """Raise if a node was made from values that were written to afterwards."""
    if not order or LAST[0] <= order[-1].seq:
        return
    if SUPERSEDED:
        for node in order:
            _renew(node)
    oldest = order[-1].seq
    logs: _Logs = {
        key: (log.last, log.storage.seqs, log.hard, log.storage.earlier, _version(log.storage), log.whole, log.parts)
        for key, log in WRITTEN.copy().items()  # a list of pairs: a collection while it is made may take one away
        if log.last > oldest
    }
    for storage in list(REPLACED):
        seqs = [seq for _, seq in storage.scalars]
        earlier = storage.version - len(seqs)
        for raw, seq in storage.scalars:
            if seq > oldest:
                logs[id(raw)] = (seq, seqs, 0, earlier, storage.version, seq, [])
    if not logs:
        return
    for node in order:
        places = _PLACES.get(node.op)
        if places is None:
            places = _places(node.op)
        for place in places:
            value = node.s[place] if place >= 0 else node.s if place == -1 else node.t
            kind = type(value)
            if kind is np.ndarray:
                log = logs.get(id(owner(value)))
            elif kind is tuple:
                for v in value:
                    _look(node, v, logs)
                continue
            else:
                log = logs.get(id(value))
            if log is not None and log[0] > node.seq:
                _look(node, value, logs)


def _version(storage: Any) -> int:
    return -1 if storage.apart else storage.version


def _renew(node: Any) -> None:
    """Let a node find what `.data` has put in the place of values that it saved."""
    for field in ("s", "t"):
        value = getattr(node, field)
        if type(value) is tuple and any(id(v) in SUPERSEDED for v in value):
            setattr(node, field, tuple(map(_newest, value)))
        elif id(value) in SUPERSEDED:
            setattr(node, field, _newest(value))


def _newest(value: Any) -> Any:
    while (found := SUPERSEDED.get(id(value))) is not None and found[0]() is value:
        value = found[1]
    return value


#: Where a node of an op keeps arrays that may have been written to: in `s` at a place, in `s` itself (-1), or in `t` (-2).
_PLACES: dict[Any, tuple[int, ...]] = {}


def _places(op: Any) -> tuple[int, ...]:
    inner = op.op if type(op) is Hooked else op
    if type(inner) is not Variant:
        return ()
    in_tuple = inner.general or len(inner.saved) > 2
    found = tuple(
        i if in_tuple else -1 - i for i, name in enumerate(inner.saved) if is_array(inner.op, name)
    )
    if op is inner:
        _PLACES[op] = found
    return found


def _look(node: Any, value: Any, logs: _Logs) -> None:
    log = logs.get(id(owner(value) if type(value) is np.ndarray else value))
    if log is None or log[0] <= node.seq:
        return
    if log[5] <= node.seq and not any(seq > node.seq and reached(value, part) for seq, part in log[6]):
        return
    if log[2] <= node.seq and _is_kept_here_alone(node, value):
        return
    _refuse(node, value, log)


def _is_kept_here_alone(node: Any, value: Any) -> bool:
    names = KEPT_HERE_ALONE.get(node.op.name)
    if names is None:
        return False
    name = _name(node, value)
    return name in names or (name == "x2" and pattern_of(node) == REFLECTED["divide"])  # of 2 / x, for which PyTorch keeps 1 / x


def _refuse(node: Any, value: Any, log: _Log) -> NoReturn:
    from tapegrad.torch.autograd.anomaly_mode import STATE, tell

    if STATE.on:
        tell(node)
    _, seqs, _, earlier, version, _, _ = log
    expected = earlier + sum(s < node.seq for s in seqs)
    raise written(value, _maker(node, value), 0, version, expected, name_of(node))


def written(value: Any, made: str | None, number: int, version: int, expected: int, by: str) -> RuntimeError:
    """The error that a saved value, an output of a node, is not what it was; and what it was saved by."""
    kind = f"torch.{SCALAR_TYPES[dtype_of(value.dtype)]}Tensor {list(value.shape)}"
    source = f", which is output {number} of {re.sub('Backward[0-9]*$', '', made)}," if made else ""
    begins = "one of the variables needed for gradient computation has been modified by an inplace operation: "
    if version < 0:
        return RuntimeError(
            f"{begins}[{kind}]{source} was overwritten through .data, which counts no versions, after it was saved by {by}. "
            "PyTorch goes on with the new values, whose gradient is that of no function which was computed; overwrite after "
            "backward(), or compute with x.clone()."
        )
    return RuntimeError(
        f"{begins}[{kind}]{source} is at version {version}; expected version {expected} instead. It was saved by {by}. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _name(node: Any, value: Any) -> str | None:
    """What an op calls a value that it has saved."""
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    saved = getattr(op, "saved", None)
    if saved is None:
        return None
    fields = node.s if op.general or len(saved) > 2 else (node.s, node.t)
    return next((n for n, v in zip(saved, fields, strict=False) if v is value or (type(v) is tuple and _is_among(v, value))), None)


def _is_among(outputs: tuple[Any, ...], value: Any) -> bool:
    """Whether a value is one of an op's several outputs."""
    return any(v is value for v in outputs)


def _node_now(node: Any, op: Any, name: str) -> Any:
    """The node that the tensor has now whose value was saved: that of the write."""
    held = getattr(node, "held", None)
    names = [a for a in op.op.arrays if a in op.saved]
    tensors = held if type(held) is tuple else (held,)
    if len(names) != len(tensors):
        return None
    x = tensors[names.index(name)]
    return own(x.node) if isinstance(x, Core) else None


def _maker(node: Any, value: Any) -> str | None:
    """The name of the node that made a saved value."""
    name = _name(node, value)
    if name == "y":
        return name_of(node)
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    if name is not None and name in op.op.arrays:
        now = _node_now(node, op, name)
        if now is not None and not is_leaf_node(now):
            return name_of(now)
        i = op.op.arrays.index(name)
        ps = parents(node)
        k = i if op.wide else (op.watched.index(i) if i in op.watched else None)
        if k is not None and ps[k] is not None and not is_leaf_node(ps[k]):
            return name_of(ps[k])
    return None
