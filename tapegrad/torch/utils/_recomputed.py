"""Checkpoints that record their function as it stands, and save nothing: what its ops would keep is computed again when it is needed.

While the function runs, each tensor that an op saves is replaced by a mark.  The first mark that a sweep asks for runs the
function again, and the tensors that its ops save then are what all marks stand for, in order, for the rest of that sweep.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import _packing
from tapegrad.torch._elsewhere import lend
from tapegrad.torch._errors import SPENT
from tapegrad.torch._modes import enable_grad
from tapegrad.torch._watching import sweep_number
from tapegrad.tree import flatten

_fresh_number = itertools.count(1).__next__


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


class _Complete(BaseException):
    """All that was saved has been computed again."""


class _Current(threading.local):
    """What is being recorded or computed again on this thread, the innermost last; selective checkpoints look here."""

    def __init__(self) -> None:
        self.stack: list[Frame | _Run] = []


CURRENT = lend(_Current())


class _Mark:
    """Stands for a saved tensor; `found` has, by sweep, what was computed again for it."""

    __slots__ = ("__weakref__", "found", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.found: dict[int, Any] = {}


def _described(t: Any) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _described, "none": lambda t: None}
_TIP = (
    "To see which ops were called in each of the two passes, pass `debug=True` to checkpoint(), or check that the function does the "
    "same each time: what it reads must not change in between"
)


class Frame:
    """One call of `checkpoint`: the function, its arguments, and a mark for each tensor that was saved."""

    def __init__(self, again: Any, args: Any, words: Any, check: str, early_stop: bool) -> None:
        if check not in _CHECKS:
            raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {check}")
        self.again = again
        self.describe = _CHECKS[check]
        self.early_stop = early_stop
        self.marks: list[weakref.ref[_Mark]] = []
        self.descriptions: list[Any] = []
        self.is_done: set[int] = set()
        self.is_whole = False
        self.listeners: list[list[Any]] = []
        leaves, self.rebuild = flatten((args, words))
        hooks = _packing.active()  # of a checkpoint around this one: that does not keep our arguments either
        self.unpack = None if hooks is None else hooks[1]
        self.leaves = [_Given(x, hooks) if isinstance(x, Core) else x for x in leaves]

    def pack(self, t: Any) -> Any:
        """The mark that an op gets in the place of a tensor."""
        mark = _Mark(self)
        self.marks.append(weakref.ref(mark))
        if self.listeners:
            self.listeners[-1].append(t)
        self.descriptions.append(self.describe(t))
        return mark

    def unpacked(self, mark: _Mark) -> Any:
        """The tensor behind a mark."""
        number = sweep_number()
        if number < 0:
            number = -_fresh_number()
        if number not in self.is_done:
            self._run_again(number)
            if number >= 0:
                self.is_done.add(number)
        if number not in mark.found:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was either never recomputed, or already unpacked "
                "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once."
            )
        return mark.found.pop(number)

    def _run_again(self, number: int) -> None:
        args, words = self.rebuild([x.value(self.unpack) if isinstance(x, _Given) else x for x in self.leaves])
        run = _Run(self, number)
        with contextlib.suppress(_Complete), enable_grad(), recording(run):
            self.again(*args, **words)
        if run.count != len(self.marks) and self.is_whole:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.marks)}\n"
                f"Number of tensors saved during recomputation: {run.count}.\n{_TIP}"
            )
        if run.differ:
            said = "".join(
                f"tensor at position {i}:\nsaved metadata: {self.descriptions[i]}\nrecomputed metadata: {now}\n" for i, now in run.differ
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass.\n{said}.\n{_TIP}"
            )


class _Given:
    """An argument, packed by the hooks around the checkpoint, whether it is tracked, and the version that it had."""

    def __init__(self, t: Any, hooks: Any) -> None:
        self.held = t if hooks is None else _packing.pack(hooks[0], t)
        self.tracked = t.requires_grad
        self.version = None if hooks is not None or t.is_inference() else t._version

    def value(self, unpack: Any) -> Any:
        """The argument, apart from the graph before it."""
        t = self.held if unpack is None else unpack(self.held)
        if self.version is not None and t._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{t.type()} {list(t.shape)}], which is an argument of torch.utils.checkpoint, is at version {t._version}; expected "
                f"version {self.version} instead. Give the checkpoint a copy, or write out of place"
            )
        return t.detach().requires_grad_(self.tracked)


class _Run:
    """The function, computed again in one sweep."""

    def __init__(self, frame: Frame, number: int) -> None:
        self.frame = frame
        self.number = number
        self.count = 0
        self.differ: list[tuple[int, Any]] = []

    def pack(self, t: Any) -> Any:
        """Give what is saved now to the mark whose turn it is."""
        frame, i = self.frame, self.count
        t = t.detach() if t.requires_grad else t
        if i >= len(frame.marks):
            if not frame.is_whole:
                return t
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n" + _TIP
            )
        self.count += 1
        mark = frame.marks[i]()
        if mark is not None:
            mark.found[self.number] = t
        now = frame.describe(t)
        if now != frame.descriptions[i]:
            self.differ.append((i, now))
        if frame.early_stop and self.count == len(frame.marks):
            raise _Complete
        return t


def _not_kept(packed: Any) -> Any:
    if isinstance(packed, Core):
        return packed
    raise RuntimeError(SPENT)


@contextlib.contextmanager
def recording(by: Frame | _Run) -> Iterator[None]:
    """Let a frame, or a run of it, have what ops save."""
    unpack = (lambda mark: mark.frame.unpacked(mark)) if isinstance(by, Frame) else _not_kept
    CURRENT.stack.append(by)
    _packing.enter(by.pack, unpack)
    try:
        yield
    finally:
        _packing.leave()
        CURRENT.stack.pop()
