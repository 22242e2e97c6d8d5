"""`torch.func`: functions of functions, which compose with each other and with the graph of tensors."""

from tapegrad.torch.func._batches import vmap
from tapegrad.torch.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from tapegrad.torch.func._transforms import (
    debug_unwrap,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> object:
    from tapegrad.torch._missing import refuse

    return refuse("torch.func", name, __all__)
