"""Functions of functions: derivatives, batches, recomputation, and derivatives that the user writes.

Each takes a function of tensors and gives another one, or evaluates it.  They are made of tapes, accumulators and batches
alone, so they compose with those and with each other in any order.  In all of them a *structure* is a tensor, or lists,
tuples and dicts of structures; what a function takes by keyword is constant to it.
"""

from tapegrad.transforms.batch import vmap
from tapegrad.transforms.custom_forward import custom_jvp
from tapegrad.transforms.custom_reverse import custom_gradient
from tapegrad.transforms.directions import hvp, jvp, linearize, vjp
from tapegrad.transforms.gradients import grad, value_and_grad
from tapegrad.transforms.jacobians import hessian, jacobian
from tapegrad.transforms.recompute import checkpoint

__all__ = [
    "checkpoint",
    "custom_gradient",
    "custom_jvp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
