"""The state of a module: saved by dotted name, and loaded with every mismatch reported at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tapegrad.torch.nn.modules._names import is_parameter, is_tensor

_EXTRA = "_extra_state"


def _has_extra(module: Any, method: str) -> bool:
    from tapegrad.torch.nn.modules.module import Module

    return getattr(type(module), method) is not getattr(Module, method)


def _persistent(module: Any) -> dict[str, Any]:
    """A module's own tensors that belong to its state."""
    left_out = module._non_persistent_buffers_set
    kept = {k: v for k, v in module._buffers.items() if k not in left_out}
    return {k: v for k, v in [*module._parameters.items(), *kept.items()] if v is not None}


# -- saving ----------------------------------------------------------------------------------------------------
def save_own(module: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Put a module's own tensors into the state."""
    from tapegrad.torch.nn.parameter import is_lazy

    for name, value in _persistent(module).items():
        destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
    if _has_extra(module, "get_extra_state"):
        destination[prefix + _EXTRA] = module.get_extra_state()


def save(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """The state of a module and of all below it."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        found = hook(module, destination, prefix, metadata)
        if found is not None:
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = found
    return destination


# -- loading ---------------------------------------------------------------------------------------------------
def load_own(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Any,
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Copy into a module's own tensors, and note what is missing, unexpected or of another shape."""
    for hook in module._load_state_dict_pre_hooks.values():
        hook(state, prefix, metadata, strict, missing, unexpected, errors)
    own = _persistent(module)
    for name, param in own.items():
        key = prefix + name
        if key in state:
            _load_tensor(module, name, key, param, state[key], metadata.get("assign_to_params_buffers", False), errors)
        elif strict:
            missing.append(key)
    if _has_extra(module, "set_extra_state"):
        if prefix + _EXTRA in state:
            module.set_extra_state(state[prefix + _EXTRA])
        elif strict:
            missing.append(prefix + _EXTRA)
    elif strict and prefix + _EXTRA in state:
        unexpected.append(prefix + _EXTRA)
    if strict:
        for key in state:
            if key.startswith(prefix) and key != prefix + _EXTRA:
                name = key[len(prefix) :].split(".", 1)
                if (len(name) > 1 and name[0] not in module._modules) or (len(name) == 1 and name[0] not in own):
                    unexpected.append(key)


def _load_tensor(
    module: Any, name: str, key: str, param: Any, given: Any, assign: bool, errors: list[str]
) -> None:
    from tapegrad.torch._modes import no_grad
    from tapegrad.torch.nn.parameter import Parameter, is_lazy, materialize

    if not is_tensor(given):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
        return
    lazy = is_lazy(param)
    if is_lazy(given):
        if lazy:
            return
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
            "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes."
        )
    if not lazy and tuple(param.shape) == () and tuple(given.shape) == (1,):
        given = given[0]  # zero-dimensional parameters had one element in files of old
    if not lazy and tuple(given.shape) != tuple(param.shape):
        errors.append(
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {param.shape}."
        )
        return
    try:
        with no_grad():
            if lazy:
                materialize(param, given.shape)
            if assign:
                if is_parameter(param) and not is_parameter(given):
                    given = Parameter(given, requires_grad=param.requires_grad)
                setattr(module, name, given)
            else:
                param.copy_(given)
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {param.shape} and '
            f"whose dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}."
        )


def load(module: Any, state_dict: Any, strict: bool, assign: bool) -> tuple[list[str], list[str]]:
    """Copy a state into a module and all below it; give the missing and the unexpected names."""
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    state = OrderedDict(state_dict)
    if metadata is not None:
        state._metadata = metadata  # type: ignore[attr-defined]
    _load_below(module, state, "", metadata, assign, (missing, unexpected, errors))
    if strict:
        if unexpected:
            errors.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected)))
        if missing:
            errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
    if errors:
        raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(errors)))
    return missing, unexpected


def _load_below(place: Any, below: Any, prefix: str, metadata: Any, assign: bool, found: tuple[Any, Any, Any]) -> None:
    """Load a module and all below it; not a function inside `load`, whose cycle would keep the state in memory."""
    missing, unexpected, _ = found
    local = dict({} if metadata is None else metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    place._load_from_state_dict(below, prefix, local, True, *found)
    for name, child in place._modules.items():
        if child is not None:
            start = f"{prefix}{name}."
            _load_below(child, {k: v for k, v in below.items() if k.startswith(start)}, start, metadata, assign, found)
    for hook in place._load_state_dict_post_hooks.values():
        if hook(place, _incompatible(missing, unexpected)) is not None:
            raise RuntimeError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                               "values, if incompatible_keys need to be modified, it should be done inplace.")  # fmt: skip


def _incompatible(missing: list[str], unexpected: list[str]) -> Any:
    """The pair that hooks see and change."""
    from tapegrad.torch.nn.modules.module import _IncompatibleKeys

    return _IncompatibleKeys(missing, unexpected)
