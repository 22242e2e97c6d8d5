"""Parameters that are computed from others: a module in the place of a tensor."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules.container import ModuleDict, ModuleList
from tapegrad.torch.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_CACHE: dict[str, Any] = {"depth": 0, "values": {}}


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is computed once."""
    _CACHE["depth"] += 1
    try:
        yield
    finally:
        _CACHE["depth"] -= 1
        if not _CACHE["depth"]:
            _CACHE["values"] = {}


class ParametrizationList(ModuleList):
    """The modules that a tensor goes through, and what it begins with."""

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        from tapegrad.torch._modes import no_grad
        from tapegrad.torch._tensor import Tensor

        super().__init__(modules)
        if not len(self):
            raise ValueError("ParametrizationList requires one or more modules.")
        self.unsafe = unsafe
        new = original
        # An inverse that isn't there lets the tensor begin as it is.
        with no_grad(), contextlib.suppress(NotImplementedError):
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        parts = [("original", new)] if self.is_tensor else [(f"original{i}", v) for i, v in enumerate(new)]
        for name, value in parts if not self.is_tensor else ():
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {name.removeprefix('original')} of the sequence with type {type(value).__name__}."
                )
        if self.is_tensor and not unsafe and new.dtype != original.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        self.ntensors = len(parts)
        for name, value in parts:
            if isinstance(original, Parameter):
                if value is original:
                    self.register_parameter(name, original)
                else:
                    self.register_parameter(name, Parameter(value, requires_grad=original.requires_grad))
            else:
                self.register_buffer(name, value)
        if not unsafe:
            _check_value(self(), original)

    def right_inverse(self, value: Any) -> None:
        """Let the tensor have this value, by the inverses of its modules."""
        from tapegrad.torch._modes import no_grad

        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            self._put(value)

    def _put(self, value: Any) -> None:
        """Let what the tensor begins with have the value, or the values, that an inverse gave."""
        from tapegrad.torch._tensor import Tensor

        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            _check_same("right_inverse", value, self.original)
            self.original.copy_(value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, v in enumerate(value):
            mine = getattr(self, f"original{i}")
            if not isinstance(v, Tensor):
                raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(v).__name__}")
            _check_same("right_inverse", v, mine)
            mine.copy_(v)

    def forward(self) -> Any:
        first, *rest = list(self)
        given = (self.original,) if self.is_tensor else tuple(getattr(self, f"original{i}") for i in range(self.ntensors))
        x = first(*given)
        for module in rest:
            x = module(x)
        return x


def _check_same(what: str, value: Any, tensor: Any) -> None:
    if value.dtype != tensor.dtype:
        raise ValueError(f"Tensor returned by `{what}` has dtype {value.dtype} while the parametrization expects {tensor.dtype}")
    if tuple(value.shape) != tuple(tensor.shape):
        raise ValueError(
            f"Tensor returned by `{what}` has shape {tuple(value.shape)} while the parametrization expects {tuple(tensor.shape)}"
        )


def _check_value(value: Any, tensor: Any) -> None:
    """Check that what a parametrization gives can stand for a tensor."""
    from tapegrad.torch._tensor import Tensor

    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    if value.dtype != tensor.dtype:
        raise ValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized dtype: {tensor.dtype}\nparametrized dtype: {value.dtype}"
        )
    if tuple(value.shape) != tuple(tensor.shape):
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized shape: {tuple(tensor.shape)}\nparametrized shape: {tuple(value.shape)}"
        )


def _inject(module: Any) -> None:
    """Give a module a class of its own, on which parametrized tensors are properties."""
    cls = type(module)
    space = {"__module__": cls.__module__, "_before": cls, "__getstate__": _not_pickled, "__deepcopy__": _deepcopied}
    made = type(f"Parametrized{cls.__name__}", (cls,), space)
    module.__class__ = made
    module.parametrizations = ModuleDict()


def _not_pickled(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deepcopied(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with a class of its own: it may lose a parametrized tensor that this one keeps."""
    cls: Any = type(self)
    made = cls.__new__(cls)
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    made.__class__ = type(cls.__name__, cls.__bases__, dict(cls.__dict__))
    return made


def _property(name: str) -> Any:
    def get(self: Any) -> Any:
        if _CACHE["depth"]:
            key = (id(self), name)
            if key not in _CACHE["values"]:
                _CACHE["values"][key] = self.parametrizations[name]()
            return _CACHE["values"][key]
        return self.parametrizations[name]()

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors, or this one."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a tensor of a module be what another module computes from it."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        if not (unsafe or parts.unsafe):
            _check_further(parametrization, getattr(module, tensor_name))
        parts.unsafe |= unsafe
        parts.append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject(module)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def _check_further(parametrization: Any, value: Any) -> None:
    """Check one more parametrization of a tensor that has some, before it is put in."""
    from tapegrad.torch._tensor import Tensor

    found = parametrization(value)
    _check_value(found, value)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(found)
        except NotImplementedError:
            return
        if not isinstance(back, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
        if back.dtype != value.dtype:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same dtype as module.weight, unless `unsafe` "
                f"flag is enabled.\nmodule dtype: {value.dtype}\nreturned dtype: {back.dtype}"
            )
        if tuple(back.shape) != tuple(value.shape):
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same shape as module.weight, unless `unsafe` "
                f"flag is enabled.\nmodule shape: {tuple(value.shape)}\nreturned shape: {tuple(back.shape)}"
            )


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give a module another's parametrized tensor, or all of them: the parametrizations are shared, what they begin with is copied."""
    from tapegrad.torch._modes import no_grad

    if not is_parametrized(from_module):
        raise AssertionError("from_module must have parametrizations")
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        parts = from_module.parametrizations[name]
        if not is_parametrized(to_module, name):
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
            for part in parts:
                register_parametrization(to_module, name, part, unsafe=parts.unsafe)
        mine = to_module.parametrizations[name]
        with no_grad():
            if parts.is_tensor:
                mine.original.copy_(parts.original)
            else:
                for i in range(parts.ntensors):
                    getattr(mine, f"original{i}").copy_(getattr(parts, f"original{i}"))
    return to_module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Let a tensor of a module be a parameter, or a buffer, again."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    learned = "original" in parts._parameters or "original0" in parts._parameters
    if leave_parametrized:
        value = getattr(module, tensor_name).detach()
        if parts.is_tensor and value.dtype == parts.original.dtype:  # an optimizer knows the tensor by who it is
            parts.original.data = value
            value = parts.original
    elif parts.is_tensor:
        value = parts.original
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")  # fmt: skip
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module)._before
    if learned:
        module.register_parameter(tensor_name, value if isinstance(value, Parameter) else Parameter(value))
    else:
        module.register_buffer(tensor_name, value)
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class of a module as it was before it had parametrized tensors."""
    return type(module)._before if is_parametrized(module) else type(module)
