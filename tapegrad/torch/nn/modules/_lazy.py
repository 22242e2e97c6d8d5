"""Modules that learn the shapes of their parameters from the first input."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn.parameter import is_lazy


class LazyModuleMixin:
    """Before the first call the parameters are given their shapes; then the module becomes an ordinary one."""

    cls_to_become: Any = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def has_uninitialized_params(self) -> bool:
        """Whether some parameter or buffer still waits for its shape."""
        both = [*self.__dict__.get("_parameters", {}).values(), *self.__dict__.get("_buffers", {}).values()]
        return any(p is not None and is_lazy(p) for p in both)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes; a subclass defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.has_uninitialized_params():
            from tapegrad.torch._modes import no_grad

            with no_grad():
                self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become
            return self(*args, **kwargs)
        return super().__call__(*args, **kwargs)  # type: ignore[misc]
