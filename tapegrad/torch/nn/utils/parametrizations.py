"""Parametrizations that are at hand."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.utils import parametrize
from tapegrad.torch.nn.utils._orthogonal import orthogonal
from tapegrad.torch.nn.utils.normalised import norm_except

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """A learned length times a learned direction."""

    def __init__(self, dim: Any = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return S.multiply(weight_v, S.divide(weight_g, norm_except(weight_v, self.dim)))

    def right_inverse(self, weight: Any) -> Any:
        """The length and the direction of a weight."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: Any = 0) -> Any:
    """Let a weight be a learned length times a learned direction."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_names(state: Any, prefix: str, *_: Any) -> None:
        """Let a state with the names of the older weight norm be loaded."""
        for end, place in (("g", 0), ("v", 1)):
            if f"{prefix}{name}_{end}" in state:
                state[f"{prefix}parametrizations.{name}.original{place}"] = state.pop(f"{prefix}{name}_{end}")

    module._register_load_state_dict_pre_hook(take_older_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, found by power iteration."""

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        from tapegrad.torch.nn.functional import normalize

        super().__init__()
        self.dim = dim
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            h, w = matrix.size()
            self.register_buffer("_u", normalize(matrix.new_empty(h).normal_(0, 1), dim=0, eps=eps))
            self.register_buffer("_v", normalize(matrix.new_empty(w).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix.detach(), 15)

    def _matrix(self, weight: Any) -> Any:
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.flatten(1)

    def _iterate(self, matrix: Any, n: int) -> None:
        from tapegrad.torch._modes import no_grad
        from tapegrad.torch.nn.functional import normalize

        with no_grad():
            for _ in range(n):
                self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        from tapegrad.torch.nn.functional import normalize

        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself."""
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight be divided by its largest singular value."""
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    made = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, made)
    return module
