"""`torch.utils.checkpoint`: intermediate values are computed again in the backward pass, instead of being kept."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from tapegrad import transforms
from tapegrad.core.recorder import state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import TapegradError
from tapegrad.torch._backward import run_backward
from tapegrad.torch._missing import refusing
from tapegrad.torch._modes import enable_grad
from tapegrad.torch._recorder import OWNERS, is_enabled, own
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.autograd.function import Function
from tapegrad.torch.func._batches import styled
from tapegrad.torch.utils._recomputed import CheckpointError, Frame, recording
from tapegrad.tree import flatten


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: for the forward pass, and for the computation in the backward pass."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """The value of a function whose intermediate values are not kept, but computed again where a gradient needs them.

    Random numbers are the same ones again, unless `preserve_rng_state=False`.  Where a tape of another style records too, and in
    transforms of functions, the checkpoint is one step of the graph, and runs to its end when it is computed again.
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if not any(isinstance(a, Core) and own(a.node) is not None for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return CheckpointFunction.apply(_Again(function, preserve, contextlib.nullcontext, contextlib.nullcontext), *args)
    first, later = context_fn()
    again = _Again(function, preserve, lambda: first, lambda: later)
    if state.active is not OWNERS:
        return _not_reentrant(again, args, kwargs) if is_enabled() else again(*args, **kwargs)
    frame = Frame(again, args, kwargs, determinism_check, early_stop if _EARLY_STOP.on is None else _EARLY_STOP.on)
    with recording(frame):
        found = again(*args, **kwargs)
    frame.is_whole = True
    return found


class _Again:
    """A function that does the same each time: it draws the random numbers of its first call."""

    def __init__(self, function: Any, preserve: bool, first: Any, later: Any) -> None:
        self.function = function
        self.preserve = preserve
        self.contexts = first, later
        self.state: Any = None
        self.called = False
        self.autocast: Any = None
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any, **words: Any) -> Any:
        from tapegrad.torch.amp import autocast_mode

        args, words = styled((args, words))
        if not self.called:
            self.called = True
            self.state = _rng_state() if self.preserve else None
            self.autocast = autocast_mode.snapshot()
            with self.contexts[0]():
                return self.function(*args, **words)
        with _rng(self.state), autocast_mode.restored(self.autocast), self.contexts[1]():
            return self.function(*args, **words)


def _rng_state() -> Any:
    from tapegrad import torch

    return torch.get_rng_state()


@contextlib.contextmanager
def _rng(state: Any) -> Iterator[None]:
    if state is None:
        yield
        return
    from tapegrad import torch

    now = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        yield
    finally:
        torch.set_rng_state(now)


def _not_reentrant(again: _Again, args: Any, kwargs: Any) -> Any:
    given: list[tuple[list[Any], Any]] = []  # what the first call gave, with what is no tensor

    def run(*args: Any, **words: Any) -> list[Any]:
        leaves, rebuild = flatten(again(*args, **words))
        if not given:
            given.append((leaves, rebuild))
        return [y for y in leaves if isinstance(y, Core)]

    run.__name__ = again.__name__
    try:
        tensors = iter(styled(transforms.checkpoint(run)(*args, **kwargs)))
    except TapegradError as error:
        raise CheckpointError(str(error)) from error
    leaves, rebuild = given[0]
    return rebuild([next(tensors) if isinstance(y, Core) else y for y in leaves])


class CheckpointFunction(Function):
    """Runs without recording, and records when it is run again, in a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, again: Any, *args: Any) -> Any:
        ctx.again = again
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Core)]
        ctx.rest = [None if isinstance(a, Core) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return again(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if _watches_inputs():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        given = list(ctx.rest)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            given[i] = t.detach().requires_grad_(t.requires_grad) if t.requires_grad else t.detach()
        with enable_grad():
            found = ctx.again(*given)
        outputs = found if isinstance(found, tuple | list) else (found,)
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if isinstance(y, Tensor) and own(y.node) is not None]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([y for y, _ in pairs], [g for _, g in pairs], False, False, None)
        return (None, *(given[i].grad if i in ctx.places else None for i in range(len(given))))


def _watches_inputs() -> bool:
    from tapegrad.torch import _backward

    return bool(_backward.TO_INPUTS.on)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Modules one after the other, all segments but the last as checkpoints."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def run(start: int, end: int) -> Any:
        def forward(x: Any) -> Any:
            for f in steps[start : end + 1]:
                x = f(x)
            return x

        return forward

    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(end + 1, len(steps) - 1)(input)


class _EarlyStop:
    on: bool | None = None


_EARLY_STOP = _EarlyStop()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether a checkpoint that is computed again stops once it has all that was saved."""
    was, _EARLY_STOP.on = _EARLY_STOP.on, enable
    try:
        yield
    finally:
        _EARLY_STOP.on = was


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Kept for scripts that call it."""
    return contextlib.nullcontext()


_SELECTIVE = ("CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts")
_refused = refusing(globals())


def __getattr__(name: str) -> Any:
    """What selective checkpoints need lets functions ask their arguments: it is there for who names it."""
    if name in _SELECTIVE:
        from importlib import import_module

        return getattr(import_module("tapegrad.torch.utils._selective"), name)
    return _refused(name)


__all__ = [
    "CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]  # fmt: skip
