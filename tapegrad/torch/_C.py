"""The names of PyTorch's C++ module that scripts look for: the error of linear algebra."""

from tapegrad.torch._linalg_errors import LinAlgError as _LinAlgError

__all__ = ["_LinAlgError"]
