"""Which version of PyTorch this is like."""

from tapegrad._version import __version__ as _own

__version__ = "2.13.0"
cuda = hip = xpu = None
debug = False
git_version = f"tapegrad {_own}"
