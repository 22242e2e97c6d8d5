"""`torch.autograd`: derivatives of what was computed, and what goes with them."""

from __future__ import annotations

import warnings
from typing import Any

from tapegrad.torch._backward import grad, run_backward
from tapegrad.torch._modes import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tapegrad.torch._packing import SavedTensor
from tapegrad.torch._parameters import Variable


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of these tensors to the `grad` of the leaves that they depend on."""
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                               "use `grad_tensors`.")  # fmt: skip
        grad_tensors = grad_variables
    run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


_WARNED = [False]


def _of_tensor(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the gradient of this tensor to the `grad` of the leaves that it depends on."""
    if create_graph and not _WARNED[0]:
        _WARNED[0] = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
            "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=2,
        )
    run_backward(self, gradient, retain_graph, create_graph, inputs)


def kineto_available() -> bool:
    """Whether PyTorch's own profiler of devices is there."""
    return False


__all__ = [
    "SavedTensor", "Variable", "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode",
    "is_multithreading_enabled", "kineto_available", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _MODULES.items():
        if name == module or name in names:
            found = importlib.import_module(f"tapegrad.torch.autograd.{module}")
            return found if name == module else getattr(found, name)
    from tapegrad.torch._missing import refuse

    return refuse("torch.autograd", name, [*globals(), *_MODULES, *(n for names in _MODULES.values() for n in names)])


#: Modules that are imported when they are first asked for, and what of them stands here.
_MODULES: dict[str, tuple[str, ...]] = {
    "anomaly_mode": ("detect_anomaly", "set_detect_anomaly"),
    "forward_ad": (),
    "function": ("Function",),
    "functional": (),
    "grad_mode": (),
    "graph": (),
    "profiler": (),
}

from tapegrad.torch.autograd.gradcheck import gradcheck, gradgradcheck  # noqa: E402  the name is the function's, not the module's
