"""Steps that are recorded, so that what follows can be differentiated through them: `differentiable=True`.

The formula is the optimizer's own: here it is given tensors in the place of bare arrays, and what it makes of them is written
into parameters and state by recorded ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.torch._inplace import update
from tapegrad.torch._modes import enable_grad
from tapegrad.torch._tensor import STYLE


def _plain(t: Any) -> Any:
    """A tensor with its history, on memory of its own: the formula writes into it."""
    raw, node = t.read()
    return linked(np.array(raw) if isinstance(raw, np.ndarray | np.generic) else raw, node)


class _Followed:
    """A tensor of the state, as the formula sees and changes it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.array = _plain(tensor)

    def read(self) -> tuple[Any, None]:
        """What is to be computed with."""
        return self.array, None

    def __float__(self) -> float:
        return float(self.tensor)


def recorded_step(optimizer: Any, group: dict[str, Any]) -> None:
    """What `step` does with the parameters of a group, with history."""
    lr = group["lr"]
    followed = {**group, "lr": _plain(lr)} if isinstance(lr, Core) else group
    decay = 0 if optimizer._decoupled or group.get("decoupled_weight_decay") else group.get("weight_decay", 0)
    with enable_grad():
        options = optimizer._options(followed)
        for p in group["params"]:
            if p.grad is None:
                continue
            state = optimizer.state[p] if p in optimizer.state else optimizer._started(group, p)
            a, g = _plain(p), _plain(p.grad)
            if group.get("maximize"):
                g = -g
            if decay:
                g = g + decay * a
            seen = {name: _Followed(v) if isinstance(v, Core) else v for name, v in state.items()}
            found = optimizer._update(options, a, g, seen)
            update(p, lambda _, found=found: STYLE.adopt(found))
            for name, v in seen.items():
                if isinstance(v, _Followed):
                    v.tensor.array, v.tensor.node = v.array.read()  # no write: what was saved of it is still as it was
                else:
                    state[name] = v
            if seen:
                optimizer.state[p] = state
