"""The slower turns of an op's entry: arguments that are no Tensors, mixed recorders, errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.engine import FOREIGN
from tapegrad.core.foreign import STANDING
from tapegrad.core.node import Node
from tapegrad.core.recorder import Owners, shared, state
from tapegrad.core.tensor import Tensor, linked, standing_for, tensor
from tapegrad.dtypes import DEFAULTS
from tapegrad.errors import (
    ArgumentError,
    BoundsError,
    DeviceError,
    DTypeError,
    GradientError,
    MatrixError,
    RangeError,
    ResourceError,
    ShapeError,
    TapegradError,
)
from tapegrad.registry.checks import is_foreign
from tapegrad.registry.space import ERRORS, SCALARS, SPACES, STANDING_NUMBERS, F, adopted, space_of, space_of_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.registry.op import Op

#: What an error says of a None where a number is meant.
NO_GRADIENT = (
    "a gradient is None where the target does not depend on the source, or was computed outside the tape; "
    "tape.explain(target, source) says why"
)


def unpack(op: Op, name: str, value: Any, others: Sequence[Any]) -> tuple[Any, Node | None]:
    """The raw array and the node of an argument that is not plainly a Tensor."""
    if isinstance(value, Tensor):
        found: tuple[Any, Node | None] = value.read()
        return found
    kind = type(value)
    if hasattr(kind, "__tapegrad_tensor__"):
        return unpack(op, name, standing_for(value), others)
    if kind in SCALARS:
        if op.weak and not all(type(o) in SCALARS for o in others):
            return value, None
        return DEFAULTS[kind].type(value), None
    if isinstance(value, np.ndarray):
        if kind is not np.ndarray:  # a subclass, whose operators may mean something else
            value = plain(f"{op.name}({', '.join(op.arrays)})", value)
        if value.dtype.kind == "O":
            raise ArgumentError(f"{op.name}({', '.join(op.arrays)}): expected numbers for {name}, got an array of objects")
        return (value[()] if value.ndim == 0 else value), None
    if isinstance(value, str | bytes | list | tuple | dict) or value is None:
        hint = NO_GRADIENT if value is None else f"write tapegrad.asarray({name})" if isinstance(value, list | tuple) else ""
        raise ArgumentError(
            f"{op.name}({', '.join(op.arrays)}): expected an array for {name}, got {kind.__name__}{'; ' if hint else ''}{hint}"
        )
    try:
        space_of_type(kind)
    except ArgumentError as error:
        raise ArgumentError(f"{op.name}({', '.join(op.arrays)}): {name}: {error}") from None
    if kind in STANDING:
        known = standing_for(value)
        if known is not value:
            return unpack(op, name, known, others)
    return adopted(value), None


def plain(where: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of a subclass of NumPy's as a plain one; refused if its mask would be lost."""
    if np.ma.is_masked(x):
        raise ArgumentError(f"{where}: a masked array would lose its mask; write x.filled(value), or use tapegrad.where")
    return np.asarray(x)


def unpack_all(op: Op, name: str, values: Any) -> tuple[tuple[Any, ...], tuple[Node | None, ...]]:
    """Raw arrays and nodes of a sequence of arrays."""
    if isinstance(values, Tensor) or type(values) is np.ndarray:
        values = list(values)
    try:
        pairs = [
            v.read() if isinstance(v, Tensor) else unpack(op, f"{name}[{i}]", v, values)
            for i, v in enumerate(values)
        ]
    except TypeError as error:
        if isinstance(error, TapegradError):
            raise
        raise ArgumentError(f"{op.name}: {name} is a sequence of arrays, got {type(values).__name__}") from None
    if not pairs:
        raise ArgumentError(f"{op.name}: {name} is empty; at least one array is needed")
    return tuple(r for r, _ in pairs), tuple(n for _, n in pairs)


def unstyled(x: Any, raw: Any, node: Node | None) -> Any:
    """An argument of a composite, whose body computes with plain Tensors alone."""
    return linked(raw, node) if isinstance(x, Tensor) or hasattr(type(x), "__tapegrad_tensor__") else x


