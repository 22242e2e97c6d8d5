"""Adam and its family: running means of the gradient and of its square."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.optim._memory import kept, larger, minus, opened, over, root, scalar, scratch_of, times
from tapegrad.torch.optim._stepper import Stepper, counted, moments, rate
from tapegrad.torch.optim.optimizer import checked


def _checked(lr: Any, betas: Any, eps: float, weight_decay: float, momentum_decay: float = 0) -> None:
    checked(
        lr=("learning rate", lr, lr >= 0),
        eps=("epsilon value", eps, eps >= 0),
        beta0=("beta parameter at index 0", betas[0], 0 <= betas[0] < 1),
        beta1=("beta parameter at index 1", betas[1], 0 <= betas[1] < 1),
        decay=("weight_decay value", weight_decay, weight_decay >= 0),
        momentum=("momentum_decay value", momentum_decay, momentum_decay >= 0),
    )


def _averaged(state: dict[str, Any], g: Any, beta1: float, beta2: float, out: Any = None) -> tuple[Any, Any]:
    """The running means of g and of g**2, after one more; `out` is room for what comes between."""
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    m, v = opened(mean), opened(square)
    d = minus(g, m, out)
    d *= 1 - beta1
    m += d
    v *= beta2
    d = times(g, g, out)
    d *= 1 - beta2
    v += d
    kept(mean, m)
    kept(square, v)
    return m, v


class _Moments(Stepper):
    _more: tuple[str, ...] = ()

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        more = ("max_exp_avg_sq",) if group.get("amsgrad") else ()
        moments(p, state, "exp_avg", "exp_avg_sq", *more)

    def _decayed(self, group: dict[str, Any], p: Any) -> Any:
        """Weight decay that is no part of the gradient."""
        decay = group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            p *= 1 - rate(group) * decay
        return p


class Adam(_Moments):
    """p -= lr m / (sqrt(v) + eps) with running means m of g and v of g**2, corrected for their start at 0.

    D. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1; with `amsgrad`, the largest v so far:
    S. Reddi, S. Kale, S. Kumar, "On the convergence of Adam and beyond", 2018, algorithm 2.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _checked(lr, betas, eps, weight_decay)
        if foreach and not capturable and hasattr(lr, "is_leaf"):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _options(self, group: dict[str, Any]) -> Any:
        beta1, beta2 = map(float, group["betas"])
        decay = group["weight_decay"] if group["decoupled_weight_decay"] else 0
        lr = rate(group)
        return lr, beta1, beta2, group["eps"], group["amsgrad"], 1 - lr * decay if decay else None

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, beta1, beta2, eps, amsgrad, shrink = options
        step = counted(state)
        if shrink is not None:
            p *= shrink
        out = scratch_of(self, p)
        m, v = _averaged(state, g, beta1, beta2, out)
        if amsgrad:
            most = state["max_exp_avg_sq"]
            v = larger(opened(most), v)
            kept(most, v)
        u = root(v, out)
        u /= (1 - beta2**step) ** 0.5
        u += eps
        u = over(m, u, out)
        u *= lr / (1 - beta1**step)
        p -= u
        return p


class AdamW(Adam):
    """Adam, with a decay of the parameters that is no part of the gradient.

    I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class NAdam(_Moments):
    """Adam with Nesterov's momentum.  T. Dozat, "Incorporating Nesterov momentum into Adam", 2016, algorithm 2."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _checked(lr, betas, eps, weight_decay, momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        state["step"], state["mu_product"] = scalar(0.0), scalar(1.0)
        moments(p, state, "exp_avg", "exp_avg_sq")

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, (beta1, beta2), fade = rate(options), options["betas"], options["momentum_decay"]
        step = counted(state)
        p = self._decayed(options, p)
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * fade)) for t in (step, step + 1))
        product = opened(state["mu_product"])
        product *= now
        kept(state["mu_product"], product)
        m, v = _averaged(state, g, beta1, beta2)
        u = root(v / (1 - beta2**step))
        u += options["eps"]
        p -= (lr * (1 - now) / (1 - float(product))) * g / u
        p -= (lr * then / (1 - float(product) * then)) * m / u
        return p


class RAdam(_Moments):
    """Adam without the second mean as long as its variance is too large, and rectified then.

    L. Liu et al., "On the variance of the adaptive learning rate and beyond", 2020, algorithm 2.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _checked(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, (beta1, beta2) = rate(options), options["betas"]
        step = counted(state)
        p = self._decayed(options, p)
        m, v = _averaged(state, g, beta1, beta2)
        u = m / (1 - beta1**step)
        u *= lr
        left = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / left  # of the average that has the same centre of mass
        if length > 5:
            u *= left**0.5 / (root(v) + options["eps"])
            u *= ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        p -= u
        return p


class Adamax(Stepper):
    """Adam with the largest gradient in the place of the mean square.  D. Kingma, J. Ba, 2015, algorithm 2."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _checked(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        moments(p, state, "exp_avg", "exp_inf")

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        beta1, beta2 = options["betas"]
        step = counted(state)
        m = opened(state["exp_avg"])
        m += (1 - beta1) * (g - m)
        kept(state["exp_avg"], m)
        top = opened(state["exp_inf"])
        top *= beta2
        top = larger(top, abs(g) + options["eps"])
        kept(state["exp_inf"], top)
        p -= (rate(options) / (1 - beta1**step)) * (m / top)
        return p
