"""Arrays made longer: repeated, tiled, padded; and what is built on that."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.registry import composite, constant, linear, no_derivative
from tapegrad.registry.batch_rules import shifted


def _run_lengths(draw: Any) -> Any:
    x = draw.array("n", 3)
    return draw.choice(
        (x, np.int64(2), {"axis": draw.choice(0, 1, -1)}),
        (x, draw.integers("n", low=0, high=4), {"axis": 0}),
        (x, draw.integers(3, low=0, high=4), {"axis": -1}),
        (x, draw.integers(1, low=0, high=4), {"axis": draw.choice(None, 1)}),
        (x, np.int64(draw.choice(0, 1, 3)), {"axis": None}),
    )


@linear(laws=_run_lengths)
def repeat(xp: Any, x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element repeated along an axis (of the flattened array if None): all alike, or each as often as `repeats` says.

    Raises ShapeError where there is not one number for each element.
    """
    return xp.repeat(x, repeats, axis=axis)


def _repeat_adjoint(F: Any, g: Any, x: Any, repeats: Any, axis: int | None) -> Any:
    if axis is None:
        return F.reshape(_repeat_adjoint_along(F, g, (math.prod(x.shape),), repeats, 0), x.shape)
    return _repeat_adjoint_along(F, g, x.shape, repeats, axis % len(x.shape))


def _repeat_adjoint_along(F: Any, g: Any, shape: tuple[int, ...], repeats: Any, axis: int) -> Any:
    if not repeats.shape:
        runs = F.reshape(g, (*shape[: axis + 1], int(repeats), *shape[axis + 1 :]))
        return F.sum(runs, axis=axis + 1)
    return F.take_add(g, F.run_index(F.broadcast_to(repeats, (shape[axis],))), shape, axis)


repeat.adjoint(x=_repeat_adjoint, repeats=no_derivative)


@constant(laws=lambda draw: (draw.integers("n", low=0, high=3),), public=False)
def run_index(xp: Any, x: Any, /) -> Any:
    """0 as often as the first number says, 1 as often as the second, and so on."""
    return xp.repeat(xp.arange(x.shape[0]), x, axis=0)


@composite(laws=lambda draw: (draw.array("n", 2), {"repetitions": draw.choice((2,), (2, 1), (1, 3), (2, 1, 2), (), (0, 2))}))
def tile(F: Any, x: Any, /, repetitions: Any) -> Any:
    """The array set side by side with itself, as often along each axis as `repetitions` says, counted from the last one."""
    counts = tuple(repetitions) if hasattr(repetitions, "__iter__") else (repetitions,)
    rank = max(len(counts), len(x.shape))
    shape = (1,) * (rank - len(x.shape)) + tuple(x.shape)
    counts = (1,) * (rank - len(counts)) + counts
    apart = F.reshape(x, tuple(k for n in shape for k in (1, n)))
    repeated = F.broadcast_to(apart, tuple(k for r, n in zip(counts, shape, strict=True) for k in (r, n)))
    return F.reshape(repeated, tuple(r * n for r, n in zip(counts, shape, strict=True)))


@composite(laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(2, "m")),
    (draw.array("n"), draw.array(2, "m")),
    (draw.array(2, "n", 1), draw.array("m")),
    (draw.array(), draw.array("m")),
))
def kron(F: Any, x1: Any, x2: Any, /) -> Any:
    """The Kronecker product: `x1` with each element replaced by that element times `x2`."""
    rank = max(len(x1.shape), len(x2.shape))
    shape1 = (1,) * (rank - len(x1.shape)) + tuple(x1.shape)
    shape2 = (1,) * (rank - len(x2.shape)) + tuple(x2.shape)
    left = F.reshape(x1, tuple(k for n in shape1 for k in (n, 1)))
    right = F.reshape(x2, tuple(k for n in shape2 for k in (1, n)))
    return F.reshape(left * right, tuple(n * m for n, m in zip(shape1, shape2, strict=True)))


def _differences(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=1), 4)
    return draw.choice(
        (x, None, None, {"axis": draw.choice(0, -1), "n": draw.choice(0, 1, 2, 3)}),
        (x, draw.array("n", 1), None, {"axis": 1}),
        (x, draw.array("n", 2), draw.array("n", 1), {"axis": -1, "n": draw.choice(0, 1, 2)}),
        (x, None, draw.array(1, 4), {"axis": 0}),
    )