def all_unstyled(xs: Sequence[Any], raws: Sequence[Any], nodes: Sequence[Node | None]) -> Sequence[Any]:
    """The same for a sequence of arrays."""
    return xs if all(type(x) is Tensor for x in xs) else [*map(unstyled, xs, raws, nodes)]


def dispatch(op: Op, raws: tuple[Any, ...], *args: Any, **params: Any) -> Any:
    """Compute on raw values that are not all NumPy's."""
    space = space_of(raws)
    return getattr(space, op.key)(*args, **params)


def promote(
    op: Op, raws: Sequence[Any], nodes: Sequence[Node | None]
) -> tuple[tuple[Any, ...], tuple[Node | None, ...]]:
    """Bring arrays to their common dtype, by recorded casts."""
    kinds = {r.dtype for r in raws if type(r) not in SCALARS}
    weak = [STANDING_NUMBERS[type(r)][0] if type(r) in STANDING_NUMBERS else r for r in raws if type(r) in SCALARS]
    if len(kinds) == 1 and not weak:
        return tuple(raws), tuple(nodes)
    raws = [STANDING_NUMBERS[type(r)][1](r) if type(r) in STANDING_NUMBERS else r for r in raws]
    half = next(iter(kinds)) if len(kinds) == 1 else None
    try:  # ml_dtypes' bfloat16 does not know of weak scalars
        keeps = half is not None and half.kind == "V" and not any(type(w) is complex for w in weak)
        common: Any = half if keeps else np.result_type(*kinds, *weak)
    except TypeError as error:
        text = ", ".join(str(r.dtype) for r in raws)
        raise DTypeError(f"{op.name}({', '.join(op.arrays)}): dtypes {text} have no common dtype: {error}") from None
    cast = [
        (common.type(r), None)
        if type(r) in SCALARS
        else (r, n)
        if r.dtype == common
        else F.astype(linked(r, n), common).read()
        for r, n in zip(raws, nodes, strict=True)
    ]
    return tuple(r for r, _ in cast), tuple(n for _, n in cast)


def is_half(raws: Sequence[Any]) -> bool:
    """Whether one of these is bfloat16, whose dtype is not of NumPy's own kinds."""
    for r in raws:
        dtype = getattr(r, "dtype", None)
        if dtype is not None and dtype.kind == "V":
            return True
    return False


def owned(
    active: Owners, p: Node | None, q: Any
) -> tuple[Owners | None, Node | None, Any]:
    """Who records an op with these parents, and which parents they know; no parents if nobody does."""
    if state.outside:
        _check_arguments(p, q)
    if type(q) is tuple:
        owners = shared(active, q)
        if owners is None:
            return None, None, None
        q = tuple(_known(owners, r) for r in q)
        return owners, next(r for r in q if r is not None), q
    if p is None or q is None or p.owners is q.owners:  # as within a tape that others surround, which watch nothing here
        owners = (q if p is None else p).owners
        found = active.joined.get(owners)
        if found is not None:
            if found is owners:
                owners.lane = active  # the next time, no question is asked
            return found, p, q
    if active.recorders and (p is None or p.owners.recorders >= active.recorders) and (
        q is None or q.owners.recorders >= active.recorders
    ):
        return active, p, q  # what an inner tape has recorded, used where only outer ones record
    owners = shared(active, (p, q))
    if owners is None:
        return None, None, None
    return owners, _known(owners, p), _known(owners, q)


def _check_arguments(p: Node | None, q: Any) -> None:
    """Refuse values in a compiled function that a tape around it records, and that are none of its arguments."""
    for node in (p, *(q if type(q) is tuple else (q,))):
        if node is not None and not node.owners.recorders.isdisjoint(state.outside):
            raise GradientError(CLOSED_OVER)


#: What is said of a value that a compiled function finds elsewhere, while a tape records it.
CLOSED_OVER = (
    "a compiled function uses a tensor that a tape around its call records, and that is none of its arguments: it would be a "
    "constant, without a derivative; give it as an argument, make it a Variable, or write tapegrad.stop_gradient(x)"
)


