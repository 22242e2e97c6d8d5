"""`LRScheduler`: what all schedules have in common."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from tapegrad.torch.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler."
)
_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`. The first value of the schedule is skipped otherwise. "
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization, so that nobody knows whether it "
    "is called before `lr_scheduler.step()`, as it must be. "
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def rates(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """An option of each group; a copy, where it is a tensor."""
    found = [group[key] for group in optimizer.param_groups]
    return [v.clone() if hasattr(v, "clone") else v for v in found]


def put(group: dict[str, Any], value: Any, key: str = "lr") -> None:
    """Set an option of a group; in place, where it is a tensor."""
    if hasattr(group[key], "fill_"):
        group[key].fill_(float(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group, from one or from a list."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {n}."
        )
    return list(value)


def checked_optimizer(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class LRScheduler:
    """A schedule of learning rates: a subclass gives `get_lr`, or the next rate of a group from the one before."""

    _is_initial = False
    _get_lr_called_within_step = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rates_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer")
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def _next(self, lr: Any, base: Any) -> Any:
        """The next rate of a group, from the one before and the one that it began with."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The next rate of each group."""
        self._warn_of_a_call_outside_step()
        pairs = zip(rates(self.optimizer), self.base_lrs, strict=True)
        return [self._next(lr, base) for lr, base in pairs]

    def _warn_of_a_call_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: Any = None) -> None:
        """Set the next rates."""
        if self._step_count == 1:
            step = self.optimizer.step
            if not (hasattr(step, "_wrapped_by_lr_sched") or hasattr(step, "hooked")):
                warnings.warn(_OVERRIDDEN, stacklevel=2)
            elif not self.optimizer._opt_called:
                warnings.warn(_ORDER, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: Any = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            put(group, lr)
        self._last_lr = rates(self.optimizer)

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule knows but its optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a schedule's state."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The older name of `LRScheduler`."""


def rates_of(lr: Any) -> Any:
    return lr.clone() if hasattr(lr, "clone") else lr


def _watch_steps(optimizer: Optimizer) -> None:
    """Remember whether the optimizer has made a step, even if its class has a `step` of its own making."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched") or hasattr(step, "hooked"):
        return

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return step(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]


def without_functions(state: dict[str, Any], name: str, functions: list[Any]) -> dict[str, Any]:
    """A state in which callable objects are their dictionaries, and plain functions are None."""
    kept = {k: v for k, v in state.items() if k != name}
    kept[name] = [None if type(f).__name__ in ("function", "builtin_function_or_method") else dict(f.__dict__) for f in functions]
    return kept
