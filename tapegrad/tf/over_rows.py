"""Functions over the rows of tensors, one by one or all at once: `map_fn`, `vectorized_map`, `scan`, `foldl`, `foldr`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf import nest
from tapegrad.tf.control import as_tensor
from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.errors import (
    OutOfRangeError,
    invalid,
)
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.specs import Composite, TensorSpec, TypeSpec
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _rows(elems: Any) -> tuple[list[Any], int]:
    """The structures of each index of the first axis."""
    leaves = [x if isinstance(x, Composite) else convert(x) for x in nest.flatten(elems)]
    if not leaves:
        raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors. Got an empty structure.")
    if any(not isinstance(x, Composite) and not x.array.ndim for x in leaves):
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars.")
    lengths = [x._count() if isinstance(x, Composite) else x.array.shape[0] for x in leaves]
    n = lengths[0]
    if any(k != n for k in lengths):
        raise invalid(None, f"elements must agree in their first axis, got {lengths}")
    parts = [
        [x._row(i) for i in range(n)] if isinstance(x, Composite) else list(x) if x.array.dtype.hasobject else S.unstack(x)
        for x in leaves
    ]
    return [nest.pack_sequence_as(elems, [p[i] for p in parts]) for i in range(n)], n


def _stacked(rows: list[Any], specs: list[Any] | None = None) -> Any:
    """Rows under each other: in a ragged tensor where the spec of a leaf, or the elements themselves, say so."""
    leaves = [[x if isinstance(x, Composite) else convert(x) for x in nest.flatten(row)] for row in rows]
    kinds = specs or [None] * len(leaves[0])
    return nest.pack_sequence_as(
        rows[0],
        [
            EXPORTS["ragged.stack"](list(xs)).with_row_splits_dtype(np.int64) if _is_ragged(kind) else S.stack(list(xs))
            for xs, kind in zip(zip(*leaves, strict=True), kinds, strict=True)
        ],
    )


def _is_ragged(spec: Any) -> bool:
    """Whether a spec is of rows of different lengths."""
    return isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec)


@export("map_fn")
def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The function of each index of the first axis, stacked."""
    rows, n = _rows(elems)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if signature is None and isinstance(elems, Composite):
        signature = elems._spec()
    if not n:
        return _nothing(elems if signature is None else signature)
    found = [fn(row) for row in rows]
    nest.assert_same_structure(elems if signature is None else signature, found[0], check_types=False)
    if signature is not None:
        wanted = [as_dtype(getattr(s, "dtype", s)) for s in nest.flatten(signature)]
        for row in found:
            for x, d in zip(nest.flatten(row), wanted, strict=True):
                if isinstance(x, core.Tensor) and x.dtype != d:
                    raise invalid(None, f"TensorArray dtype is {d.name} but Op is trying to write dtype {x.dtype.name}")
        found = [
            nest.pack_sequence_as(
                signature,
                [
                    x if isinstance(x, Composite) else convert(x, d.numpy, prefer=True)
                    for x, d in zip(nest.flatten(r), wanted, strict=True)
                ],
            )
            for r in found
        ]
        return _stacked(found, nest.flatten(signature))
    elif isinstance(elems, core.Tensor):
        own = convert(elems).array.dtype
        first = nest.flatten(found[0])
        if len(first) == 1 and isinstance(first[0], core.Tensor) and first[0].array.dtype != own:
            raise invalid(
                None,
                f"TensorArray dtype is {as_dtype(own).name} but Op is trying to write dtype {as_dtype(first[0].array.dtype).name}; "
                "give fn_output_signature",
            )
    return _stacked(found)


def _nothing(signature: Any) -> Any:
    def empty(s: Any) -> Tensor:
        shape = [n or 0 for n in getattr(s, "shape", ())] if not isinstance(s, core.Tensor) else list(s.shape[1:])
        return fresh(np.zeros((0, *shape), numpy_dtype(getattr(s, "dtype", s))))

    return nest.map_structure(empty, signature)


@export("vectorized_map")
def vectorized_map(fn: Any, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """The function of each index of the first axis, stacked: all at once, by batching the ops, where that can be done."""
    import tapegrad as tg
    from tapegrad.errors import TapegradError

    vmap = getattr(tg, "vmap", None)
    elems = _as_long(elems)
    rows, n = _rows(elems)
    if vmap is not None and n:
        leaves = [convert(x) for x in nest.flatten(elems)]
        structure: list[Any] = []

        def flat(*xs: Any) -> Any:
            found = fn(nest.pack_sequence_as(elems, [S.adopt(x) for x in xs]))
            structure[:] = [found]
            return tuple(convert(x) for x in nest.flatten(found))

        try:
            ys = vmap(flat)(*leaves)
        except (TapegradError, TypeError, ValueError, NotImplementedError, AttributeError):
            if not fallback_to_while_loop:
                raise
        else:
            return nest.pack_sequence_as(structure[0], [S.adopt(y) for y in ys])
    return _stacked([fn(row) for row in rows])


def _as_long(elems: Any) -> Any:
    """The elements, where one row alone stands for all rows of the others."""
    leaves = [convert(x) for x in nest.flatten(elems)]
    most = max((x.array.shape[0] for x in leaves if x.array.ndim), default=1)
    if most == 1 or all(not x.array.ndim or x.array.shape[0] == most for x in leaves):
        return elems
    longer = [S.broadcast_to(x, (most, *x.array.shape[1:])) if x.array.ndim and x.array.shape[0] == 1 else x for x in leaves]
    return nest.pack_sequence_as(elems, longer)


@export("scan")
def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of an accumulator that takes in the first axis one by one."""
    rows, _ = _rows(elems)
    order = rows[::-1] if reverse else rows
    found = []
    state = initializer
    if not rows and state is not None:
        return _nothing(nest.map_structure(lambda x: S.expand_dims(convert(x), axis=0), state))
    if state is None:
        if not rows:
            raise OutOfRangeError(None, None, "Tried to read from index 0 but array size is: 0")
        state, order = order[0], order[1:]
        found.append(state)
    else:
        state = nest.map_structure(as_tensor, state)
    for row in order:
        state = _next(state, fn(state, row))
        found.append(state)
    return _stacked(found[::-1] if reverse else found)


def _next(state: Any, found: Any) -> Any:
    """What an accumulator has become; raises ValueError where it has another structure, or values another shape than before."""
    nest.assert_same_structure(state, found, check_types=False)
    for before, after in zip(nest.flatten(state), nest.flatten(found), strict=True):
        old, new = (tuple(x.shape) if hasattr(x, "shape") else np.shape(x) for x in (before, after))
        if old != new:
            raise ValueError(f"scan: expected fn to keep the shape of its accumulator, {old}; got {new}. Incompatible shape for value")
    return found


@export("foldl")
def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of an accumulator that takes in the first axis one by one."""
    return _folded(fn, _rows(elems)[0], initializer)


@export("foldr")
def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of an accumulator that takes in the first axis one by one, from its end."""
    return _folded(fn, _rows(elems)[0][::-1], initializer)


def _folded(fn: Any, rows: list[Any], state: Any) -> Any:
    if state is None:
        if not rows:
            raise OutOfRangeError(None, None, "Tried to read from index 0 but array size is: 0: give an initializer")
        state, rows = rows[0], rows[1:]
    else:
        state = nest.map_structure(as_tensor, state)
    for row in rows:
        state = fn(state, row)
    return state