def _known(owners: Owners, node: Node | None) -> Node | None:
    if node is None or node.owners is owners or not owners.recorders.isdisjoint(node.owners.recorders):
        return node
    return None


def outputs(op: Op, y: Any, raws: Any, nodes: Any, params: Any, variant: Any) -> Any:
    """Wrap what an op of several outputs, or a composite on raw arrays, has computed."""
    if nodes is not None:
        from tapegrad.registry.several import record

        return record(op, y, raws, nodes, params, variant)
    if isinstance(y, tuple):
        made = map(tensor, y)
        return tuple(made) if type(y) is tuple else type(y)(*made)  # a named tuple keeps its names
    return [tensor(r) for r in y] if type(y) is list else tensor(y)


def failed(op: Op, error: Exception, raws: Sequence[Any]) -> Exception:
    """What is raised for an error from a kernel: it names the op and what it was given."""
    if isinstance(error, TapegradError) and (type(error) is not DeviceError or "\n" in str(error)):
        return error
    names = [f"{op.arrays[0]}[{i}]" for i in range(len(raws))] if op.variadic else op.arrays
    given = ", ".join(f"{n}: {_describe(r)}" for n, r in zip(names, raws, strict=False))
    text = f"{op.name}({', '.join(op.arrays)}): {said(error)}" + (f"\n  {given}" if given else "")
    made: TapegradError
    known = next((ERRORS[c] for c in type(error).__mro__ if c in ERRORS), None) if ERRORS else None
    if known is not None:
        return known(error)(text)
    if isinstance(error, DeviceError):
        made = DeviceError(text)
    elif isinstance(error, np.exceptions.AxisError | IndexError):
        made = BoundsError(text)
    elif isinstance(error, np.linalg.LinAlgError):
        made = MatrixError(text)
    elif isinstance(error, ValueError):
        made = ShapeError(text)
    elif isinstance(error, TypeError):
        made = DTypeError(text)
    elif isinstance(error, OverflowError):
        made = RangeError(text)
    elif isinstance(error, MemoryError):
        made = ResourceError(text)
    elif isinstance(error, ZeroDivisionError) and not is_foreign(op) and any(getattr(r, "shape", None) == () for r in raws):
        made = BoundsError(f"{op.name}({', '.join(op.arrays)}): expected at least one axis, got an array of none\n  {given}")
    else:
        error.add_note(f"in {op.name}, given {given}")
        return error
    return made


def failed_inside(name: str, error: Exception, g: Any) -> Exception:
    """What is raised for an error of a kernel set's library inside a derivative; any other error as it is."""
    known = next((ERRORS[c] for c in type(error).__mro__ if c in ERRORS), None) if ERRORS else None
    if known is None or isinstance(error, TapegradError | TypeError | ValueError):
        return error
    gs = [c for c in (g if isinstance(g, tuple | list) else (g,)) if c is not None]
    given = ", ".join(f"cotangent: {_describe(getattr(c, 'array', c))}" for c in gs)
    return known(error)(f"the derivative of {name}: {said(error)}\n  {given}")


FOREIGN.append(failed_inside)

#: What TensorFlow puts before its messages and behind them: the wrapper of an eager op, the node of a graph.
_WRAPPED = r"\{\{function_node [^}]*\}\} ?|(?: \[Op:\w+\])(?: name: *)?$| for '\{\{node .*' with input shapes: [\[\], ?\d]*\.?"


def said(error: Exception | str) -> str:
    """The message of an error, without the names of TensorFlow's own nodes."""
    return re.sub(_WRAPPED, "", str(error))


def _describe(raw: Any) -> str:
    if type(raw) in SPACES and not hasattr(raw, "dtype"):
        return f"{type(raw).__name__} {raw!r}"
    device = getattr(raw, "device", "cpu")  # "" while a graph is built
    return f"{raw.dtype} {tuple(raw.shape)}{'' if device in ('cpu', '') else f' on {device}'}"
