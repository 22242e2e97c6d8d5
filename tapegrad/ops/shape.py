"""Ops that move elements and compute nothing; they come in adjoint pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapegrad.registry import composite, constant, linear, no_derivative
from tapegrad.registry.batching import flattening, full_batch, over_axis, same, shifted


@linear(laws=lambda draw: (draw.array("n", 6), {"shape": draw.choice((-1, 3), (6, -1), (2, 3, -1), -1)}))
def reshape(xp: Any, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in row-major order in another shape; one length may be -1."""
    return xp.reshape(x, shape, copy=copy)


reshape.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))


def _repeated(draw: Any) -> Any:
    shape = draw.shape(2, "n", "m")
    return draw.array(*draw.choice(shape, shape[1:], (1, shape[2]), (shape[1], 1), (2, 1, 1), (1,))), {"shape": shape}


@linear(laws=_repeated)
def broadcast_to(xp: Any, x: Any, /, shape: Any) -> Any:
    """The array repeated to a shape that its own fits to from the right; where it is 1 it is repeated."""
    return xp.broadcast_to(x, shape)


broadcast_to.adjoint(x=lambda F, g, x: F.sum_to(g, x.shape))


@linear(laws=lambda draw: (draw.array("n", "m", 2), {"axes": draw.permutation(3)}))
def permute_dims(xp: Any, x: Any, /, axes: tuple[int, ...]) -> Any:
    """The array with its axes in another order: axis `axes[i]` of `x` becomes axis i."""
    return xp.permute_dims(x, axes)


def _permute_adjoint(F: Any, g: Any, axes: Any) -> Any:
    back = [0] * len(axes)
    for i, a in enumerate(axes):
        back[a] = i
    return F.permute_dims(g, tuple(back))


permute_dims.adjoint(x=_permute_adjoint)


@linear(laws=lambda draw: (draw.array("n", "m", 2),))
def matrix_transpose(xp: Any, x: Any, /) -> Any:
    """The array with its last two axes exchanged, (..., n, m) -> (..., m, n)."""
    return xp.matrix_transpose(x)


matrix_transpose.adjoint(x=lambda F, g: F.matrix_transpose(g))


@linear(laws=lambda draw: (draw.array("n", "m", 2),))
def matrix_adjoint(xp: Any, x: Any, /) -> Any:
    """The conjugate transpose of the last two axes, (..., n, m) -> (..., m, n)."""
    return xp.matrix_adjoint(x)


matrix_adjoint.adjoint(x=lambda F, g: F.matrix_adjoint(g))


def _moved(draw: Any) -> Any:
    source, destination = draw.choice((0, -1), (2, 0), ((0, 1), (2, 0)), ((-1, 0), (1, 2)))
    return draw.array("n", "m", 2), {"source": source, "destination": destination}


@linear(laws=_moved)
def moveaxis(xp: Any, x: Any, /, source: Any, destination: Any) -> Any:
    """The array with an axis (or several) moved to another place; the others keep their order."""
    return xp.moveaxis(x, source, destination)


moveaxis.adjoint(x=lambda F, g, source, destination: F.moveaxis(g, destination, source))


@linear(laws=lambda draw: (draw.array("n", "m"), {"axis": draw.choice(0, 1, -1, (0, 2))}))
def expand_dims(xp: Any, x: Any, /, axis: Any = 0) -> Any:
    """The array with an axis of length 1 put in at `axis`."""
    return xp.expand_dims(x, axis=axis)


expand_dims.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))


@linear(laws=lambda draw: (draw.array("n", 1, 1), {"axis": draw.choice(1, -1, (1, 2), ())}))
def squeeze(xp: Any, x: Any, /, axis: Any) -> Any:
    """The array without an axis (or axes) of length 1."""
    return xp.squeeze(x, axis)


squeeze.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))


@linear(laws=lambda draw: (draw.array("n", "m"), {"axis": draw.choice(None, 0, 1, (0, 1))}))
def flip(xp: Any, x: Any, /, *, axis: Any = None) -> Any:
    """The array with the order of its elements reversed along axes (all if None)."""
    return xp.flip(x, axis=axis)


