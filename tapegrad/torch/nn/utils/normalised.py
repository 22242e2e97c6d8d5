"""Weights as a length times a direction, and weights divided by their largest singular value."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch.nn.parameter import Parameter, is_lazy

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


def norm_except(v: Any, dim: Any) -> Any:
    """The norm over all axes but one, with the axes kept."""
    from tapegrad.torch.linalg import vector_norm

    n = len(v.array.shape)
    if dim is None or dim == -1:
        return vector_norm(v)
    return vector_norm(v, 2, tuple(i for i in range(n) if i != dim % n), True)


class WeightNorm:
    """Computes a weight from a length and a direction before each forward pass.

    T. Salimans, D. Kingma, "Weight normalization", 2016, equation 2.
    """

    def __init__(self, name: str, dim: Any) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return S.multiply(v, S.divide(g, norm_except(v, self.dim)))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: Any = 0) -> Any:
    """Let a weight be a learned length times a learned direction."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Run one forward pass first.")
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def _removed(module: Any, kind: Any, name: str, what: str) -> Any:
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{what} of '{name}' not found in {module}")


def _remove_weight(self: Any, module: Any) -> None:
    weight = self.compute_weight(module).detach()
    delattr(module, self.name)
    del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
    setattr(module, self.name, Parameter(weight))


WeightNorm.remove = _remove_weight  # type: ignore[attr-defined]


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight be a parameter again."""
    return _removed(module, WeightNorm, name, "weight_norm")


class SpectralNorm:
    """Divides a weight by its largest singular value before each forward pass, found by power iteration.

    T. Miyato et al., "Spectral normalization for generative adversarial networks", 2018, algorithm 1.
    """

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def matrix(self, weight: Any) -> Any:
        n = len(weight.array.shape)
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(n) if d != self.dim])
        return weight.reshape(weight.array.shape[0], -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        from tapegrad.torch._modes import no_grad
        from tapegrad.torch.nn.functional import normalize

        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        w = self.matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(w.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(w.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        return weight / u.dot(w.mv(v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def remove(self, module: Any) -> None:
        from tapegrad.torch._modes import no_grad

        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight be divided by its largest singular value."""
    from tapegrad.torch._modes import no_grad
    from tapegrad.torch.nn.functional import normalize

    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if is_lazy(weight):
        raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Run one forward pass first.")
    with no_grad():
        h, w = hook.matrix(weight).size()
        u = normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight be a parameter again."""
    return _removed(module, SpectralNorm, name, "spectral_norm")
