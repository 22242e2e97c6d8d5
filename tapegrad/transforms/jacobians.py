"""Jacobians, row by row or column by column, all of them at once, and Jacobians of Jacobians."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal

from tapegrad.core.tensor import linked, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DTypeError
from tapegrad.forward import ForwardAccumulator
from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import inside, new_level, stacked
from tapegrad.registry.space import F, space_of_type
from tapegrad.tape import GradientTape
from tapegrad.transforms.arguments import (
    Chosen,
    check_argnums,
    check_function,
    choose,
    guided_to_call,
    named,
    outputs,
    pair,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Mode = Literal["auto", "forward", "reverse"]
_MODES = ("auto", "forward", "reverse")


@guided_to_call
def jacobian(
    f: Callable[..., Any], argnums: Any = 0, *, mode: Mode = "auto", has_aux: bool = False, vectorized: bool = True
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `f`: ``(*y.shape, *x.shape)`` for an argument `x` and a value `y`.

    * `argnums`: as for `grad`.  Where `y`, or an argument, is a structure, the result is a structure like `y` of structures
      like the arguments; what does not depend on an argument has zeros.
    * `mode`: "reverse" computes all rows in one sweep, "forward" all columns along with the value; "auto" takes "forward"
      where there are fewer columns than rows.
    * `has_aux`: `f` gives a pair of a value and anything else; the new function gives ``(jacobian, aux)``.
    * `vectorized`: whether all rows or columns are computed at once; else one by one, in less memory.

    Raises DTypeError for complex numbers, whose rows and columns differ by what is conjugated; take real and imaginary
    parts, or a tape's `jacobian`.

    >>> import tapegrad as tg
    >>> f = lambda x: tg.stack([x[0] * x[1], x[0] ** 2])
    >>> tg.jacobian(f)(tg.asarray([1.5, -2.0]))
    Tensor([[-2. ,  1.5],
            [ 3. ,  0. ]], dtype=float32)
    """
    return _jacobian("jacobian", f, argnums, mode, has_aux=has_aux, vectorized=vectorized)


@guided_to_call
def hessian(
    f: Callable[..., Any],
    argnums: Any = 0,
    *,
    mode: Literal[
        "forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward"
    ] = "forward-over-reverse",
) -> Callable[..., Any]:
    """A function that gives the second derivatives of `f`: ``(*y.shape, *x.shape, *x.shape)``, for a scalar the Hessian.

    * `argnums`: as for `grad`; of several arguments, the result has each pair, in structures within structures.
    * `mode`: how the outer and the inner `jacobian` are computed.

    >>> import tapegrad as tg
    >>> tg.hessian(lambda x: x[0] ** 3 * x[1])(tg.asarray([1.0, 2.0]))
    Tensor([[12.,  3.],
            [ 3.,  0.]], dtype=float32)
    """
    outer, over, inner = mode.partition("-over-") if isinstance(mode, str) else ("", "", "")
    if not over or outer not in _MODES[1:] or inner not in _MODES[1:]:
        raise ArgumentError(
            f"hessian(mode=...): expected 'forward-over-reverse', 'reverse-over-reverse', 'reverse-over-forward' or "
            f"'forward-over-forward', got {mode!r}"
        )
    first = _jacobian("hessian", f, argnums, inner, has_aux=False, vectorized=True)
    return _jacobian("hessian", first, argnums, outer, has_aux=False, vectorized=True)


def _size(x: Any) -> int:
    """The number of elements, which a facade's tensor may call something else than `size`."""
    return math.prod(x.array.shape)


def _jacobian(
    what: str, f: Callable[..., Any], argnums: Any, mode: str, *, has_aux: bool, vectorized: bool
) -> Callable[..., Any]:
    check_function(what, f)
    check_argnums(what, argnums)
    if mode not in _MODES:
        raise ArgumentError(f"{what}(mode=...): expected 'auto', 'forward' or 'reverse', got {mode!r}")
    compute = _along if mode == "forward" else _recorded

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        chosen = choose(what, f, args, argnums)
        _real(what, f, chosen.leaves)
        given, blocks = compute(what, f, chosen, kwargs, (mode, has_aux, vectorized))
        _, rebuild = outputs(what, f, given[0] if has_aux else given)
        found = rebuild([None if row is None else chosen.rebuild(row) for row in blocks])
        return (found, given[1]) if has_aux else found

    return differentiated


