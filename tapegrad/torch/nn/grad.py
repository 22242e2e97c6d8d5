"""Gradients of convolutions, asked for by themselves."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F

__all__ = [f"conv{n}d_{what}" for n in (1, 2, 3) for what in ("input", "weight")]


def _gradient(n: int, what: str, size: Any, other: Any, grad_output: Any, *options: Any) -> Any:
    """By `what` of a convolution: its input or its weight, of this size; the derivative is that of the convolution."""
    from tapegrad.torch import zeros
    from tapegrad.torch._modes import enable_grad
    from tapegrad.torch.autograd import grad

    with enable_grad():
        x: Any = zeros(tuple(size), dtype=other.dtype, device=other.device, requires_grad=True)
        given = (x, other.detach()) if what == "input" else (other.detach(), x)
        y = getattr(F, f"conv{n}d")(*given, None, *options)
        (found,) = grad(y, x, grad_output)
    return found


def _of(n: int, what: str) -> Any:
    if what == "input":

        def function(
            input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
        ) -> Any:
            return _gradient(n, what, input_size, weight, grad_output, stride, padding, dilation, groups)

    else:

        def function(  # type: ignore[misc]
            input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
        ) -> Any:
            return _gradient(n, what, weight_size, input, grad_output, stride, padding, dilation, groups)

    function.__name__ = function.__qualname__ = f"conv{n}d_{what}"
    function.__doc__ = f"The gradient of `conv{n}d` by its {what}, of a gradient of its output."
    return function


globals().update({f"conv{n}d_{what}": _of(n, what) for n in (1, 2, 3) for what in ("input", "weight")})
