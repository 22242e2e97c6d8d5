"""Products over axes, and running sums and products along one: with any number of zeros."""

from __future__ import annotations

from typing import Any

from tapegrad.ops.reductions import count, put_back, reduction
from tapegrad.registry import composite, linear, primitive
from tapegrad.registry.batch_rules import flattening, over_axis


@primitive(laws=reduction, order=2)
def prod(xp: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product over axes.  The derivative is the product of all others, whatever zeros there are."""
    return xp.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _prod_pullback(F: Any, g: Any, x: Any, y: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    if dtype is not None:
        g = F.cast(g, x.dtype)
    g = put_back(F, g, x, axis, keepdims)
    value = put_back(F, y, x, axis, keepdims) if dtype is None else None
    return g * F.conj(F.others(x, axis=axis, value=value))


prod.pullback(x=_prod_pullback)


@composite(laws=lambda draw: (draw.array("n", 3), {"axis": draw.choice(0, 1, -1, None, (0, 1), ())}), public=False)
def others(F: Any, x: Any, /, *, axis: Any = None, value: Any = None) -> Any:
    """For each element the product of all others over the axes: of those before it, times those after it.

    There is no division, so it is right with any number of zeros, and so is its derivative.

    * `value`: the product over the axes, in a shape that broadcasts to that of `x`, where it is known: kernels may start from it.
    """
    n = len(x.shape)
    if n == 0:
        return F.ones_like(x)
    axes = tuple(range(n)) if axis is None else tuple(a % n for a in (axis if isinstance(axis, tuple) else (axis,)))
    rest = tuple(i for i in range(n) if i not in axes)
    order = (*rest, *axes)
    back = tuple(order.index(i) for i in range(n))
    moved = F.permute_dims(x, order)
    flat = F.reshape(moved, (*(x.shape[i] for i in rest), count(x.shape, axes)))
    before = F.shifted_prod(flat)
    after = F.flip(F.shifted_prod(F.flip(flat, axis=-1)), axis=-1)
    return F.permute_dims(F.reshape(before * after, tuple(x.shape[i] for i in order)), back)


@composite(laws=lambda draw: (draw.array("n", 3),), public=False)
def shifted_prod(F: Any, x: Any, /) -> Any:
    """The product of all elements before each one, over the last axis."""
    n = x.shape[-1]
    if n == 0:
        return F.positive(x)
    ones = F.ones_like(x[..., :1])
    return F.cumulative_prod(F.concat([ones, x[..., : n - 1]], axis=-1), axis=-1)


def _cumulative(draw: Any) -> Any:
    x = draw.array(*draw.choice((), ("n",), ("n", "m"), ("n", 2, "m")))
    axis = draw.axis(x) if x.shape else draw.choice(0, -1)
    axis = axis if len(x.shape) > 1 else draw.choice(None, axis)
    return x, {"axis": axis, "include_initial": draw.boolean()}


@linear(laws=_cumulative)
def cumulative_sum(
    xp: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of all elements up to each one along an axis, with a leading zero if `include_initial`."""
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def _cumulative_sum_adjoint(F: Any, g: Any, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    if dtype is not None:
        g = F.cast(g, x.dtype)
    axis = -1 if axis is None else axis
    g = F.flip(F.cumulative_sum(F.flip(g, axis=axis), axis=axis), axis=axis)
    if include_initial:
        index = [slice(None)] * len(g.shape)
        index[axis] = slice(1, None)
        g = F.getitem(g, tuple(index))
    return g if x.shape else F.reshape(g, ())  # the value of a 0-d array has an axis


cumulative_sum.adjoint(x=_cumulative_sum_adjoint)


@primitive(laws=_cumulative)
def cumulative_prod(
    xp: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of all elements up to each one along an axis, with a leading one if `include_initial`."""
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def _cumulative_prod_pullback(F: Any, g: Any, x: Any, y: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    if dtype is not None:
        g = F.cast(g, x.dtype)
    if not x.shape:  # its value has an axis
        g = F.getitem(g, 1) if include_initial else g
        return F.reshape(g, ())
    axis = -1 if axis is None else axis
    if include_initial:
        g = F.getitem(g, (*(slice(None),) * (axis % len(x.shape)), slice(1, None)))
    return F.cumulative_prod_grad(g, x, axis=axis, value=y if dtype is None and not include_initial else None)


cumulative_prod.pullback(x=_cumulative_prod_pullback)


@composite(
    laws=lambda draw: (draw.array("n", 3, 2), draw.array("n", 3, 2), {"axis": draw.choice(0, 1, -1)}), public=False, order=2
)
def cumulative_prod_grad(F: Any, g: Any, x: Any, /, *, axis: int, value: Any = None) -> Any:
    """The cotangent of `x` from that of its running products along an axis.

    y_k = prod(x_0..x_k): the cotangent of x_i is P_i * s_i, with P_i the product before i and s_i = g_i + x_{i+1} * s_{i+1}:
    a linear recurrence from the end, without a division.

    * `value`: the running products, where they are known: kernels may start from them.
    """
    last = len(x.shape) - 1
    g, x = F.moveaxis(g, axis, last), F.conj(F.moveaxis(x, axis, last))
    return F.moveaxis(F.shifted_prod(x) * F.backward_recurrence(g, x), last, axis)


@composite(laws=lambda draw: (draw.array("n", 3), draw.array("n", 3)), public=False)
def backward_recurrence(F: Any, start: Any, x: Any, /) -> Any:
    """s with s_i = start_i + x_{i+1} s_{i+1} over the last axis, in log2(n) passes of doubling step; what is 0 brings in nothing."""
    n = x.shape[-1]
    s = F.positive(start)
    a = F.concat([x[..., 1:], F.zeros_like(x[..., :1])], axis=-1)  # the factor that brings in the next one
    step = 1
    while step < n:
        pad = F.zeros_like(s[..., :step])
        s = s + F.mul_zero(F.concat([s[..., step:], pad], axis=-1), a)
        a = F.mul_zero(F.concat([a[..., step:], pad], axis=-1), a)
        step *= 2
    return s


prod.batch(over_axis("prod"))
for _op in (cumulative_sum, cumulative_prod):
    _op.batch(flattening(_op.name))
