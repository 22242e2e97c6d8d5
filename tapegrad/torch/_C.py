"""The names of PyTorch's C++ module that scripts look for: the error of linear algebra, and a context."""

from tapegrad.torch._dispatching import NoAsking as DisableTorchFunctionSubclass
from tapegrad.torch._linalg_errors import LinAlgError as _LinAlgError

__all__ = ["DisableTorchFunctionSubclass", "_LinAlgError"]
