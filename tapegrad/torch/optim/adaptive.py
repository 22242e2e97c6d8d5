"""Rates that adapt to the squares of past gradients."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.optim._memory import add_to_rows, kept, opened, over, root, rows, scalar, scratch_of, times, zeros
from tapegrad.torch.optim._stepper import Stepper, counted, moments, rate
from tapegrad.torch.optim.optimizer import Optimizer, checked


class RMSprop(Stepper):
    """p -= lr g / (sqrt(v) + eps) with a running mean v of g**2; centred, v - mean(g)**2.

    T. Tieleman, G. Hinton, "Lecture 6.5 - rmsprop", 2012; A. Graves, "Generating sequences with recurrent neural networks", 2013.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked(
            lr=("learning rate", lr, lr >= 0),
            eps=("epsilon value", eps, eps >= 0),
            momentum=("momentum value", momentum, momentum >= 0),
            decay=("weight_decay value", weight_decay, weight_decay >= 0),
            alpha=("alpha value", alpha, alpha >= 0),
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        moments(p, state, "square_avg")
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, alpha, momentum = rate(options), options["alpha"], options["momentum"]
        counted(state)
        v = opened(state["square_avg"])
        v *= alpha
        out = scratch_of(self, p)
        d = times(g, g, out)
        d *= 1 - alpha
        v += d
        kept(state["square_avg"], v)
        if options["centered"]:
            m = opened(state["grad_avg"])
            m += (1 - alpha) * (g - m)
            kept(state["grad_avg"], m)
            v = v - m * m
        u = root(v, out)
        u += options["eps"]
        u = over(g, u, out)
        if momentum > 0:
            b = opened(state["momentum_buffer"])
            b *= momentum
            b += u
            kept(state["momentum_buffer"], b)
            u = b
        p -= times(u, lr, out)
        return p


class Adagrad(Stepper):
    """p -= lr g / (sqrt(s) + eps) with the sum s of all g**2.

    J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        start = initial_accumulator_value
        checked(
            lr=("learning rate", lr, lr >= 0),
            lr_decay=("lr_decay value", lr_decay, lr_decay >= 0),
            decay=("weight_decay value", weight_decay, weight_decay >= 0),
            start=("initial_accumulator_value value", start, start >= 0),
            eps=("epsilon value", eps, eps >= 0),
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"], state["sum"] = scalar(0.0), zeros(p)
                a = opened(state["sum"])
                a += initial_accumulator_value
                kept(state["sum"], a)

    def share_memory(self) -> None:
        """Put the state where other processes see it."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        step = counted(state)
        s = opened(state["sum"])
        s += g * g
        kept(state["sum"], s)
        u = root(s)
        u += options["eps"]
        p -= (rate(options) / (1 + (step - 1) * options["lr_decay"])) * (g / u)
        return p

    def _update_rows(self, options: Any, p: Any, grad: Any, state: dict[str, Any]) -> Any:
        if options["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        step = counted(state)
        index, g = rows(grad)
        s = add_to_rows(opened(state["sum"]), index, g * g)
        kept(state["sum"], s)
        u = root(s[index]) + options["eps"]
        return add_to_rows(p, index, -(rate(options) / (1 + (step - 1) * options["lr_decay"])) * (g / u))


class Adadelta(Stepper):
    """p -= lr g sqrt(d + eps) / sqrt(v + eps), with running means v of g**2 and d of the squared changes.

    M. Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked(
            lr=("learning rate", lr, lr >= 0),
            rho=("rho value", rho, 0 <= rho <= 1),
            eps=("epsilon value", eps, eps >= 0),
            decay=("weight_decay value", weight_decay, weight_decay >= 0),
        )
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        moments(p, state, "square_avg", "acc_delta")

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        rho, eps = options["rho"], options["eps"]
        counted(state)
        v, d = opened(state["square_avg"]), opened(state["acc_delta"])
        v *= rho
        v += (1 - rho) * g * g
        u = root(d + eps)
        u /= root(v + eps)
        u *= g
        d *= rho
        d += (1 - rho) * u * u
        kept(state["square_avg"], v)
        kept(state["acc_delta"], d)
        p -= rate(options) * u
        return p


class SparseAdam(Stepper):
    """Adam of those rows alone for which the gradient has a value."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        checked(lr=("learning rate", lr, lr > 0), eps=("epsilon value", eps, eps > 0))
        checked(
            beta0=("beta parameter at index 0", betas[0], 0 <= betas[0] < 1),
            beta1=("beta parameter at index 1", betas[1], 0 <= betas[1] < 1),
        )
        Optimizer.__init__(self, params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        state["step"] = 0
        state["exp_avg"], state["exp_avg_sq"] = zeros(p), zeros(p)

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _update_rows(self, options: Any, p: Any, grad: Any, state: dict[str, Any]) -> Any:
        beta1, beta2 = options["betas"]
        state["step"] += 1
        step = state["step"]
        index, g = rows(grad)
        if not index.shape[0]:
            return p
        m, v = opened(state["exp_avg"]), opened(state["exp_avg_sq"])
        m = add_to_rows(m, index, (1 - beta1) * (g - m[index]))
        v = add_to_rows(v, index, (1 - beta2) * (g * g - v[index]))
        kept(state["exp_avg"], m)
        kept(state["exp_avg_sq"], v)
        size = rate(options) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        return add_to_rows(p, index, -size * (m[index] / (root(v[index]) + options["eps"])))
