"""`torch.ops`: PyTorch's operators by name, as policies of selective checkpoints compare them; called, they run the function."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.torch._missing import refusing

#: Operators that the facade has as functions of another name, or in another module.
_FUNCTIONS = {
    "_softmax": "nn.functional.softmax", "_log_softmax": "nn.functional.log_softmax", "convolution": "convolution",
    "_scaled_dot_product_flash_attention": "nn.functional.scaled_dot_product_attention",
    "_scaled_dot_product_efficient_attention": "nn.functional.scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu": "nn.functional.scaled_dot_product_attention",
}  # fmt: skip


def _function(name: str) -> Any:
    from importlib import import_module

    path = _FUNCTIONS.get(name, name)
    for module in ("", ".nn.functional", ".linalg", ".special", ".fft"):
        here: Any = import_module(f"tapegrad.torch{module}")
        found: Any = functools.reduce(lambda at, part: getattr(at, part, None), path.split("."), here)
        if callable(found):
            return found
    return getattr(import_module("tapegrad.torch").Tensor, name, None)


class OpOverload:
    """One form of an operator."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.namespace = packet.namespace

    def __call__(self, *args: Any, **words: Any) -> Any:
        return self.overloadpacket(*args, **words)

    def name(self) -> str:
        """With the namespace, and without the overload if that is the default."""
        extra = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self.overloadpacket.__name__}{extra}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator in all its forms."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = name

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        found = self.__dict__[overload] = OpOverload(self, overload)
        return found

    def __call__(self, *args: Any, **words: Any) -> Any:
        found = _function(self.__name__)
        if found is None:
            raise NotImplementedError(f"torch.ops.{self}: tapegrad has no function of this name; call one of torch or torch.nn.functional")
        return found(*args, **words)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Namespace:
    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = OpOverloadPacket(self.__name__, name)
        return found


#: PyTorch's own operators; what libraries register beside them in C++ is not here.
aten = _Namespace("aten")
prims = _Namespace("prims")

__getattr__ = refusing(globals())
__all__ = ["aten", "prims"]
