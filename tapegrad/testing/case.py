"""One op with arguments: what a law is checked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.registry.space import F
from tapegrad.testing.draw import Draw
from tapegrad.testing.subject import Subject, floating, is_floating, outputs_of

if TYPE_CHECKING:
    from tapegrad.registry.op import Op


@final
class Case:
    """An op, with arguments that were drawn for it.

    `xs` are the raw arguments, those of a sequence one by one; `subject` is the op as a function of them.
    """

    def __init__(self, op: Op, draw: Draw) -> None:
        self.op = op
        self.draw = draw
        arrays, self.params = arguments(op, draw)
        self.xs: list[Any] = list(arrays[0]) if op.variadic else list(arrays)
        self.subject = self.subject_of(self.xs)

    def subject_of(self, xs: list[Any]) -> Subject:
        """The op as a function of arguments such as these."""
        return Subject(self.op.name, self.call, [i for i, x in enumerate(xs) if is_floating(x)])

    def call(self, tensors: list[Any]) -> list[Any]:
        op = self.op
        if op.variadic:
            y = op.entry(tensors, **self.params)
        else:
            first = len(tensors) - len(op.named)
            y = op.entry(*tensors[:first], **dict(zip(op.named, tensors[first:], strict=True)), **self.params)
        ys = outputs_of(y)
        return outputs_of(op.observe(F, *ys)) if op.observe is not None else ys

    @property
    def active(self) -> list[Any]:
        """The arguments that are differentiated."""
        return [self.xs[i] for i in self.subject.active]

    @property
    def differentiable(self) -> bool:
        """Whether there is anything to differentiate, and by the declaration a derivative."""
        return self.op.kind != "constant" and bool(self.subject.active)

    def cotangents(self, ys: list[Any] | None = None, *, vary: bool = False) -> list[Any]:
        """New ones, for the floating outputs; if they `vary`, at times one element alone, or relative to the output."""
        ys = self.subject.value(self.xs) if ys is None else ys
        gs = [np.asarray(self.draw.noise(y.shape, y.dtype)) for y in floating(ys)]
        kind = self.draw.rng.integers(3) if vary else 0
        if kind == 1:
            gs = [g / np.maximum(np.abs(y), 1e-3) for g, y in zip(gs, floating(ys), strict=True)]
        elif kind == 2:
            gs = [_one_element(g, self.draw) for g in gs]
        return gs

    def tangents(self, *, one_hot: bool = False) -> list[Any]:
        """New ones, for the active arguments."""
        return [np.asarray(self.draw.direction(x, one_hot=one_hot)).astype(x.dtype) for x in self.active]

    def __repr__(self) -> str:
        params = "".join(f", {k}={v!r}" for k, v in self.params.items())
        return f"{self.op.name}({', '.join(map(_shown, self.xs))}{params})"


def _one_element(g: Any, draw: Draw) -> Any:
    if not g.size:
        return g
    out = np.zeros_like(g)
    i = np.unravel_index(int(draw.rng.integers(g.size)), g.shape)
    out[i] = g[i]
    return out


def _shown(x: Any) -> str:
    return f"{np.array2string(np.asarray(x), threshold=12, separator=', ')}" if hasattr(x, "dtype") else repr(x)


def arguments(op: Op, draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arrays and parameters: as the op's `laws` say, or by its signature if it acts on elements."""
    if not callable(op.laws):
        return _elementwise(op, draw), {}
    draw.domain = op.domain
    draw.kinks = op.kinks if isinstance(op.kinks, tuple) else ()
    drawn: Any = op.laws(draw)
    drawn = drawn if isinstance(drawn, tuple) else (drawn,)
    if drawn and isinstance(drawn[-1], dict):
        return drawn[:-1], drawn[-1]
    return drawn, {}


def _elementwise(op: Op, draw: Draw) -> tuple[Any, ...]:
    """Arrays of shapes that broadcast: alike, mixed, 0-d among others, or empty."""
    for _ in range(100):
        shape = draw.shape()
        arrays = tuple(_argument(op, draw, a, shape) for a in op.arrays)
        if not callable(op.kinks):
            return arrays
        distance = np.abs(op.kinks(*arrays))
        on_kink = (distance < 0.05).any()
        if draw.ties or not on_kink:
            return arrays
    raise AssertionError(f"{op.name}: no arguments found away from its kinks")


def _argument(op: Op, draw: Draw, name: str, shape: tuple[int, ...]) -> Any:
    draw.domain = op.domain.get(name) if isinstance(op.domain, dict) else op.domain
    draw.kinks = op.kinks if isinstance(op.kinks, tuple) else ()
    return draw.filled(shape if len(op.arrays) == 1 else _fitting(draw, shape))


def _fitting(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to this one."""
    kind = draw.rng.integers(5)
    if kind < 2:
        return shape
    if kind == 2:
        return ()
    cut = shape[int(draw.rng.integers(len(shape) + 1)) :] if draw.boolean() else shape
    return tuple(1 if draw.rng.random() < 0.4 else n for n in cut)
