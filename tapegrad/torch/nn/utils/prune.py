"""Pruning: parameters multiplied by masks of zeros and ones, which are found by a method and kept with the module.

A pruned `weight` becomes a parameter `weight_orig` and a buffer `weight_mask`; their product is computed before each forward pass,
under the old name.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, ClassVar

import tapegrad.torch as _torch

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured",
    "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip

torch: Any = _torch


class BasePruningMethod:
    """How a mask is found; an object of it is the hook that computes one pruned tensor."""

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for scores `t`, on top of the mask that is there already."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute_mask")

    def apply_mask(self, module: Any) -> Any:
        """The pruned tensor."""
        if getattr(self, "_tensor_name", None) is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, whole = (getattr(module, f"{self._tensor_name}_{end}") for end in ("mask", "orig"))
        return mask.to(dtype=whole.dtype) * whole

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module, or prune it further; the value is the hook."""
        earlier = _hooks_of(module, name)
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
            )
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        values = getattr(module, name)
        scores = _scores(values, importance_scores, f"parameter {name} of {module}")
        for key, hook in earlier.items():
            del module._forward_pre_hooks[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        if earlier:
            before = getattr(module, f"{name}_mask").detach().clone()
        else:
            module.register_parameter(f"{name}_orig", values)
            del module._parameters[name]
            before = torch.ones_like(values)
        try:
            module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=before))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not earlier:
                whole = module._parameters.pop(f"{name}_orig")
                module.__dict__.pop(name, None)
                module.register_parameter(name, whole)
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times its mask, without a module."""
        scores = _scores(t, importance_scores, "tensor t")
        return t * self.compute_mask(scores, default_mask=torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor an ordinary parameter again, with its zeros."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        module.__dict__.pop(name, None)
        whole = module._parameters.pop(f"{name}_orig")
        whole.data = pruned.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, whole)


def _hooks_of(module: Any, name: str) -> dict[int, BasePruningMethod]:
    """The hooks that prune one tensor of a module."""
    found = module._forward_pre_hooks.items()
    return {key: hook for key, hook in found if isinstance(hook, BasePruningMethod) and hook._tensor_name == name}


def _scores(values: Any, scores: Any, what: str) -> Any:
    if scores is None:
        return values
    if tuple(scores.shape) != tuple(values.shape):
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {tuple(scores.shape)} and {tuple(values.shape)}"
        )
    return scores


# -- how many -----------------------------------------------------------------------------------------------------
class _Amount(BasePruningMethod):
    """A method that prunes a number of units, or a share of them."""

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        found = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(found, size)
        return found


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, int | float | numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (float(amount) > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


# -- single entries -----------------------------------------------------------------------------------------------
class Identity(BasePruningMethod):
    """Prunes nothing, and makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class RandomUnstructured(_Amount):
    """Prunes entries at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = self._count(t.numel())
        return _without(default_mask, torch.topk(torch.rand_like(t).view(-1), k=count).indices if count else None)


class L1Unstructured(_Amount):
    """Prunes the entries that are smallest in absolute value."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = self._count(t.numel())
        return _without(default_mask, torch.topk(t.detach().abs().view(-1), k=count, largest=False).indices if count else None)


def _without(mask: Any, index: Any) -> Any:
    """A copy of a mask with zeros at these places of its flat form."""
    made = mask.detach().clone()
    if index is not None:
        made.view(-1)[index] = 0
    return made


# -- whole channels -----------------------------------------------------------------------------------------------
class _Structured(_Amount):
    """A method that prunes whole channels along an axis."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Any, count: int) -> Any:
        """The channels that stay when `count` of them go: as a mask or by number."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        mask = torch.zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._kept(t.detach(), count)
        mask[tuple(index)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes channels at random."""

    def _kept(self, t: Any, count: int) -> Any:
        drawn = torch.rand(t.shape[self.dim])
        return drawn > torch.kthvalue(drawn, k=count).values


class LnStructured(_Structured):
    """Prunes the channels of the smallest n-norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, count: int) -> Any:
        others = [i for i in range(t.dim()) if i != self.dim % t.dim()]
        return torch.topk(torch.norm(t, p=self.n, dim=others), k=t.shape[self.dim] - count).indices


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# -- several methods, one after another ---------------------------------------------------------------------------
class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor one after another: each looks only at what the ones before left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        given = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
        for method in given:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Let one more method prune."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            left: Any = mask == 1
        elif kind == "structured":
            others = tuple(i for i in range(t.dim()) if i != method.dim % t.dim())
            index: list[Any] = [slice(None)] * t.dim()
            index[method.dim] = mask.sum(dim=others) != 0
            left = tuple(index)
        elif kind == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        made = mask.clone()
        made[left] = method.compute_mask(t[left], default_mask=mask[left]).to(made.dtype)
        return made


# -- by name ------------------------------------------------------------------------------------------------------
def identity(module: Any, name: str) -> Any:
    """Make the mask of a parameter, without a zero."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune entries of a parameter at random."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Any = None) -> Any:
    """Prune the entries of a parameter that are smallest in absolute value."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels of a parameter that have the smallest n-norm."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters, given as pairs of a module and a name, by one method that sees them as one vector."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs, given = list(parameters), {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    values = [getattr(module, name) for module, name in pairs]
    scores = torch.cat([given.get(pair, value).detach().reshape(-1) for pair, value in zip(pairs, values, strict=True)])
    masks = [getattr(module, f"{name}_mask", None) for module, name in pairs]
    before = torch.cat([
        (torch.ones_like(value) if mask is None else mask).detach().reshape(-1) for mask, value in zip(masks, values, strict=True)
    ])  # fmt: skip
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "all of them"
    container.add_pruning_method(method)
    pieces = container.compute_mask(scores, before).split([value.numel() for value in values])
    for (module, name), value, piece in zip(pairs, values, pieces, strict=True):
        custom_from_mask(module, name, piece.view_as(value))


def remove(module: Any, name: str) -> Any:
    """Make a pruned tensor an ordinary parameter again, with its zeros."""
    for key, hook in _hooks_of(module, name).items():
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether a module or one below it has a pruned parameter."""
    below = (hook for m in module.modules() for hook in m._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in below)
