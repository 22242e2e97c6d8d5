"""What tensors that share memory have in common: a version, and who views them; and the log of writes to memory."""

from __future__ import annotations

import weakref
from typing import Any, final

import numpy as np

from tapegrad.core.node import tick


@final
class Storage:
    """Shared by a tensor, its views and what `detach` gives.

    * `version`: how many writes there were.
    * `fresh`: weak references to views and aliases that a write makes stale.
    * `shared`: whether anything else uses this memory, so that a write has to go there.
    * `apart`: it belongs to what `.data` gives, whose writes no graph hears of.
    * `exposed`: weakly, the NumPy array that was handed out, or True for memory that came from outside.
    * `seqs`: the sequence numbers of the latest writes that graphs hear of, after `earlier` others.
    """

    __slots__ = ("__weakref__", "apart", "earlier", "exposed", "fresh", "scalars", "seqs", "shared", "size", "version")

    def __init__(self) -> None:
        self.version = self.earlier = 0
        self.seqs: list[int] = []
        self.fresh: list[weakref.ref[Any]] = []
        self.size = 16  # look for dead ones when there are so many
        self.shared = self.apart = False
        self.exposed: Any = None
        self.scalars: list[tuple[Any, int]] = []  # values that had no memory, and when they were replaced

    def count(self, seq: int) -> None:
        """Count a write that graphs hear of."""
        self.version += 1
        seqs = self.seqs
        if not seqs:
            self.earlier = self.version - 1
        seqs.append(seq)
        if len(seqs) > 64:  # of the oldest, how many there were is all that matters
            self.earlier += 32
            del seqs[:32]

    def join(self, x: Any) -> None:
        """Let a view be made stale by the next write."""
        fresh = self.fresh
        fresh.append(weakref.ref(x))
        if len(fresh) > self.size:
            self.fresh = [r for r in fresh if r() is not None]
            self.size = 2 * len(self.fresh) + 16


def owner(raw: Any) -> Any:
    """The array whose memory this is."""
    while True:
        base = raw.base
        if type(base) is not np.ndarray:
            return raw
        raw = base


@final
class _Log:
    """Memory of a storage that was written to.

    `last` is when it was last written to, or given up; `hard`, when its values were last overwritten; `whole`, when that was last
    done other than through `.data`, whose writes to parts are `parts`: when, and where.
    """

    __slots__ = ("hard", "last", "parts", "storage", "where", "whole")

    def __init__(self, where: Any, storage: Storage) -> None:
        self.where = where
        self.storage = storage
        self.last = self.hard = self.whole = 0
        self.parts: list[tuple[int, Part]] = []

    def note_part(self, seq: int, raw: Any) -> None:
        """Note that a part was overwritten."""
        if len(self.parts) == _MOST_PARTS:
            self.parts.clear()
            self.whole = seq
        memory = self.where()
        offset = raw.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        self.parts.append((seq, (offset, raw.shape, raw.strides)))


#: A part of memory: where it begins in bytes, its shape and its strides.
Part = tuple[int, tuple[int, ...], tuple[int, ...]]
#: So many parts are told from each other; of more, the whole counts as overwritten.
_MOST_PARTS = 256


def reached(raw: Any, part: Part) -> bool:
    """Whether an array has elements in a part of its memory."""
    offset, shape, strides = part
    other = np.ndarray(shape, raw.dtype, owner(raw), offset, strides)
    work: Any = 10_000
    try:
        return bool(np.shares_memory(raw, other, max_work=work))
    except np.exceptions.TooHardError:
        return True


#: By the id of the array that owns it: memory that was written to while a graph might need it.
WRITTEN: dict[int, _Log] = {}
#: The sequence number of the last write that counts; a sweep over younger nodes has nothing to check.
LAST = [0]
#: Storages that have replaced values which had no memory.
REPLACED: weakref.WeakSet[Storage] = weakref.WeakSet()


def wrote(storage: Storage, raw: Any, *, counted: bool = True, number: int | None = None, part: Any = None) -> None:
    """Note a write to the memory of an array; `counted`, if graphs that have saved it are to hear of it; `part`, what was written."""
    if not counted or type(raw) is not np.ndarray:
        storage.version += 1
        return
    seq = LAST[0] = tick() if number is None else number
    memory, seqs = raw if raw.base is None else raw.base, storage.seqs
    log = WRITTEN.get(id(memory))
    if log is not None and log.storage is storage and 0 < len(seqs) < 64 and log.where() is memory:
        storage.version += 1  # what `_note` does, of a loop of writes for all but the first
        seqs.append(seq)
        log.last = seq
    else:
        log = _note(storage, raw, seq)
    log.hard = seq
    if storage.apart:
        log.note_part(seq, raw if part is None else part)
    else:
        log.whole = seq


def _note(storage: Storage, raw: Any, seq: int) -> _Log:
    storage.count(seq)
    memory = raw if raw.base is None else owner(raw)
    key = id(memory)
    log = WRITTEN.get(key)
    if log is None or log.where() is not memory:
        log = WRITTEN[key] = _Log(weakref.ref(memory, lambda _: WRITTEN.pop(key, None)), storage)
    elif log.storage is not storage:  # what `.data` gives has a version of its own
        log.storage.seqs.append(seq)
    log.last = seq
    return log


def replaced(storage: Storage, raw: Any, before: int) -> None:
    """Note that a value without memory of its own was replaced, by an op that began at the number `before`."""
    storage.version += 1
    LAST[0] = max(LAST[0], before)
    storage.scalars.append((raw, before))
    if len(storage.scalars) == 1:
        REPLACED.add(storage)


#: By the id of an array that cannot be written to: the array, weakly, and what `.data` was given in its place.
SUPERSEDED: dict[int, tuple[Any, Any]] = {}


def superseded(raw: Any, made: Any) -> None:
    """Note a write through `.data` to values that cannot change: graphs that have saved them are to find the new ones."""
    if isinstance(raw, np.generic):
        return  # no graph has saved the memory that `.data` gave it
    key = id(raw)
    SUPERSEDED[key] = weakref.ref(raw, lambda _: SUPERSEDED.pop(key, None)), made
    LAST[0] = tick()


def moved(storage: Storage, raw: Any, before: int) -> None:
    """Note that a tensor has given up this memory for another, by an op that began at the number `before`.

    Graphs that have saved the old values still have them: that they count as written to is PyTorch's rule.  What the op itself
    has saved is not touched.
    """
    LAST[0] = max(LAST[0], before)
    _note(storage, raw, before).whole = before


#: What rules here save of these ops, and PyTorch's do not: a write to it is no error, if the values are still there.
KEPT_HERE_ALONE: dict[str, frozenset[str]] = {
    "divide": frozenset("y"),
    "erfinv": frozenset("y"),
    "standardize": frozenset("y"),
    "window_max": frozenset("y"),
    "reciprocal": frozenset("x"),
}
