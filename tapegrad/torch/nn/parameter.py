"""`Parameter` and `Buffer`, and their kinds that wait for a shape."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._missing import refusing
from tapegrad.torch._parameters import Buffer, Parameter
from tapegrad.torch._tensor import ORDINARY, Tensor, auto_of


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet: a lazy module gives it one at its first input."""

    __slots__ = ()
    flag = "lazy parameter"

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        from tapegrad.torch._functions._build import FUNCTIONS

        made = Parameter(FUNCTIONS["empty"](0, device=device, dtype=dtype), requires_grad)
        auto_of(made).flags["lazy parameter"] = True
        made.__class__ = UninitializedParameter
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter of this shape, whose values mean nothing yet."""
        materialize(self, shape, device, dtype)


class UninitializedBuffer(Buffer):
    """A buffer whose shape is not known yet."""

    __slots__ = ()
    flag = "lazy buffer"

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        from tapegrad.torch._functions._build import FUNCTIONS

        made = Buffer(FUNCTIONS["empty"](0, device=device, dtype=dtype), persistent=persistent)
        auto_of(made).flags["lazy buffer"] = True
        made.__class__ = UninitializedBuffer
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a buffer of this shape, whose values mean nothing yet."""
        materialize(self, shape, device, dtype)


ORDINARY.add(UninitializedParameter)
ORDINARY.add(UninitializedBuffer)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer is waiting for its shape."""
    flags = auto_of(param).flags
    return bool(flags.get("lazy parameter") or flags.get("lazy buffer"))


def materialize(param: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
    """Give a waiting parameter or buffer a shape; its values mean nothing yet."""
    from tapegrad.torch._functions._build import FUNCTIONS

    param.data = FUNCTIONS["empty"](*shape, dtype=param.dtype if dtype is None else dtype, device=device)
    for flag in ("lazy parameter", "lazy buffer"):
        auto_of(param).flags.pop(flag, None)
    if type(param) is UninitializedParameter:
        settled: Any = param
        settled.__class__ = Parameter
    elif type(param) is UninitializedBuffer:
        plain: Any = param
        plain.__class__ = Tensor


__getattr__ = refusing(globals())

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy", "materialize"]
