"""What changes the dtype or the device of a module's tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class Conversions:
    """Conversions of all parameters and buffers, in place: a parameter stays the object that it is."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    if TYPE_CHECKING:

        def children(self) -> Any: ...

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        from tapegrad.torch.__future__ import get_overwrite_module_params_on_conversion
        from tapegrad.torch._modes import no_grad

        if recurse:
            for module in self.children():
                module._apply(fn)
        anew = get_overwrite_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                if anew:
                    self._parameters[name] = _like(param, fn(param))
                    continue
                value = fn(param)
                if value is not param:
                    param.data = value
                grad = param.grad
                if grad is not None and (converted := fn(grad)) is not grad:
                    param.grad = converted.requires_grad_(grad.requires_grad)
        for name, buf in self._buffers.items():
            if buf is not None:
                self._buffers[name] = fn(buf)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """`to(device)`, `to(dtype)`, `to(device, dtype)` or `to(tensor)` for all floating-point tensors; devices for all."""
        from tapegrad.torch._functions.convert import parse_to

        device, dtype, _, _ = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        def convert(t: Any) -> Any:
            floats = t.is_floating_point() or t.is_complex()
            return t.to(device, dtype if floats else None)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """The same shapes on a device, with values that mean nothing."""
        from tapegrad.torch import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def cuda(self, device: Any = None) -> Self:
        """All tensors on a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self) -> Self:
        """All tensors on the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: Any) -> Self:
        """All tensors in a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """All floating-point tensors in float32."""
        return self._floats("float")

    def double(self) -> Self:
        """All floating-point tensors in float64."""
        return self._floats("double")

    def half(self) -> Self:
        """All floating-point tensors in float16."""
        return self._floats("half")

    def bfloat16(self) -> Self:
        """All floating-point tensors in bfloat16."""
        return self._floats("bfloat16")

    def _floats(self, name: str) -> Self:
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """All tensors where other processes see them."""
        return self._apply(lambda t: t.share_memory_())


def _like(param: Any, value: Any) -> Any:
    """Another parameter, with this value and the converted gradient."""
    from tapegrad.torch.nn.parameter import Parameter

    made = Parameter(value.detach(), param.requires_grad)
    if param.grad is not None:
        made.grad = param.grad.detach().to(device=value.device, dtype=value.dtype)
    return made
