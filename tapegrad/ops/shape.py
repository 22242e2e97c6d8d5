"""Ops that move elements and compute nothing; they come in adjoint pairs."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from tapegrad.errors import BoundsError, ShapeError
from tapegrad.registry import composite, linear
from tapegrad.registry.batch_rules import flattening, full_batch, over_axis, same, shifted


@linear(laws=lambda draw: (draw.array("n", 6), {"shape": draw.choice((-1, 3), (6, -1), (2, 3, -1), -1)}))
def reshape(xp: Any, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in row-major order in another shape; one length may be -1.

    Raises ShapeError where the number of elements differs.
    """
    return xp.reshape(x, shape, copy=copy)


reshape.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))


def _repeated(draw: Any) -> Any:
    shape = draw.shape(2, "n", "m")
    return draw.array(*draw.choice(shape, shape[1:], (1, shape[2]), (shape[1], 1), (2, 1, 1), (1,))), {"shape": shape}


@linear(laws=_repeated)
def broadcast_to(xp: Any, x: Any, /, shape: Any) -> Any:
    """The array repeated to a shape that its own fits to from the right; where it is 1 it is repeated.

    Raises ShapeError where the shapes do not fit.
    """
    return xp.broadcast_to(x, shape)


broadcast_to.adjoint(x=lambda F, g, x: F.sum_to(g, x.shape))


@linear(laws=lambda draw: (draw.array("n", "m", 2), {"axes": draw.permutation(3)}))
def permute_dims(xp: Any, x: Any, /, axes: tuple[int, ...]) -> Any:
    """The array with its axes in another order: axis `axes[i]` of `x` becomes axis i.

    Raises ShapeError where an axis is there twice, or left out.
    """
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
    """The array with an axis of length 1 put in at `axis`.

    Raises BoundsError for an axis that the result does not have.
    """
    return xp.expand_dims(x, axis=axis)


expand_dims.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))


@linear(laws=lambda draw: (draw.array("n", 1, 1), {"axis": draw.choice(1, -1, (1, 2), ())}))
def squeeze(xp: Any, x: Any, /, axis: Any) -> Any:
    """The array without an axis (or axes) of length 1.

    Raises ShapeError where the axis has another length.
    """
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
    return tuple(-s for s in shift) if isinstance(shift, tuple | list) else -shift


roll.adjoint(x=lambda F, g, shift, axis: F.roll(g, _back(shift), axis=axis))


def _joined(draw: Any) -> Any:
    return [draw.array("n", "m"), draw.array("n", 1), draw.array("n", 3)], {"axis": draw.choice(1, -1, None)}