flip.adjoint(x=lambda F, g, axis: F.flip(g, axis=axis))


def _rolled(draw: Any) -> Any:
    shift, axis = draw.choice((2, None), (-1, 0), (1, -1), ((1, -2), (0, 1)))
    return draw.array("n", "m"), {"shift": shift, "axis": axis}


@linear(laws=_rolled)
def roll(xp: Any, x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The array with its elements moved along axes by `shift` places; what leaves at the end comes in at the front."""
    return xp.roll(x, shift, axis=axis)


def _back(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, tuple) else -shift


roll.adjoint(x=lambda F, g, shift, axis: F.roll(g, _back(shift), axis=axis))


def _joined(draw: Any) -> Any:
    return [draw.array("n", "m"), draw.array("n", 1), draw.array("n", 3)], {"axis": draw.choice(1, -1, None)}


@linear(variadic=True, laws=_joined)
def concat(xp: Any, arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis that they have (flattened first if None)."""
    return xp.concat(arrays, axis=axis)


def _concat_adjoint(F: Any, g: Any, arrays: Any, axis: int | None) -> list[Any]:
    start = 0
    parts = []
    for x in arrays:
        n = _size(x.shape) if axis is None else x.shape[axis]
        if axis is None:
            parts.append(F.reshape(g[start : start + n], x.shape))
        else:
            index: list[Any] = [slice(None)] * len(x.shape)
            index[axis] = slice(start, start + n)
            parts.append(F.getitem(g, tuple(index)))
        start += n
    return parts


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


concat.adjoint(arrays=_concat_adjoint)


@linear(variadic=True, laws=lambda draw: ([draw.array("n", 2), draw.array("n", 2)], {"axis": draw.choice(0, 1, -1)}))
def stack(xp: Any, arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    return xp.stack(arrays, axis=axis)


def _stack_adjoint(F: Any, g: Any, arrays: Any, axis: int) -> list[Any]:
    before = (slice(None),) * (axis % len(g.shape))
    return [F.getitem(g, (*before, i)) for i in range(len(arrays))]


stack.adjoint(arrays=_stack_adjoint)


@composite(laws=lambda draw: (draw.array(2, "n", 2), {"axis": draw.choice(0, 2, -1)}))
def unstack(F: Any, x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of the array along an axis, as a tuple."""
    before = (slice(None),) * (axis % len(x.shape))
    return tuple(F.getitem(x, (*before, i)) for i in range(x.shape[axis]))


@composite(laws=lambda draw: (draw.array("n", 6), {"sections": draw.choice(3, (1, 4)), "axis": 1}))
def split(F: Any, x: Any, /, sections: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """The array cut along an axis: into `sections` equal parts, or at the indices in `sections`, as a tuple."""
    n = x.shape[axis]
    if isinstance(sections, int):
        if sections < 1 or n % sections:
            from tapegrad.errors import ShapeError

            raise ShapeError(f"split(x, sections): expected x.shape[{axis}] % sections == 0, got {n} % {sections}")
        step = n // sections
        sections = range(step, n, step) if step else [0] * (sections - 1)
    cuts = [0, *sections, n]
    before = (slice(None),) * (axis % len(x.shape))
    return tuple(F.getitem(x, (*before, slice(a, b))) for a, b in itertools.pairwise(cuts))


@linear(laws=lambda draw: (draw.array("n", "m"), {"k": draw.choice(0, 1, -1)}))
def tril(xp: Any, x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of the last two axes, with zeros above diagonal `k`."""
    return xp.tril(x, k=k)


tril.adjoint(x=lambda F, g, k: F.tril(g, k=k))


@linear(laws=lambda draw: (draw.array("n", "m"), {"k": draw.choice(0, 1, -1)}))
def triu(xp: Any, x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of the last two axes, with zeros below diagonal `k`."""
    return xp.triu(x, k=k)


triu.adjoint(x=lambda F, g, k: F.triu(g, k=k))


# -- repeating -------------------------------------------------------------------------------------------
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
    """Each element repeated along an axis (of the flattened array if None): all alike, or each as often as `repeats` says."""
    return xp.repeat(x, repeats, axis=axis)


def _repeat_adjoint(F: Any, g: Any, x: Any, repeats: Any, axis: int | None) -> Any:
    if axis is None:
        return F.reshape(_repeat_adjoint_along(F, g, (_size(x.shape),), repeats, 0), x.shape)
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
    counts = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
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
    y = F.positive(x)
    for axis, pair in enumerate(widths):
        if pair != (0, 0):  # where each element comes from is what the positions themselves become, padded so
            y = F.take(y, np.pad(np.arange(x.shape[axis]), pair, mode=mode), axis=axis)  # type: ignore[call-overload]
    return y


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


# -- batches ---------------------------------------------------------------------------------------------
matrix_transpose.batch(same("matrix_transpose"))
matrix_adjoint.batch(same("matrix_adjoint"))
tril.batch(same("tril"))
triu.batch(same("triu"))
flip.batch(over_axis("flip"))


@reshape.batch
def _reshape_batch(F: Any, has: Any, x: Any, *, shape: Any, copy: bool | None = None) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        known = -_size(shape)
        shape = tuple((_size(x.shape[1:]) // known if known else 0) if k == -1 else k for k in shape)
    return F.reshape(x, (x.shape[0], *shape), copy=copy)


@broadcast_to.batch
def _broadcast_to_batch(F: Any, has: Any, x: Any, *, shape: Any) -> Any:
    missing = len(shape) - (len(x.shape) - 1)
    return F.broadcast_to(F.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])), (x.shape[0], *shape))


@permute_dims.batch
def _permute_dims_batch(F: Any, has: Any, x: Any, *, axes: Any) -> Any:
    return F.permute_dims(x, (0, *shifted(tuple(axes), len(x.shape) - 1)))


@moveaxis.batch
def _moveaxis_batch(F: Any, has: Any, x: Any, *, source: Any, destination: Any) -> Any:
    rank = len(x.shape) - 1
    return F.moveaxis(x, shifted(source, rank), shifted(destination, rank))


@expand_dims.batch
def _expand_dims_batch(F: Any, has: Any, x: Any, *, axis: Any = 0) -> Any:
    more = 1 if isinstance(axis, int) else len(axis)
    return F.expand_dims(x, axis=shifted(axis, len(x.shape) - 1 + more))


@squeeze.batch
def _squeeze_batch(F: Any, has: Any, x: Any, *, axis: Any) -> Any:
    return F.squeeze(x, shifted(axis, len(x.shape) - 1))


@roll.batch
def _roll_batch(F: Any, has: Any, x: Any, *, shift: Any, axis: Any = None) -> Any:
    return F.reshape(flattening("roll")(F, has, x, shift, axis=axis), x.shape)


@concat.batch
def _concat_batch(F: Any, has: Any, arrays: Any, *, axis: Any = 0) -> Any:
    full = full_batch(F, has, arrays)
    if axis is None:
        return F.concat([F.reshape(a, (a.shape[0], _size(a.shape[1:]))) for a in full], axis=1)
    return F.concat(full, axis=shifted(axis, len(full[0].shape) - 1))


@stack.batch
def _stack_batch(F: Any, has: Any, arrays: Any, *, axis: int = 0) -> Any:
    full = full_batch(F, has, arrays)
    return F.stack(full, axis=shifted(axis, len(full[0].shape)))


@repeat.batch
def _repeat_batch(F: Any, has: Any, x: Any, repeats: Any, *, axis: Any = None) -> Any:
    if has[1]:
        from tapegrad.errors import ArgumentError

        raise ArgumentError("repeat(x, repeats): repeats that differ within a batch would give results of different shapes")
    if axis is None:
        return F.repeat(F.reshape(x, (x.shape[0], _size(x.shape[1:]))), repeats, axis=1)
    return F.repeat(x, repeats, axis=shifted(axis, len(x.shape) - 1))
