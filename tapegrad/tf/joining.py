"""Tensors one after the other or side by side, and cut apart again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import all_tensors, convert, fresh, identity, integer, tensors_of
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import mismatch_in, shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("concat")
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis."""
    if isinstance(values, core.Tensor):
        return identity(values)
    if type(axis) is int and values and all_tensors(values):
        try:
            return S.concat(values, axis=axis)
        except InvalidArgumentError:  # what is wrong is said below
            pass
    if values and hasattr(values[0], "_joined"):
        return values[0]._joined(values, axis)
    xs = tensors_of(values)
    if not xs:
        raise invalid("ConcatV2", "expected at least one tensor")
    mismatch_in("ConcatV2", xs)
    axis, first = integer(axis), xs[0].array
    if not -first.ndim <= axis < first.ndim:
        raise invalid(
            "ConcatV2", f"ConcatOp : Expected concatenating dimensions in the range [{-first.ndim}, {first.ndim}), but got {axis}"
        )
    for k, x in enumerate(xs[1:], 1):
        a, b = list(first.shape), list(x.array.shape)
        if len(a) != len(b):
            raise invalid(
                "ConcatV2",
                "ConcatOp : Ranks of all input tensors should match: "
                f"shape[0] = {shape_text(first)} vs. shape[{k}] = {shape_text(x.array)}",
            )
        apart = [i for i, (m, n) in enumerate(zip(a, b, strict=True)) if m != n and i != axis % len(a)]
        if apart:
            raise invalid(
                "ConcatV2",
                f"ConcatOp : Dimension {apart[0]} in both shapes must be equal: shape[0] = {shape_text(first)} vs. "
                f"shape[{k}] = {shape_text(x.array)}",
            )
    return S.concat(xs, axis=axis)


@export("stack")
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    if type(axis) is int and type(values) in (list, tuple) and values and all_tensors(values):
        try:
            return S.stack(values, axis=axis)
        except InvalidArgumentError:  # what is wrong is said below
            pass
    xs = tensors_of(values)
    if not xs:
        return fresh(np.zeros(0, np.float32))
    mismatch_in("Pack", xs)
    for k, x in enumerate(xs[1:], 1):
        if x.array.shape != xs[0].array.shape:
            raise invalid(
                "Pack",
                f"Shapes of all inputs must match: values[0].shape = {shape_text(xs[0].array)} != "
                f"values[{k}].shape = {shape_text(x.array)}",
            )
    rank = xs[0].array.ndim
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank - 1}, {rank + 1})")
    return S.stack(xs, axis=axis)


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one shape side by side along a new first axis."""
    return stack(values)


@export("unstack")
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The parts along an axis, each without it."""
    x = convert(value)
    rank = x.array.ndim
    if not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    n = x.array.shape[axis]
    if num is not None and num != n:
        raise invalid("Unpack", f"Input shape axis {axis} must equal {num}, got shape {shape_text(x.array)}")
    return list(S.unstack(x, axis=axis))


@export("split")
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split") -> list[Tensor]:
    """The tensor cut along an axis, into equal parts or parts of given lengths, of which one may be -1."""
    x = convert(value)
    axis = integer(axis)
    n = x.array.shape[axis] if -x.array.ndim <= axis < x.array.ndim else None
    if n is None:
        raise invalid("Split", f"split_dim = {axis} is out of range for shape {shape_text(x.array)}")
    if np.ndim(num_or_size_splits) == 0:
        parts = integer(num_or_size_splits)
        if parts < 1 or n % parts:
            raise invalid(
                "Split",
                "Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {axis} (size = {n}) and num_split {parts}",
            )
        return list(S.split(x, parts, axis=axis))
    sizes = [int(s) for s in np.asarray(num_or_size_splits)]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = n - sum(sizes) - 1
    if num is not None and num != len(sizes):
        raise invalid("SplitV", f"size of the split_tensor must be 1-D and have the same elements as outputs, {num}, got {len(sizes)}")
    if (least := min(sizes, default=0)) < 0:
        raise invalid("SplitV", f"Split size at index {sizes.index(least)} must be >= 0. Got: {least}")
    if sum(sizes) != n:
        raise invalid(
            "SplitV",
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size "
            f"of the input along split_dim if not fully specified: the sizes add up to {sum(sizes)}, it has {n}",
        )
    return list(S.split(x, tuple(int(c) for c in np.cumsum(sizes)[:-1]), axis=axis))
