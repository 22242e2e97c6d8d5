"""Laws of derivatives: what the gradient is, in both modes, recorded, and of second order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.law import LawError, Unresolved, difference, differentiable, eps_of, largest, law, same, testable
from tapegrad.testing.numeric import OK, WRONG, compare
from tapegrad.testing.subject import floating
from tapegrad.testing.upheld import uphold

if TYPE_CHECKING:
    from tapegrad.registry.op import Op
    from tapegrad.testing.case import Case
    from tapegrad.testing.draw import Draw
    from tapegrad.testing.subject import Subject

TRIES = 3


def twice(op: Op) -> bool:
    return differentiable(op) and op.order >= 2


def _numeric(subject: Subject, xs: list[Any], gs: list[Any], draw: Draw) -> None:
    """Refuse a gradient that is not what differences of values say, along a random direction."""
    active = subject.active
    if not any(np.size(xs[i]) for i in active):
        return  # there is no direction
    gradient = subject.vjp(xs, gs)
    claimed = [np.zeros_like(xs[i]) if c is None else c for i, c in zip(active, gradient, strict=True)]
    _fitting(claimed, [xs[i] for i in active])

    def f(moved: Any) -> list[Any]:
        full = list(xs)
        for i, x in zip(active, moved, strict=True):
            full[i] = x
        return floating(subject.value(full))

    verdict = None
    for attempt in range(TRIES):
        us = [draw.direction(xs[i], one_hot=attempt == 0 and draw.seed % 3 == 0) for i in active]
        verdict = compare(f, [xs[i] for i in active], us, gs, claimed)
        if verdict.state == OK:
            return
        if verdict.state == WRONG:
            raise LawError(f"{subject.name}: the gradient is not the derivative: {verdict}")
    raise Unresolved(f"{subject.name}: {verdict}")


def _finite(case: Case) -> list[Any]:
    """The floating outputs; where they are not finite, there is no derivative to speak of."""
    ys = floating(case.subject.value(case.xs))
    if not all(np.isfinite(y).all() for y in ys):
        raise Unresolved(f"{case.op.name} is not finite here")
    return ys


def _fitting(claimed: list[Any], xs: list[Any]) -> None:
    for i, (c, x) in enumerate(zip(claimed, xs, strict=True)):
        if c.shape != np.shape(x):
            raise LawError(f"the cotangent of argument {i} has shape {c.shape}, the argument {np.shape(x)}")


@law(differentiable)
def pullback_is_the_derivative(case: Case) -> None:
    """Its product with any direction is what differences of values say."""
    uphold(case, "shape")
    uphold(case, "numeric")


@law(differentiable)
def declared_derivatives_are_there(case: Case) -> None:
    """None is for what has no derivative by the declaration."""
    op = case.op
    if op.kind == "composite" or not case.differentiable:
        return
    ys = case.subject.value(case.xs)
    if not floating(ys):
        return
    found = case.subject.vjp(case.xs, case.cotangents(ys))
    for i, c in zip(case.subject.active, found, strict=True):
        name = op.arrays[0 if op.variadic else i]
        if (c is None) == (name in op.differentiable):
            raise LawError(f"{op.name}: the gradient for {name} is {c}, its declared rule {op.rules[name]!r}")


@law(differentiable)
def modes_are_adjoint(case: Case) -> None:
    """<g, J t> = <J* g, t>, with the real inner product."""
    uphold(case, "forward")


@law(differentiable)
def recorded_is_the_same(case: Case) -> None:
    """A gradient, or a tangent, that an outer tape records is the one that is computed on raw arrays."""
    if not case.differentiable:
        return
    ys = case.subject.value(case.xs)
    gs, ts = case.cotangents(ys), case.tangents()
    rtol = 1e3 * eps_of(floating(ys), case.active)
    subject, xs = case.subject, case.xs
    back = subject.vjp(xs, gs, watched=True), subject.vjp(xs, gs)
    same(*back, rtol, "recorded cotangent", scale=1e-3 * largest(gs))
    forth = subject.jvp(xs, ts, watched=True), subject.jvp(xs, ts)
    same(*forth, rtol, "recorded tangent", scale=1e-3 * largest(ts))


@law(twice)
def second_derivative(case: Case) -> None:
    """The pullback is a function of arguments and cotangents, and has its own gradient."""
    uphold(case, "second")


@law(twice)
def derivative_of_the_pushforward(case: Case) -> None:
    """The pushforward is a function of arguments and tangents, and has its own gradient: reverse over forward."""
    if not case.differentiable:
        return
    if not _finite(case):
        return
    ts = case.tangents()
    pushforward = case.subject.pushforward(case.xs, ts)
    xs = [*case.xs, *ts]
    _numeric(pushforward, xs, _noise(case, pushforward.value(xs)), case.draw)


def _noise(case: Case, ys: list[Any]) -> list[Any]:
    return [np.asarray(case.draw.noise(y.shape, y.dtype)) for y in ys]


@law(differentiable)
def pullback_is_linear(case: Case) -> None:
    """In the cotangent; and that of zero is exactly zero."""
    uphold(case, "linear")


def linear(op: Op) -> bool:
    return testable(op) and op.kind in ("linear", "multilinear")


@law(linear)
def linear_ops_are_linear(case: Case) -> None:
    """f(a x + b z) = a f(x) + b f(z): in all arrays taken together, or in each while the others are held."""
    op = case.op
    index = [i for i in case.subject.active if op.variadic or op.arrays[i] in op.differentiable]
    for moved in [index] if op.kind == "linear" else [[i] for i in index]:
        zs, mixed = list(case.xs), list(case.xs)
        for i in moved:
            x = case.xs[i]
            zs[i] = np.asarray(case.draw.noise(x.shape, x.dtype))
            mixed[i] = np.asarray(1.75 * x - 0.625 * zs[i])
        ys, ws = case.subject.value(case.xs), case.subject.value(zs)
        expected = [1.75 * y - 0.625 * w for y, w in zip(ys, ws, strict=True)]
        for found, e, y, w in zip(case.subject.value(mixed), expected, ys, ws, strict=True):
            scale = float(max(np.max(np.abs(y), initial=0.0), np.max(np.abs(w), initial=0.0)))
            d = difference(found, e, scale)
            if not d <= 1e3 * eps_of([found], case.active):
                raise LawError(
                    f"{op.name} is declared {op.kind}, and f(a x + b z) differs from a f(x) + b f(z) by {d:.1e}"
                )
