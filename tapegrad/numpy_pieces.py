"""NumPy's functions that choose elements, and take arrays apart and join them; and of neighbours, angles and transforms of two axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.numpy_compositions import COMPOSITIONS, public, read, values_of
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# -- reductions of some elements --------------------------------------------------------------------------
def _reduction(name: str, neutral: float, join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Our reduction, of those elements that a condition leaves, together with a first value."""

    def run(x: Any, /, *, initial: Any = None, where: Any = True, **words: Any) -> Any:
        if where is not True:
            if initial is None and math.isinf(neutral):
                raise ArgumentError(f"np.{name}(where=...): expected initial too, which stands for an element that is left out")
            x = F.where(read(values_of(where)), x, initial if math.isinf(neutral) else neutral)
        y = public(name)(x, **words)
        return y if initial is None else join(y, initial)

    return run


def _mean(x: Any, /, *, where: Any = True, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    if dtype is not None:
        x = F.astype(x, np.dtype(dtype))
    if where is True:
        return F.mean(x, axis=axis, keepdims=keepdims)
    chosen = np.broadcast_to(values_of(where), x.shape)
    count = np.sum(chosen, axis=axis, keepdims=keepdims)
    return F.sum(F.where(read(chosen), x, 0), axis=axis, keepdims=keepdims) / F.astype(read(count), np.result_type(x.dtype, np.float16))


def _clip(x: Any, /, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002  NumPy's names
    low, high = (np.asarray(v) if isinstance(v, list | tuple) else v for v in (min, max))
    return F.clip(x, low, high)


# -- choosing --------------------------------------------------------------------------------------------
def _select(conditions: Sequence[Any], choices: Sequence[Any], /, *, default: Any = 0) -> Any:
    if len(conditions) != len(choices):
        raise ArgumentError(f"select: expected a choice for each condition, got {len(conditions)} and {len(choices)}")
    found = read(default) if hasattr(default, "shape") else default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = F.where(read(values_of(condition)), choice if isinstance(choice, Tensor) else np.asarray(choice), found)
    return found


def _choose(index: Any, choices: Sequence[Any], /) -> Any:
    places = values_of(index)
    parts = [read(c) for c in choices]
    shape = np.broadcast_shapes(places.shape, *(c.shape for c in parts))
    whole = F.stack([F.broadcast_to(c, shape) for c in parts])
    return F.take_along_axis(whole, np.broadcast_to(places, shape)[None], axis=0)[0]


def _compress(condition: Any, x: Any, /, *, axis: int | None = None) -> Any:
    x = read(x)
    x, axis = (F.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return F.take(x, np.flatnonzero(values_of(condition)), axis=axis)


def _extract(condition: Any, x: Any, /) -> Any:
    return F.take(F.reshape(read(x), (-1,)), np.flatnonzero(values_of(condition)), axis=0)


def _delete(x: Any, obj: Any, /, *, axis: int | None = None) -> Any:
    x = read(x)
    x, axis = (F.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return F.take(x, np.delete(np.arange(x.shape[axis]), obj if isinstance(obj, slice) else values_of(obj)), axis=axis)


def _insert(x: Any, obj: Any, values: Any, /, *, axis: int | None = None) -> Any:
    """Where NumPy puts numbers of places, these are taken from the array, behind which the new values stand."""
    x, values = read(x), read(values)
    x, axis = (F.reshape(x, (-1,)), 0) if axis is None else (x, axis % x.ndim)
    n = x.shape[axis]
    places: Any = obj if isinstance(obj, slice) else values_of(obj)
    single = not isinstance(obj, slice) and places.ndim == 0
    number = np.insert(np.arange(n), places, -1).size - n
    if single:  # then the new values have the axis first, or not at all
        number = values.shape[0] if values.ndim == x.ndim else 1
        values = F.moveaxis(values, 0, axis) if values.ndim == x.ndim else values
        values = F.expand_dims(values, axis=axis) if values.ndim == x.ndim - 1 and values.ndim else values
        order = np.insert(np.arange(n), [int(places)] * number, np.arange(n, n + number))
    else:
        order = np.insert(np.arange(n), places, np.arange(n, n + number))
    shape = tuple(number if i == axis else k for i, k in enumerate(x.shape))
    values = F.broadcast_to(F.astype(values, x.dtype), shape)
    return F.take(F.concat([x, values], axis=axis), order, axis=axis)


# -- parts and wholes ------------------------------------------------------------------------------------
def _block(arrays: Any, /) -> Any:
    def depth(a: Any) -> int:
        return 1 + max(map(depth, a)) if isinstance(a, list) else 0

    levels = depth(arrays)

    def rank(a: Any) -> int:
        return max(map(rank, a)) if isinstance(a, list) else np.ndim(a) if not isinstance(a, Tensor) else a.ndim

    ndim = max(levels, rank(arrays))

    def joined(a: Any, level: int) -> Any:
        if isinstance(a, list):
            return F.concat([joined(part, level - 1) for part in a], axis=-level)
        x = read(a)
        return F.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))

    return joined(arrays, levels)


def _parts(axis: int, least: int, name: str) -> Callable[..., Any]:
    def run(x: Any, sections: Any, /) -> Any:
        if x.ndim < least:
            raise ShapeError(f"{name}(x): expected x.ndim >= {least}, got shape {tuple(x.shape)}")
        return COMPOSITIONS["split"](x, sections, axis=0 if x.ndim == 1 else axis)

    return run


def _rollaxis(x: Any, /, *, axis: int, start: int = 0) -> Any:
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return F.moveaxis(x, axis, start - 1 if axis < start else start)


# -- neighbours, angles, transforms ----------------------------------------------------------------------
def _gradient(x: Any, /, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences between neighbours, exact for parabolas; at the ends for lines, or for parabolas if `edge_order` is 2."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(int(a) % x.ndim for a in np.atleast_1d(axis))
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    if edge_order not in (1, 2) or len(steps) != len(axes):
        raise ArgumentError(
            f"np.gradient: expected edge_order 1 or 2, and none, one or {len(axes)} spacings, got {edge_order} and {len(spacing)}"
        )
    found = [_slopes(x, a, step, edge_order) for a, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(x: Any, axis: int, step: Any, edge_order: int) -> Any:
    y = F.moveaxis(x, axis, 0)
    n = y.shape[0]
    if n < edge_order + 1:
        raise ShapeError(f"np.gradient: expected more than {edge_order} elements along axis {axis}, got shape {tuple(x.shape)}")
    if not np.ndim(values_of(step)):
        h = step if isinstance(step, int | float) else read(step)
        inner = (y[2:] - y[:-2]) / (2 * h)
        if edge_order == 1:
            first, last = (y[1:2] - y[:1]) / h, (y[-1:] - y[-2:-1]) / h
        else:
            first, last = (-3 * y[:1] + 4 * y[1:2] - y[2:3]) / (2 * h), (3 * y[-1:] - 4 * y[-2:-1] + y[-3:-2]) / (2 * h)
    else:  # the places of the elements
        places = read(step)
        if places.shape != (n,):
            raise ShapeError(f"np.gradient: expected a number or {n} places for axis {axis}, got shape {tuple(places.shape)}")
        h = F.reshape(F.diff(places), (-1, *(1,) * (y.ndim - 1)))
        slope = F.diff(y, axis=0) / h
        a, b = h[:-1], h[1:]
        inner = (b * slope[:-1] + a * slope[1:]) / (a + b)
        first, last = slope[:1], slope[-1:]
        if edge_order == 2:
            first = first - h[:1] * (slope[1:2] - slope[:1]) / (h[:1] + h[1:2])
            last = last + h[-1:] * (slope[-1:] - slope[-2:-1]) / (h[-1:] + h[-2:-1])
    return F.moveaxis(F.concat([first, inner, last], axis=0), 0, axis)


def _ediff1d(x: Any, /, *, to_end: Any = None, to_begin: Any = None) -> Any:
    x = read(x)
    ends = [None if v is None else F.reshape(F.astype(read(v), x.dtype), (-1,)) for v in (to_begin, to_end)]
    parts = [ends[0], F.diff(F.reshape(x, (-1,))), ends[1]]
    return parts[1] if ends == [None, None] else F.concat([p for p in parts if p is not None], axis=0)


def _angle(x: Any, /, *, deg: bool = False) -> Any:
    found = F.atan2(F.imag(x), F.real(x))
    return found * (180 / math.pi) if deg else found


def _two_axes(name: str) -> Callable[..., Any]:
    def run(x: Any, /, *, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
        return public(f"fft.{name}")(x, s=s, axes=axes, norm=norm or "backward")

    return run


def _vander(x: Any, /, *, N: int | None = None, increasing: bool = False) -> Any:
    powers = np.arange(x.shape[0] if N is None else N)
    return F.pow(F.expand_dims(x, axis=-1), powers if increasing else powers[::-1].copy())


def _sliding_window_view(x: Any, /, *, window_shape: Any, axis: Any = None) -> Any:
    """The places of the windows are NumPy's, of a row of numbers of this shape."""
    places = np.lib.stride_tricks.sliding_window_view(np.arange(x.size).reshape(x.shape), window_shape, axis=axis)
    return F.reshape(x, (-1,))[places]


PIECES: dict[str, Callable[..., Any]] = {
    "sum": _reduction("sum", 0, lambda y, first: y + first),
    "prod": _reduction("prod", 1, lambda y, first: y * first),
    "max": _reduction("max", -math.inf, F.maximum),
    "min": _reduction("min", math.inf, F.minimum),
    "mean": _mean,
    "clip": _clip,
    "select": _select,
    "choose": _choose,
    "compress": _compress,
    "extract": _extract,
    "delete": _delete,
    "insert": _insert,
    "block": _block,
    "hsplit": _parts(1, 1, "hsplit"),
    "vsplit": _parts(0, 2, "vsplit"),
    "dsplit": _parts(2, 3, "dsplit"),
    "rollaxis": _rollaxis,
    "gradient": _gradient,
    "ediff1d": _ediff1d,
    "angle": _angle,
    "sinc": lambda x, /: public("special.sinc")(x),
    "i0": lambda x, /: public("special.i0")(x),
    "multi_dot": lambda arrays, /: public("linalg.multi_dot")([read(x) for x in arrays]),
    "fft2": _two_axes("fftn"),
    "ifft2": _two_axes("ifftn"),
    "rfft2": _two_axes("rfftn"),
    "irfft2": _two_axes("irfftn"),
    "sliding_window_view": _sliding_window_view,
    "nancumsum": lambda x, /, **words: COMPOSITIONS["cumsum"](F.where(F.isnan(x), 0, x), **words),
    "nancumprod": lambda x, /, **words: COMPOSITIONS["cumprod"](F.where(F.isnan(x), 1, x), **words),
    "diagflat": lambda x, /, k=0: COMPOSITIONS["diag"](F.reshape(read(x), (-1,)), k=k),
    "vander": _vander,
}
