"""Mapping a function over a batch: it is run once, on all items at the same time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, BoundsError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.ops.convert import asarray
from tapegrad.registry.batching import has_level, inside, new_level, stacked
from tapegrad.registry.space import F
from tapegrad.transforms.arguments import check_function, guided_to_call, is_number, named, shown
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.kernels.batched import Level

_RANDOMNESS = ("error", "different", "same")


@guided_to_call
def vmap(
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    randomness: Literal["error", "different", "same"] = "error",
) -> Callable[..., Any]:
    """A function that maps `f` over an axis of its arguments, and stacks what it gives: a loop over items, without the loop.

    * `in_axes`: which axis of each positional argument to map over: an integer for all of them, or a tuple with one entry
      for each argument: an integer, None for what is the same for all items, or a structure of these that fits the argument.
      Keyword arguments are the same for all items.
    * `out_axes`: where that axis is in what the new function gives, likewise; None for what is the same for all items.
    * `randomness`: what functions of `tapegrad.random` do inside: "error", "different" for each item, or the "same".

    Inside, a tensor has the shape of one item.  Derivatives that are taken inside are those of each item; those taken
    outside are sums over items where an argument is the same for all.  What depends on the values of an item can't decide
    what Python does: ``bool(x)``, ``int(x)`` and ``x.numpy()`` raise BatchedValueError.

    Raises ShapeError if axes differ in length, ArgumentError if `in_axes` does not fit the arguments.

    >>> import tapegrad as tg
    >>> def loss(w, x, y):
    ...     return (w @ x - y) ** 2
    >>> per_example = tg.vmap(tg.grad(loss), in_axes=(None, 0, 0))
    >>> per_example(tg.asarray([1.0, 0.5]), tg.asarray([[1.0, 2.0], [3.0, 0.0]]), tg.asarray([0.0, 1.0]))
    Tensor([[ 4.,  8.],
            [12.,  0.]], dtype=float32)
    """
    check_function("vmap", f)
    if randomness not in _RANDOMNESS:
        raise ArgumentError(f"vmap(randomness=...): expected 'error', 'different' or 'same', got {randomness!r}")
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten(args)
        where = f"vmap({named(f)})"
        axes = _axes(where, "in_axes", in_axes, args, len(leaves))
        tensors = [_mapped(where, x, a, functools.partial(_label, f, args, i)) for i, (x, a) in enumerate(zip(leaves, axes, strict=True))]
        level = new_level(_size(f, args, tensors, axes), name=named(f), randomness=randomness)
        items = [
            x if a is None else F.enbatch(F.moveaxis(x, a, 0) if a else x, level) for x, a in zip(tensors, axes, strict=True)
        ]
        with inside(level):
            y = f(*rebuild(items), **kwargs)
        outs, rebuild_outs = flatten(y)
        out = _axes(where, "out_axes", out_axes, y, len(outs))
        return rebuild_outs([_left(where, v, a, level, named(f)) for v, a in zip(outs, out, strict=True)])

    return mapped


def _check_axes(what: str, axes: Any) -> None:
    """Refuse what is no axis, before the function is called."""
    for a in flatten(axes)[0]:
        if a is not None and (type(a) is bool or not hasattr(a, "__index__") or isinstance(a, Tensor)):
            raise ArgumentError(
                f"vmap(f, {what}=...): expected an integer, None, or a structure of them, got {shown(axes):.80}"
                f"{'; vmap(f) gives a function: write vmap(f)(x)' if isinstance(a, Tensor) else ''}"
            )


def _axes(where: str, what: str, axes: Any, structure: Any, count: int) -> list[Any]:
    """The axis for each leaf of a structure, of which `axes` is a prefix."""
    if axes is None or hasattr(axes, "__index__"):
        return [axes] * count
    if isinstance(axes, list) and isinstance(structure, tuple):
        axes = tuple(axes)
    if type(axes) is type(structure) is tuple and len(axes) == len(structure) == count:
        flat = list(axes)
        if all(a is None or hasattr(a, "__index__") for a in flat):
            return flat
    import optree

    try:
        found: list[Any] = optree.broadcast_prefix(axes, structure, none_is_leaf=True, namespace="tapegrad")
    except (ValueError, TypeError) as error:
        if isinstance(axes, tuple) and what == "in_axes" and len(axes) != len(structure):
            text = f"expected one entry for each of {len(structure)} arguments, got {len(axes)}"
        else:
            text = f"{axes!r:.80} does not fit the structure of what it is for: {str(error).splitlines()[0]}"
        raise ArgumentError(f"{where}, {what}: {text}") from None
    return found


def _label(f: Any, args: Any, i: int) -> str:
    """The i-th leaf of the arguments, in words: 'argument 1 (x)[0]'."""
    import inspect

    import optree

    path = optree.tree_paths(args, none_is_leaf=True, namespace="tapegrad")[i]
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    name = f" ({names[path[0]]})" if path[0] < len(names) else ""
    return f"argument {path[0]}{name}{''.join(f'[{k!r}]' for k in path[1:])}"


def _mapped(where: str, x: Any, axis: Any, label: Callable[[], str]) -> Any:
    """A leaf of the arguments as a tensor that has this axis."""
    if axis is None:
        return x
    if not is_number(x):
        raise ArgumentError(
            f"{where}: expected a tensor to map over as {label()}, got {type(x).__name__}; write None in its place in in_axes"
        )
    made = asarray(x)
    if not -len(made.shape) <= axis < len(made.shape):
        way = "; write None in its place in in_axes" if not made.shape else ""
        raise BoundsError(f"{where}: in_axes is {axis} for {label()}, which has shape {made.shape}{way}")
    return made


def _size(f: Any, args: Any, tensors: list[Any], axes: list[Any]) -> int:
    """The length of the mapped axes."""
    sizes = [None if a is None else x.shape[a] for x, a in zip(tensors, axes, strict=True)]
    known = {n for n in sizes if n is not None}
    if not known:
        raise ArgumentError(f"vmap({named(f)}): expected at least one argument to map over, got in_axes that are all None, or no arguments")
    if len(known) > 1:
        listed = ", ".join(
            f"{_label(f, args, i)} has {n} along axis {axes[i]}" for i, n in enumerate(sizes) if n is not None
        )
        raise ShapeError(f"vmap({named(f)}): expected mapped axes of one length, got different ones: {listed}")
    return int(known.pop())


def _left(where: str, y: Any, axis: Any, level: Level, name: str) -> Any:
    """What the function gave, stacked along an axis."""
    if y is None:
        return None
    if not is_number(y):
        raise ArgumentError(f"{where}: expected {name} to return tensors, or a structure of them, got {type(y).__name__}")
    made = asarray(y)
    if axis is None:
        if has_level(made.read()[0], level, equal=False):
            raise ArgumentError(f"{where}: out_axes is None for a value that differs between items; write an axis, or reduce it")
        return stacked(made, level)[0] if type(made.array) is Batched and level.size else made
    rows = stacked(made, level)
    if not -len(rows.shape) <= axis < len(rows.shape):
        raise BoundsError(f"{where}: out_axes is {axis} for a value whose items have shape {made.shape}")
    return F.moveaxis(rows, 0, axis) if axis else rows


__all__ = ["vmap"]
