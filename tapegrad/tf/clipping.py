"""Norms of gradients, and clipping by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import cast, convert, fresh
from tapegrad.tf.export import export
from tapegrad.tf.products import norm
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("linalg.global_norm")
def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The norm of all elements of several tensors; None and slices among them."""
    halves = [
        S.sum(S.square(_values(t))) if _values(t).array.dtype.kind != "c" else S.sum(S.square(S.abs(_values(t))))
        for t in _listed(t_list)
        if t is not None
    ]
    total = halves[0] if halves else fresh(np.float32(0))
    for h in halves[1:]:
        total = S.add(total, h)
    return S.sqrt(total)


def _listed(t_list: Any) -> list[Any]:
    if isinstance(t_list, core.Tensor) or not hasattr(t_list, "__iter__"):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def _values(t: Any) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else convert(t)


@export("clip_by_global_norm")
def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> Any:
    """Tensors scaled by one factor so that the norm of all is at most `clip_norm`, and what it was."""
    ts = _listed(t_list)
    norm = global_norm(ts) if use_norm is None else convert(use_norm)
    limit = convert(clip_norm, norm.array.dtype, prefer=True)
    scale = S.divide(limit, S.maximum(norm, limit))
    scale = S.where(S.isfinite(norm), scale, norm.array.dtype.type(np.nan))
    clipped: list[Any] = []
    for t in ts:
        if t is None:
            clipped.append(None)
        elif isinstance(t, IndexedSlices):
            clipped.append(t._scaled(cast(scale, t.dtype)))
        else:
            x = convert(t)
            clipped.append(S.multiply(x, cast(scale, x.dtype)))
    return clipped, norm


@export("clip_by_norm")
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """A tensor scaled so that its norm along axes is at most `clip_norm`."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(clip_by_norm(t.values, clip_norm, axes), t.indices, t.dense_shape)
    x = convert(t)
    limit = convert(clip_norm, x.array.dtype, prefer=True)
    norm = S.norm2(x, axis=tuple(axes) if isinstance(axes, list) else axes, keepdims=True)
    y = S.divide(S.multiply(x, limit), S.maximum(norm, limit))
    if y.array.shape != x.array.shape:
        raise ValueError(f"clip_by_norm: Shapes {x.shape} and {limit.shape} are incompatible: the limit must broadcast to the tensor")
    return y


@export("clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """A tensor scaled so that its norm divided by its size is at most `clip_norm`."""
    x = convert(t)
    n = x.array.dtype.type(x.array.size)
    return S.divide(S.multiply(x, clip_norm), S.maximum(S.divide(S.norm2(x), n), convert(clip_norm, x.array.dtype, prefer=True)))


@export("math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize")
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """A tensor divided by its norm along axes."""
    x = convert(x)
    if isinstance(axis, list):
        axis = tuple(axis)
    square = S.sum(S.square(S.abs(x) if x.array.dtype.kind == "c" else x), axis=axis, keepdims=True)
    scale = S.reciprocal(S.sqrt(S.maximum(square, square.array.dtype.type(epsilon))))
    return S.multiply(x, cast(scale, x.dtype))


@export("linalg.normalize")
def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> Any:
    """A tensor divided by its norm along axes, and the norm."""
    n = norm(tensor, ord, axis, keepdims=True)
    return S.divide(convert(tensor), n), n
