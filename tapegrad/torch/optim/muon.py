"""Muon: momentum whose directions are all made equally long."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch._modes import enable_grad, no_grad
from tapegrad.torch.optim.optimizer import Optimizer

__all__ = ["Muon"]

#: Coefficients of the odd polynomial that takes singular values towards 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315


class Muon(Optimizer):
    """p -= lr u with the nearest orthogonal matrix u to the momentum, by Newton and Schulz's iteration; of matrices alone.

    K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (_A, _B, _C),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        for words, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{words} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.dim() != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def step(self, closure: Any = None) -> Any:
        """Change the parameters; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(group, p, p.grad)
        return loss

    def _update(self, group: dict[str, Any], p: Any, grad: Any) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = grad.new_zeros(grad.shape)
        buffer, momentum, lr = state["momentum_buffer"], group["momentum"], float(group["lr"])
        buffer.lerp_(grad, 1 - momentum)
        ahead = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        direction = _orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(direction.to(p.dtype), alpha=-lr * _ratio(group["adjust_lr_fn"], *p.shape))


def _orthogonal(m: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """About the nearest orthogonal matrix: singular values between 0.7 and 1.2, in bfloat16."""
    from tapegrad.torch import addmm

    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = m.shape[0] > m.shape[1]
    x = m.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _ratio(name: str | None, rows: int, columns: int) -> float:
    """How much longer the step of a matrix of this shape is."""
    return 0.2 * math.sqrt(max(rows, columns)) if name == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
