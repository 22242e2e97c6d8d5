"""`functorch`, the package that became `torch.func`: its transforms, and modules as functions of their parameters."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tapegrad.torch._missing import refusing
from tapegrad.torch._warnings import warn
from tapegrad.torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class FunctionalModule:
    """A module without values of its own: it is called with its parameters, in their order, and then its arguments."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model)
        self.param_names = tuple(name for name, _ in model.named_parameters())

    def __call__(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return functional_call(self.model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """The same, called with its parameters and its buffers."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def __call__(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        state = {**dict(zip(self.param_names, params, strict=True)), **dict(zip(self.buffer_names, buffers, strict=True))}
        return functional_call(self.model, state, args, kwargs)


def _deprecated(name: str, instead: str) -> None:
    warn(
        f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated as of PyTorch "
        f"2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{instead}` instead; see the PyTorch 2.0 release "
        "notes and/or the `torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
    )


def _values(named: Any, *, untracked: bool) -> tuple[Any, ...]:
    return tuple(x.detach().clone().requires_grad_(x.requires_grad and not untracked) for _, x in named)


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """A module as a function, and the values of its parameters; one with buffers is refused."""
    _deprecated("make_functional", "torch.func.functional_call")
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _values(model.named_parameters(), untracked=disable_autograd_tracking)


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """A module as a function, and the values of its parameters and of its buffers."""
    _deprecated("make_functional_with_buffers", "torch.func.functional_call")
    params = _values(model.named_parameters(), untracked=disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model), params, tuple(b.clone() for b in model.buffers())


def combine_state_for_ensemble(models: Sequence[Any]) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Several modules of a kind as one function, and their parameters and buffers, stacked: for `vmap`."""
    _deprecated("combine_state_for_ensemble", "torch.func.stack_module_state")
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    params, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(models[0]), tuple(params.values()), tuple(buffers.values())


__getattr__ = refusing(globals())

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip
