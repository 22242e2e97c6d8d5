"""Schedules that go up and down, and take the momentum the other way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.torch.optim.lr_scheduler.scheduler import LRScheduler, checked_optimizer, per_group, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.torch.optim.optimizer import Optimizer


def _check_momentum(optimizer: Optimizer) -> bool:
    """Whether the momentum is the first of the betas."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _put_momentum(group: dict[str, Any], value: float, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """The rate between two bounds, up and down linearly.

    L. Smith, "Cyclical learning rates for training neural networks", 2017, section 3.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked_optimizer(optimizer)
        lows = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(lows, optimizer.param_groups, strict=True):
                put(group, lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                bounds = zip(self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True)
                for high, low, group in bounds:
                    _put_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """How high the cycle of this number, or the step of this number, goes."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        found: float = 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x
        return found

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in bounds:
                _put_momentum(group, high - (high - low) * part * scale, self.use_beta1)
        return [low + (high - low) * part * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        f = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if f is None or type(f).__name__ == "function" else dict(f.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        f = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if f is not None:
            self._scale_fn_custom.__dict__.update(f)


class OneCycleLR(LRScheduler):
    """The rate up to a maximum and down to far below where it began, once.

    L. Smith, N. Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2019, section 4.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked_optimizer(optimizer)
        self.total_steps = n = _steps(total_steps, epochs, steps_per_epoch)
        up, turn = float(pct_start * n) - 1, ("initial_lr", "max_lr", "max_momentum", "base_momentum")
        keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        if three_phase:
            rows: list[tuple[Any, ...]] = [
                (up, *turn),
                (float(2 * pct_start * n) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (n - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            rows = [(up, *turn), (n - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        self._schedule_phases = [dict(zip(keys, row, strict=True)) for row in rows]
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(highs, optimizer.param_groups, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            lows = per_group("base_momentum", optimizer, base_momentum)
            tops = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for top, low, group in zip(tops, lows, optimizer.param_groups, strict=True):
                    _put_momentum(group, top, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = top, low
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        t = self.last_epoch
        if t > self.total_steps:
            raise ValueError(
                f"Tried to step {t} times. The specified number of total steps is {self.total_steps}"
            )
        begin = 0.0
        for i, phase in enumerate(self._schedule_phases):
            if t <= phase["end_step"] or i == len(self._schedule_phases) - 1:
                break
            begin = phase["end_step"]
        part = (t - begin) / (phase["end_step"] - begin)
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _put_momentum(group, self._between(*ends, part), self.use_beta1)
        return found


def _steps(total: Any, epochs: Any, each: Any) -> int:
    """The number of steps, given as it is or as a product."""
    if total is not None:
        named = {"total_steps": total}
    elif epochs is not None and each is not None:
        named = {"epochs": epochs, "steps_per_epoch": each}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in named.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(named.values())
