"""Schedules by a formula for the next rate."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

from tapegrad.torch.optim.lr_scheduler.scheduler import LRScheduler, put, rates, without_functions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.torch.optim.optimizer import Optimizer


class _ByFunction(LRScheduler):
    """One function of the epoch, or one for each group."""

    _uncallable = "'{}' object is not callable"

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        n = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * n
        elif len(lr_lambda) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)
        for f in self.lr_lambdas:
            if not callable(f):
                raise TypeError(self._uncallable.format(type(f).__name__))
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        now = rates(self.optimizer)
        return [
            self._scaled(lr, base, f) for lr, base, f in zip(now, self.base_lrs, self.lr_lambdas, strict=True)
        ]

    def _scaled(self, lr: Any, base: Any, f: Any) -> Any:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        return without_functions(super().state_dict(), "lr_lambdas", self.lr_lambdas)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for f, values in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if values is not None:
                f.__dict__.update(values)


class LambdaLR(_ByFunction):
    """The initial rate times a function of the epoch."""

    def _scaled(self, lr: Any, base: Any, f: Any) -> Any:
        return base * f(self.last_epoch)


class MultiplicativeLR(_ByFunction):
    """The rate before times a function of the epoch."""

    _uncallable = "lr_lambda should be a function, but got {}"

    def _scaled(self, lr: Any, base: Any, f: Any) -> Any:
        return lr if self._is_initial else lr * f(self.last_epoch)


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        return lr if self.last_epoch == 0 or self.last_epoch % self.step_size else lr * self.gamma

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each milestone."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        times = self.milestones.get(self.last_epoch, 0)
        return lr * self.gamma**times if times else lr

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` for the first epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return lr * self.factor
        return lr * (1.0 / self.factor) if self.last_epoch == self.total_iters else lr

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (1.0 if self.last_epoch >= self.total_iters else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes linearly from one value to another."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        t = self.last_epoch
        if t == 0:
            return lr * self.start_factor
        if self._is_initial or t > self.total_iters:
            return lr
        rise = self.end_factor - self.start_factor
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (t - 1) * rise))

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * part) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        return lr if self._is_initial else lr * self.gamma

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - t / total_iters)**power, which ends at 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        t, n = self.last_epoch, self.total_iters
        if self._is_initial or t > n:
            return lr
        return lr * ((1.0 - t / n) / (1.0 - (t - 1) / n)) ** self.power

    def _get_closed_form_lr(self) -> list[Any]:
        t, n = min(self.total_iters, self.last_epoch), self.total_iters
        return [base * (1.0 - t / n) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a period of a cosine, from the initial rate to `eta_min` in `T_max` epochs, and back.

    I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, equation 5.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, t: int) -> float:
        return 1 + math.cos(math.pi * t / self.T_max)

    def _next(self, lr: Any, base: Any) -> Any:
        t, n, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return lr
        if self._step_count == 1 and t > 0:
            return low + (base - low) * self._height(t) / 2
        if (t - 1 - n) % (2 * n) == 0:  # up again from the bottom, where the quotient below would be 0 / 0
            return lr + (base - low) * (1 - math.cos(math.pi / n)) / 2
        return self._height(t) / self._height(t - 1) * (lr - low) + low

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a period of a cosine from the initial rate to `eta_min`, again and again, each `T_mult` times as long.

    I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, equation 5.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any) -> Any:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: Any = None) -> None:
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            put(group, lr)
        self._last_lr = rates(self.optimizer)

    def _jump(self, epoch: float) -> None:
        """Find the period that an epoch lies in."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.T_i, self.T_cur = self.T_0, epoch
        if epoch < self.T_0:
            return
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**n
