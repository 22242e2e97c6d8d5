"""Optimizers that update one parameter at a time: a formula on bare arrays, and what stands around it.

A formula is written with augmented assignments: `m *= b` changes a NumPy array in place, and gives a new array where arrays
can't change (TensorFlow's).  What it ends with is put back either way, and the parameter counts one change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.optim._memory import kept, opened, read, replaced, scalar, zeros
from tapegrad.torch.optim._recorded import recorded_step
from tapegrad.torch.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

#: Options of PyTorch's that choose between kernels, and say nothing here.
KERNELS = {"foreach": None, "capturable": False, "fused": None}


class Stepper(Optimizer):
    """An optimizer whose subclass gives a formula for one parameter, on bare arrays."""

    #: The name of the class in messages about gradients that it can't take.
    _takes_sparse = False
    #: Whether weight decay is part of the formula, and not of the gradient.
    _decoupled = False

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for own in self.state.values():  # older files have counts of steps as plain numbers
            if isinstance(own, dict) and isinstance(own.get("step"), (int, float)):
                own["step"] = scalar(float(own["step"]))

    def _options(self, group: dict[str, Any]) -> Any:
        """What the formula needs of a group, computed once for all its parameters."""
        return group

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        """Fill the state of a parameter before its first update."""

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        """The formula: the parameter's array as it becomes."""
        raise NotImplementedError

    def _update_rows(self, options: Any, p: Any, grad: Any, state: dict[str, Any]) -> Any:
        """The formula for a gradient of which only some rows are there."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            from tapegrad.torch._modes import enable_grad

            with enable_grad():
                loss = closure()
        states = self.state
        for group in self.param_groups:
            if group.get("differentiable"):
                recorded_step(self, group)
                continue
            if group.get("capturable"):
                _capture(group["params"])
            options = self._options(group)
            decay = 0 if self._decoupled or group.get("decoupled_weight_decay") else group.get("weight_decay", 0)
            maximize = group.get("maximize", False)
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                state = states.get(p)
                if state is None:
                    state = self._started(group, p)
                if type(grad) is not Tensor and grad.is_sparse:
                    replaced(p, self._update_rows(options, opened(p), -grad if maximize else grad, state))
                    continue
                a, g = opened(p), read(grad)
                if maximize:
                    g = -g
                if decay:
                    g = g + float(decay) * a
                replaced(p, self._update(options, a, g, state))
        return loss

    def _started(self, group: dict[str, Any], p: Any) -> dict[str, Any]:
        state: dict[str, Any] = {}
        self._start(group, p, state)
        if state:
            self.state[p] = state
        return state


def _capture(params: Any) -> None:
    for p in params:
        if p.grad is not None and p.device.type == "cpu":
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']. "
                "Leave capturable=True out: it is for graphs of CUDA"
            )


def counted(state: dict[str, Any], name: str = "step") -> float:
    """Count one more step; the count, as a float."""
    t = state[name]
    array = opened(t)
    array += 1
    kept(t, array)
    return float(array)


def moments(p: Any, state: dict[str, Any], *names: str) -> None:
    """A count of steps, and zeros like the parameter under these names."""
    state["step"] = scalar(0.0)
    for name in names:
        state[name] = zeros(p)


def rate(group: dict[str, Any]) -> float:
    """The learning rate as a float, where it is a tensor too; where the step is recorded, that tensor with its history."""
    lr = group["lr"]
    return lr if type(lr) is Core else float(lr)  # type: ignore[return-value]
