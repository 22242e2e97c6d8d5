"""What declarations from outside tapegrad give, checked as it comes; tapegrad's own ops have the laws for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

if TYPE_CHECKING:
    from tapegrad.registry.op import Op, Spec

_NUMBERS = (int, float, complex, bool)


def is_foreign(op: Op) -> bool:
    """Whether the op was declared outside tapegrad."""
    return op.key != op.name


def body(op: Op, xp: Any, *args: Any, **params: Any) -> Any:
    """What the op's body gives: a raw array, or a tuple of them for an op of several outputs."""
    y = op.body(xp, *args, **params)
    if op.kind == "composite":
        return y
    if not op.outputs:
        _array(op.name, "its body", y, recorded=False)
    elif type(y) is not tuple or (op.outputs is not ... and len(y) != len(op.outputs)):
        kind = f"a tuple of {len(y)}" if type(y) is tuple else type(y).__name__
        wanted = "arrays" if op.outputs is ... else ", ".join(op.outputs)
        raise ArgumentError(f"{op.name}: expected its body to return a tuple of {wanted}, got {kind}")
    else:
        for name, each in zip(map(str, range(len(y))) if op.outputs is ... else op.outputs, y, strict=True):
            _array(op.name, f"its body, for {name},", each, recorded=False)
    return y


def cotangent(name: str, argument: str, c: Any, spec: Spec, recorded: bool) -> None:
    """Refuse what is no cotangent of an argument of this shape and dtype."""
    what = f"the derivative for {argument}"
    if c is None:
        raise ArgumentError(
            f"{name}: expected {what} to return an array, got None; where there is none, declare {argument}=no_derivative"
        )
    _array(name, what, c, recorded=recorded)
    _alike(name, what, c, spec, "the argument's")


def cotangents(name: str, argument: str, cs: Any, specs: tuple[Spec, ...], recorded: bool) -> None:
    """The same for an op of a sequence of arrays."""
    if not isinstance(cs, tuple | list) or len(cs) != len(specs):
        kind = f"{len(cs)}" if isinstance(cs, tuple | list) else type(cs).__name__
        raise ArgumentError(
            f"{name}: expected the derivative for {argument} to return {len(specs)} arrays, one for each given; got {kind}"
        )
    for i, (c, spec) in enumerate(zip(cs, specs, strict=True)):
        cotangent(name, f"{argument}[{i}]", c, spec, recorded)


def tangent(name: str, argument: str, t: Any, y: Any, recorded: bool) -> None:
    """Refuse what is no tangent of the output `y`, or of one of that shape and dtype."""
    what = f"the pushforward for {argument}"
    _array(name, what, t, recorded=recorded)
    _alike(name, what, t, y, "the output's")


def partial(name: str, argument: str, p: Any, g: Any, exact: bool, shape: tuple[int, ...] | None = None) -> Any:
    """A partial derivative, refused where it does not fit the output, of this shape or that of `g`.

    If `exact`, it has the dtype of `g`, or one that leaves that as it is.
    """
    if type(p) in _NUMBERS:
        return p
    what = f"the partial for {argument}"
    _array(name, what, p, recorded=type(g) is Tensor)
    shape = tuple(g.shape if shape is None else shape)
    try:
        fits = np.broadcast_shapes(p.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{name}: expected {what} to return a shape that broadcasts to the output's {shape}, got {p.shape}")
    if exact and p.dtype != g.dtype and np.result_type(p.dtype, g.dtype) != g.dtype:
        raise DTypeError(f"{name}: expected {what} to return dtype == {g.dtype}, the argument's; got {p.dtype}")
    return p


def _array(name: str, what: str, x: Any, *, recorded: bool) -> None:
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        raise ArgumentError(f"{name}: expected {what} to return an array, got {type(x).__name__}")
    if isinstance(x, Tensor) is not recorded:
        raise ArgumentError(
            f"{name}: expected {what} to return a Tensor where it is recorded, or its own derivative would be lost, got "
            f"{type(x).__name__}; compute with the functions of F"
            if recorded
            else f"{name}: expected {what} to return a raw array, got a Tensor; compute with the functions of its namespace"
        )


def _alike(name: str, what: str, x: Any, spec: Any, whose: str) -> None:
    if tuple(x.shape) != tuple(spec.shape):
        raise ShapeError(f"{name}: expected {what} to return shape == {tuple(spec.shape)}, {whose}; got {tuple(x.shape)}")
    if x.dtype != spec.dtype:
        raise DTypeError(f"{name}: expected {what} to return dtype == {spec.dtype}, {whose}; got {x.dtype}")