def _real(what: str, f: Any, leaves: list[Any]) -> None:
    for x in leaves:
        if x is not None and x.array.dtype.kind == "c":
            raise DTypeError(
                f"{what}({named(f)}): expected real arguments and values, got {x.array.dtype}; write {named(f)} as a function of real "
                "and imaginary parts, or use GradientTape.jacobian, whose rows are gradients"
            )


def _values(what: str, f: Any, given: Any, has_aux: bool) -> list[Any]:
    leaves, _ = outputs(what, f, pair(what, f, given)[0] if has_aux else given)
    _real(what, f, leaves)
    return leaves


def _recorded(what: str, f: Any, chosen: Chosen, kwargs: Any, words: tuple[str, bool, bool]) -> tuple[Any, list[Any]]:
    """What `f` gave, and the blocks of the Jacobian, from what a tape has recorded: whichever way is shorter."""
    mode, has_aux, vectorized = words
    xs = [x for x in chosen.leaves if x is not None]
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(xs)
        given = f(*chosen.args, **kwargs)
    ys = _values(what, f, given, has_aux)
    columns, rows = (sum(_size(v) for v in vs if v is not None) for vs in (xs, ys))
    if mode == "auto" and columns < rows:
        return given, _columns(xs, ys, lambda ts: tape._push(xs, ts, ys), chosen.leaves, vectorized)
    return given, [None if y is None else _rows(tape, y, chosen.leaves, vectorized) for y in ys]


def _rows(tape: GradientTape, y: Any, leaves: list[Any], vectorized: bool) -> list[Any]:
    if not is_inexact(y.array.dtype):
        return [None if x is None else F.zeros((*y.shape, *x.shape), dtype=x.array.dtype) for x in leaves]
    found: list[Any] = tape.jacobian(y, leaves, unconnected_gradients="zero", vectorized=vectorized)
    return found


def _along(what: str, f: Any, chosen: Chosen, kwargs: Any, words: tuple[str, bool, bool]) -> tuple[Any, list[Any]]:
    """The same, with tangents that are computed along with the value: nothing is kept."""
    _, has_aux, vectorized = words
    xs = [x for x in chosen.leaves if x is not None]
    seen: list[Any] = []

    def push(ts: list[Any]) -> list[Any]:
        with ForwardAccumulator(xs, ts) as accumulator:
            given = f(*chosen.args, **kwargs)
        ys = _values(what, f, given, has_aux)
        seen[:] = [given, ys]
        found: list[Any] = accumulator.jvp(ys, unconnected_gradients="zero")
        return found

    blocks = _columns(xs, None, push, chosen.leaves, vectorized)
    return seen[0], blocks


def _columns(xs: list[Any], ys: Any, push: Callable[[list[Any]], list[Any]], leaves: list[Any], vectorized: bool) -> list[Any]:
    """For each value the block for each argument: the tangents along every direction."""
    size = sum(map(_size, xs))
    if vectorized:
        level = new_level(size, randomness="same")
        with inside(level):
            tangents = push([tensor(Batched(t, level)) for t in _directions(xs, size)])
        columns = [None if t is None else stacked(t, level) for t in tangents]
    else:
        each = [push([tensor(t[k]) for t in _directions(xs, size)]) for k in range(size)] or [push([tensor(x.array) for x in xs])]
        columns = [None if ts[0] is None else F.stack(list(ts))[:size] for ts in zip(*each, strict=True)]
    return [None if c is None else _blocks(c, leaves) for c in columns]


def _directions(xs: list[Any], size: int) -> list[Any]:
    """For each argument its part of every unit vector, (size, *x.shape)."""
    found = []
    start = 0
    for x in xs:
        raw = x.array
        xp = space_of_type(type(raw))
        part = xp.getitem(xp.eye(size, dtype=raw.dtype), (slice(None), slice(start, start + x.size)))
        found.append(xp.reshape(part, (size, *raw.shape)))
        start += _size(x)
    return found


def _blocks(columns: Any, leaves: list[Any]) -> list[Any]:
    """Columns, (size, *y.shape), as one block (*y.shape, *x.shape) for each argument."""
    shape = columns.shape[1:]
    rows = F.moveaxis(columns, 0, -1)
    found: list[Any] = []
    start = 0
    for x in leaves:
        if x is None:
            found.append(None)
            continue
        block = F.reshape(rows[..., start : start + _size(x)], (*shape, *x.shape))
        found.append(F.astype(block, x.array.dtype) if block.array.dtype != x.array.dtype else linked(*block.read()))
        start += _size(x)
    return found


__all__ = ["hessian", "jacobian"]
