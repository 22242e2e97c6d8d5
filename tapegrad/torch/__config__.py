"""How this was built: `torch.__config__`."""

from __future__ import annotations


def show() -> str:
    """What computes, one thing a line."""
    import numpy

    from tapegrad import __version__
    from tapegrad.torch._info import __version__ as style

    return f"tapegrad {__version__}, in the style of PyTorch {style}\n  - NumPy {numpy.__version__}\n"


def parallel_info() -> str:
    """How many threads an op may use, as far as it was said."""
    from tapegrad.torch._info import get_num_interop_threads, get_num_threads

    return f"torch.get_num_threads() : {get_num_threads()}\ntorch.get_num_interop_threads() : {get_num_interop_threads()}\n"
