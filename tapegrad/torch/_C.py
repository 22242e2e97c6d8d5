"""The names of PyTorch's C++ module that scripts look for: the error of linear algebra, a context, and whether anybody traces."""

from tapegrad.torch._dispatching import NoAsking as DisableTorchFunctionSubclass
from tapegrad.torch._dispatching import never_asked as _disabled_torch_function_impl
from tapegrad.torch._linalg_errors import LinAlgError as _LinAlgError
from tapegrad.torch._missing import refusing


def _get_tracing_state() -> None:
    """None: nobody traces."""


def _are_functorch_transforms_active() -> bool:
    """Whether a function is being mapped."""
    from tapegrad.registry.batching import levels

    return bool(levels())


__getattr__ = refusing(globals())
__all__ = [
    "DisableTorchFunctionSubclass", "_LinAlgError", "_are_functorch_transforms_active", "_disabled_torch_function_impl",
    "_get_tracing_state",
]  # fmt: skip
