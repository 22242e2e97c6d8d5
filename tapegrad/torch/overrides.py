"""`torch.overrides`: objects and modes that say themselves what a function of PyTorch's style gives for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tapegrad.torch import _dispatching
from tapegrad.torch._dispatching import HERE, NoAsking, ask, asked_among, install
from tapegrad.torch._missing import refusing
from tapegrad.torch._tensor import Tensor

install()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments has a `__torch_function__` of its own."""
    return not HERE.off and bool(HERE.modes or asked_among(relevant_args))


def has_torch_function_unary(x: Any) -> bool:
    """`has_torch_function` for one argument."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` for arguments one by one."""
    return has_torch_function(args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the first of the arguments says that has an answer."""
    return ask(public_api, asked_among(relevant_args), args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of tensors."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


def resolve_name(f: Any) -> str:
    """Where a function of the facade is found."""
    name = getattr(f, "__name__", str(f))
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(f) else f"torch.{name}"


def get_default_nowrap_functions() -> set[Any]:
    """Methods whose results keep the class that they have."""
    return {getattr(Tensor, name) for name in _dispatching._PLAIN if hasattr(Tensor, name)}


class TorchFunctionMode:
    """A context whose `__torch_function__` is asked before the arguments are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        HERE.modes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        HERE.modes.pop()


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def wrap_torch_function(dispatcher: Any) -> Any:
    """Let a function ask those of its arguments that `dispatcher` gives."""
    import functools

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            relevant = dispatcher(*args, **words)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **words)
            return function(*args, **words)

        return wrapped

    return decorate


__getattr__ = refusing(globals())
__all__ = [
    "BaseTorchFunctionMode", "NoAsking", "TorchFunctionMode", "get_default_nowrap_functions", "handle_torch_function", "has_torch_function",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
