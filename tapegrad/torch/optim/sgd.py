"""Stochastic gradient descent: plain, with momentum, averaged."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor as Core
from tapegrad.registry.space import F, space_of_type
from tapegrad.torch.optim._memory import add_rows, copied, descended, kept, opened, scalar, zeros
from tapegrad.torch.optim._stepper import Stepper, counted, rate
from tapegrad.torch.optim.optimizer import checked


class SGD(Stepper):
    """p -= lr g, or p -= lr m with m = momentum m + (1 - dampening) g; Nesterov's form looks one step ahead.

    I. Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        checked(
            lr=("learning rate", lr, lr >= 0),
            momentum=("momentum value", momentum, momentum >= 0),
            weight_decay=("weight_decay value", weight_decay, weight_decay >= 0),
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        if group["momentum"]:
            state["momentum_buffer"] = None

    def _options(self, group: dict[str, Any]) -> Any:
        return rate(group), group["momentum"], 1 - group["dampening"], group["nesterov"]

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, momentum, fresh, nesterov = options
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                state["momentum_buffer"] = copied(g)
                m = g
            else:
                m = opened(buffer)
                m *= momentum
                m += g if fresh == 1 else fresh * g
                kept(buffer, m)
            g = g + momentum * m if nesterov else m
        return descended(self, p, lr, g)

    def _update_rows(self, options: Any, p: Any, grad: Any, state: dict[str, Any]) -> Any:
        if options[1]:
            return self._update(options, p, grad.to_dense().array, state)
        return add_rows(p, grad, -options[0])


class ASGD(Stepper):
    """Descent with a decaying rate, and the average of the parameters under `ax`.

    B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        checked(lr=("learning rate", lr, lr >= 0), wd=("weight_decay value", weight_decay, weight_decay >= 0))
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0)
        state["eta"] = scalar(rate(group))
        state["mu"] = scalar(1.0)
        state["ax"] = zeros(p)

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, lambd = rate(options), options["lambd"]
        step = counted(state)
        eta, mu = float(state["eta"]), float(state["mu"])
        p *= 1 - lambd * eta
        p -= eta * g
        mean = opened(state["ax"])
        mean += p - mean if mu == 1 else mu * (p - mean)
        kept(state["ax"], mean)
        state["eta"] = scalar(lr / (1 + lambd * lr * step) ** options["alpha"])
        state["mu"] = scalar(1 / max(1, step - options["t0"]))
        return p


class Rprop(Stepper):
    """A step size for each element, that grows while the gradient keeps its sign and shrinks where it turns.

    M. Riedmiller, H. Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked(
            lr=("learning rate", lr, lr >= 0),
            etas=("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1]),
        )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        state["step"] = scalar(0.0)
        state["prev"] = zeros(p)
        state["step_size"] = zeros(p)
        kept(state["step_size"], _filled(opened(state["step_size"]), rate(group)))

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        (down, up), (low, high) = options["etas"], options["step_sizes"]
        counted(state)
        before, size = opened(state["prev"]), opened(state["step_size"])
        xp: Any = F if type(g) is Core else space_of_type(type(g))
        d = g.dtype
        turn = g * before
        same, turned = xp.astype(turn > 0, d), xp.astype(turn < 0, d)  # truth values times numbers would be float64
        size *= same * (up - 1.0) + turned * (down - 1.0) + 1.0
        size += (size < low) * (low - size)
        size -= (size > high) * (size - high)
        g = g * (turn >= 0)
        p -= (xp.astype(g > 0, d) - xp.astype(g < 0, d)) * size
        before *= 0
        before += g
        kept(state["prev"], before)
        kept(state["step_size"], size)
        return p


def _filled(a: Any, value: float) -> Any:
    a += value
    return a
