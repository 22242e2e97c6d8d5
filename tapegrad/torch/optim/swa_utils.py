"""Averages of a model's weights over its training, and the schedule that goes with them.

P. Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from tapegrad.torch._modes import no_grad
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.optim.lr_scheduler.scheduler import LRScheduler, per_group

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _checked(decay: float) -> float:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """The step of a running mean: decay * mean + (1 - decay) * value."""
    _checked(decay)

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """The step of a plain mean, of one value more than `num_averaged`."""

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The step of a running mean for lists of tensors, in place."""
    one = get_ema_avg_fn(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with no_grad():
            for mean, value in zip(ema_param_list, current_param_list, strict=True):
                if mean.is_floating_point() or mean.is_complex():
                    mean.lerp_(value, 1 - decay)
                else:
                    mean.copy_(one(mean, value, num_averaged))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The step of a plain mean for lists of tensors, in place."""

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with no_grad():
            for mean, value in zip(averaged_param_list, current_param_list, strict=True):
                if mean.is_floating_point() or mean.is_complex():
                    mean.lerp_(value, 1 / (float(num_averaged) + 1))
                else:
                    mean.add_(value - mean, alpha=1.0 / (float(num_averaged) + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are means of the model's, taken at each `update_parameters`.

    `avg_fn(mean, value, count)` gives the new mean of one parameter, `multi_avg_fn` changes lists of them in place; without either
    it is the plain mean.  With `use_buffers` buffers are averaged too, else they are copied.
    """

    def __init__(
        self,
        model: Any,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        from tapegrad.torch import long
        from tapegrad.torch._construct import tensor

        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Any) -> None:
        """Take the model's parameters as they are now into the means."""
        means, values = (
            [t.detach() for t in chain(m.parameters(), m.buffers() if self.use_buffers else ())] for m in (self.module, model)
        )
        values = [v.to(m.device) for m, v in zip(means, values, strict=False)]
        with no_grad():
            if int(self.n_averaged) == 0:
                for mean, value in zip(means, values, strict=False):
                    mean.copy_(value)
            elif self.avg_fn is not None:
                for mean, value in zip(means, values, strict=False):
                    mean.copy_(self.avg_fn(mean, value, self.n_averaged))
            else:
                self._update_together(means, values)
            if not self.use_buffers:
                for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                    mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1

    def _update_together(self, means: list[Any], values: list[Any]) -> None:
        step = self.multi_avg_fn or get_swa_multi_avg_fn()
        groups: dict[Any, tuple[list[Any], list[Any]]] = {}
        for mean, value in zip(means, values, strict=False):
            listed = groups.setdefault((mean.device, mean.dtype), ([], []))
            listed[0].append(mean)
            listed[1].append(value)
        for some_means, some_values in groups.values():
            step(some_means, some_values, self.n_averaged)


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, as plain means over the batches of a loader."""
    from tapegrad.torch.nn.modules.norm import _BatchNorm

    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    before, was_training = [m.momentum for m in norms], model.training
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    model.train()
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for m, momentum in zip(norms, before, strict=True):
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate as it is to `swa_lr` in `anneal_epochs` steps, along a line or a cosine; then it stays."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        self._anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How much of the way is done at a share `t` of the steps."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_of_a_call_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs)))) for s in (step - 1, step))
        found = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            found.append(target * now + start * (1 - now))
        return found
