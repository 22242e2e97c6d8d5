"""What distributions share: parameters of one shape, and probabilities from logits and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from tapegrad.torch import _arrays

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "standard_normal",
    "sum_rightmost",
    "tensors",
    "torch",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

#: The facade, by which all here is computed, so that a tape records it.
torch: Any = _arrays.facade()


class lazy_property:
    """A parameter that is computed from another when it is first asked for, with its history even inside `no_grad`.

    A sample is drawn without a history, and must not leave the other form of a parameter without one.
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        update_wrapper(self, compute)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self._compute(instance)
        instance.__dict__[self._compute.__name__] = value
        return value


euler_constant = 0.57721566490153286060


def tensors(*values: Any) -> tuple[Any, ...]:
    """The values as tensors; numbers take the dtype of the first tensor, or the default."""
    given = [v for v in values if _arrays.is_tensor(v)]
    for v in values:
        if not _arrays.is_tensor(v) and (isinstance(v, str) or not isinstance(v, int | float | complex)):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
            )
    dtype = given[0].dtype if given else torch.get_default_dtype()
    device = given[0].device if given else None
    return tuple(v if _arrays.is_tensor(v) else torch.tensor(v, dtype=dtype, device=device) for v in values)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values as tensors of the shape that they have in common."""
    given = tensors(*values)
    shapes = [tuple(v.shape) for v in given]
    return given if all(s == shapes[0] for s in shapes) else tuple(torch.broadcast_tensors(*given))


def standard_normal(shape: Any, dtype: Any, device: Any = None) -> Any:
    """Normal numbers of mean 0 and standard deviation 1."""
    return torch.randn(tuple(shape), dtype=dtype, device=device)


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` axes."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities away from 0 and 1 by the dtype's precision."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of logits: of one alternative, or along the last axis."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Logits of probabilities: of one alternative, or along the last axis."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries on a diagonal and below it, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, offset=diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """A matrix with these entries on a diagonal and below it, row by row, and zeros elsewhere."""
    length = vec.shape[-1]
    root = ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = (-(1 + 2 * diag) + root) / 2
    if not round(n) - torch.finfo(vec.dtype).eps <= n <= round(n) + torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    rows, columns = torch.tril_indices(n, n, offset=diag)
    flat = vec.new_zeros((*vec.shape[:-1], n * n)).index_copy(-1, rows * n + columns, vec)
    return flat.reshape((*vec.shape[:-1], n, n))


def one_of(probs: Any, logits: Any) -> None:
    """Refuse both of two ways to say the same, and neither."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return torch.logaddexp(x, torch.zeros_like(x))


#: PyTorch's names for what libraries of distributions import.
_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