@linear(variadic=True, laws=_joined)
def concat(xp: Any, arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis that they have (flattened first if None).

    Raises ShapeError where another axis differs in length.
    """
    return xp.concat(arrays, axis=axis)


def _concat_adjoint(F: Any, g: Any, arrays: Any, axis: int | None) -> list[Any]:
    start = 0
    parts = []
    for x in arrays:
        n = math.prod(x.shape) if axis is None else x.shape[axis]
        if axis is None:
            parts.append(F.reshape(g[start : start + n], x.shape))
        else:
            index: list[Any] = [slice(None)] * len(x.shape)
            index[axis] = slice(start, start + n)
            parts.append(F.getitem(g, tuple(index)))
        start += n
    return parts


concat.adjoint(arrays=_concat_adjoint)


@linear(variadic=True, laws=lambda draw: ([draw.array("n", 2), draw.array("n", 2)], {"axis": draw.choice(0, 1, -1)}))
def stack(xp: Any, arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis.

    Raises ShapeError where the shapes differ.
    """
    return xp.stack(arrays, axis=axis)


def _stack_adjoint(F: Any, g: Any, arrays: Any, axis: int) -> list[Any]:
    before = (slice(None),) * (axis % len(g.shape))
    return [F.getitem(g, (*before, i)) for i in range(len(arrays))]


stack.adjoint(arrays=_stack_adjoint)


@composite(laws=lambda draw: (draw.array(2, "n", 2), {"axis": draw.choice(0, 2, -1)}))
def unstack(F: Any, x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of the array along an axis, as a tuple.

    Raises BoundsError for an axis that `x` does not have.
    """
    n = _length("unstack(x)", x, axis)
    before = (slice(None),) * (axis % len(x.shape))
    return tuple(F.getitem(x, (*before, i)) for i in range(n))


def _length(where: str, x: Any, axis: int) -> int:
    """The length of an axis that is there."""
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise BoundsError(f"{where}: expected {-rank} <= axis < {rank}, got {axis} for shape {x.shape}")
    return x.shape[axis]


def _cut(draw: Any) -> Any:
    return draw.array("n", 6), {"cuts": draw.choice((0, 2, 4, 6), (0, 1, 6), (0, 0, 6), (0, 6)), "axis": 1}


@linear(outputs=..., public=False, laws=_cut)
def parts(xp: Any, x: Any, /, cuts: Any, axis: int) -> tuple[Any, ...]:
    """What lies between one cut and the next along an axis; the first cut is 0, and the last its length."""
    before = (slice(None),) * axis
    return tuple([xp.getitem(x, (*before, slice(a, b))) for a, b in itertools.pairwise(cuts)])


parts.adjoint(x=lambda F, g, axis: F.concat(g, axis=axis))


@composite(laws=lambda draw: (draw.array("n", 6), {"sections": draw.choice(3, (1, 4)), "axis": 1}))
def split(F: Any, x: Any, /, sections: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """The array cut along an axis: into `sections` equal parts, or at the indices in `sections`, as a tuple.

    Raises ShapeError where the parts would not be equal.
    """
    n = _length("split(x, sections)", x, axis)
    if not hasattr(sections, "__iter__"):
        if sections < 1 or n % sections:
            raise ShapeError(f"split(x, sections): expected x.shape[{axis}] % sections == 0, got {n} % {sections}")
        if type(sections) is int and type(n) is int:
            return F.parts(x, _equal_cuts(n, sections), axis % len(x.shape))
        step = n // sections
        sections = range(step, n, step) if step else [0] * (sections - 1)
    cuts = (0, *sections, n)
    axis %= len(x.shape)
    if all(type(c) is int for c in cuts) and all(a <= b for a, b in itertools.pairwise(cuts)):
        return F.parts(x, cuts, axis)
    before = (slice(None),) * axis  # NumPy's slices: from the end, beyond it, overlapping
    return tuple(F.getitem(x, (*before, slice(a, b))) for a, b in itertools.pairwise(cuts))


@functools.lru_cache(maxsize=256)
def _equal_cuts(n: int, sections: int) -> tuple[int, ...]:
    step = n // sections
    return tuple(k * step for k in range(sections + 1))


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


# -- batches ---------------------------------------------------------------------------------------------
matrix_transpose.batch(same("matrix_transpose"))
matrix_adjoint.batch(same("matrix_adjoint"))
tril.batch(same("tril"))
triu.batch(same("triu"))
flip.batch(over_axis("flip"))


@parts.batch
def _parts_batch(F: Any, has: Any, x: Any, *, cuts: Any, axis: int) -> Any:
    return F.parts(x, cuts, axis + 1)


@reshape.batch
def _reshape_batch(F: Any, has: Any, x: Any, *, shape: Any, copy: bool | None = None) -> Any:
    shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if -1 in shape:
        known = -math.prod(shape)
        shape = tuple((math.prod(x.shape[1:]) // known if known else 0) if k == -1 else k for k in shape)
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
    more = len(axis) if hasattr(axis, "__iter__") else 1
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
        return F.concat([F.reshape(a, (a.shape[0], math.prod(a.shape[1:]))) for a in full], axis=1)
    return F.concat(full, axis=shifted(axis, len(full[0].shape) - 1))


@stack.batch
def _stack_batch(F: Any, has: Any, arrays: Any, *, axis: int = 0) -> Any:
    full = full_batch(F, has, arrays)
    return F.stack(full, axis=shifted(axis, len(full[0].shape)))
