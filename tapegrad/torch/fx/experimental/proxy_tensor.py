"""Whether functions are being traced: they are not, here."""

from tapegrad.torch._missing import refusing


def get_proxy_mode() -> None:
    """None: nobody traces."""


__getattr__ = refusing(globals())
__all__ = ["get_proxy_mode"]