@composite(named=("prepend", "append"), laws=_differences)
def diff(F: Any, x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, taken `n` times; `prepend` and `append` are joined to `x` before."""
    if n < 0:
        raise ValueError(f"diff(x): expected n >= 0, got {n}")
    if n == 0:
        return F.positive(x)
    rank = len(x.shape)
    if not -rank <= axis < rank:
        from tapegrad.errors import ShapeError

        raise ShapeError(f"diff(x): expected an axis of x, whose shape is {x.shape}, got {axis}")
    parts = [p for p in (prepend, x, append) if p is not None]
    y = F.concat(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * (axis % rank)
    for _ in range(n):
        upper = F.getitem(y, (*before, slice(1, None)))
        lower = F.getitem(y, (*before, slice(0, -1)))
        y = F.not_equal(upper, lower) if y.dtype.kind == "b" else upper - lower
    return y


def _own(draw: Any, *, inside: bool) -> Any:
    x = draw.array(draw.size("n", least=1), 3)
    pairs = draw.choice(((1, 1), (0, 2)), ((5, 4), (3, 7)), ((0, 0), (2, 0)))
    mode = draw.choice("edge", "reflect", "symmetric", "wrap")
    if inside:
        return x, {"pairs": pairs, "mode": mode}
    return draw.filled(tuple(n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True))), {"pairs": pairs, "mode": mode}


@linear(laws=lambda draw: _own(draw, inside=True), public=False)
def pad_by_own(xp: Any, x: Any, /, *, pairs: Any, mode: str) -> Any:
    """The array with its own elements around it, as `pad` has them."""
    from tapegrad.kernels.numpy_padding import sources

    for axis, pair in enumerate(pairs):
        if pair != (0, 0):
            x = xp.take(x, sources(x.shape[axis], pair, mode), axis=axis)
    return xp.positive(x)


@linear(laws=lambda draw: _own(draw, inside=False), public=False)
def pad_by_own_add(xp: Any, v: Any, /, *, pairs: Any, mode: str) -> Any:
    """What was put around added to where it came from: the transpose of `pad_by_own`."""
    from tapegrad.kernels.numpy_padding import sources

    for axis, (a, b) in enumerate(pairs):
        if (a, b) != (0, 0):
            n = v.shape[axis] - a - b
            v = xp.take_add(v, sources(n, (a, b), mode), (*v.shape[:axis], n, *v.shape[axis + 1 :]), axis)
    return xp.positive(v)


pad_by_own.adjoint(x=lambda F, g, pairs, mode: F.pad_by_own_add(g, pairs=pairs, mode=mode))
pad_by_own_add.adjoint(v=lambda F, g, pairs, mode: F.pad_by_own(g, pairs=pairs, mode=mode))


@pad_by_own.batch
def _pad_by_own_batch(F: Any, has: Any, x: Any, *, pairs: Any, mode: str) -> Any:
    return F.pad_by_own(x, pairs=((0, 0), *pairs), mode=mode)


@pad_by_own_add.batch
def _pad_by_own_add_batch(F: Any, has: Any, v: Any, *, pairs: Any, mode: str) -> Any:
    return F.pad_by_own_add(v, pairs=((0, 0), *pairs), mode=mode)


def _padded(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=1), 3)
    width = draw.choice(1, (0, 2), ((1, 2), (0, 1)), ((5, 4), (3, 7)), 0)
    mode = draw.choice("constant", "edge", "reflect", "symmetric", "wrap")
    return x, {"pad_width": width, "mode": mode}


@composite(laws=_padded)
def pad(F: Any, x: Any, /, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """The array with elements put around it.

    * `pad_width`: how many, before and after: a number, a pair for all axes, or a pair for each axis.
    * `mode`: "constant" (`constant_values`, a number or a pair of them), "edge" (the outermost element again),
      "reflect" (mirrored at the outermost element), "symmetric" (mirrored behind it), "wrap" (from the other end).
    """
    widths = _pairs(pad_width, len(x.shape), "pad_width")
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"pad(x, pad_width): expected widths >= 0, got {pad_width}")
    if mode == "constant":
        return _pad_constant(F, x, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"pad(x, pad_width, mode): expected constant, edge, reflect, symmetric or wrap, got {mode!r}")
    return F.pad_by_own(x, pairs=tuple(widths), mode=mode)


def _pad_constant(F: Any, x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True))
    index = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))
    filled = _pairs(values, len(shape), "constant_values")
    if all(v == (0, 0) for v in filled):
        return F.put_add(x, index, shape)
    border = np.pad(np.zeros(x.shape, x.dtype), widths, constant_values=filled)
    return F.put(border, x, index)


def _pairs(given: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """A number, a pair, or a pair for each axis, as a pair for each axis."""
    if type(given) in (int, float):
        return [(given, given)] * rank
    if type(given) is tuple and len(given) == rank and all(type(p) is tuple and list(map(type, p)) == [int, int] for p in given):
        return [*given]
    try:
        return [(a, b) for a, b in np.broadcast_to(np.asarray(given), (rank, 2)).tolist()]
    except ValueError:
        raise ValueError(
            f"pad(x, ...): expected {name} as a number, a pair, or a pair for each of {rank} axes, got {given!r}"
        ) from None


def _turned(draw: Any) -> Any:
    return draw.array("n", "m", 2), {"k": draw.choice(*range(-5, 5)), "axes": draw.choice((0, 1), (1, 0), (-1, 0))}


@composite(laws=_turned)
def rot90(F: Any, x: Any, /, *, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """The array turned by `k` quarters of a circle in the plane of two axes, from the first towards the second."""
    n = len(x.shape)
    a, b = (i % n for i in axes)
    if a == b:
        raise ValueError(f"rot90(x): expected two different axes, got {axes}")
    k %= 4
    if k == 0:
        return F.positive(x)
    if k == 2:
        return F.flip(x, axis=(a, b))
    order = list(range(n))
    order[a], order[b] = b, a
    if k == 1:
        return F.permute_dims(F.flip(x, axis=b), tuple(order))
    return F.flip(F.permute_dims(x, tuple(order)), axis=b)


@repeat.batch
def _repeat_batch(F: Any, has: Any, x: Any, repeats: Any, *, axis: Any = None) -> Any:
    if has[1]:
        from tapegrad.errors import ArgumentError

        raise ArgumentError("repeat(x, repeats): repeats that differ within a batch would give results of different shapes")
    if axis is None:
        return F.repeat(F.reshape(x, (x.shape[0], math.prod(x.shape[1:]))), repeats, axis=1)
    return F.repeat(x, repeats, axis=shifted(axis, len(x.shape) - 1))
