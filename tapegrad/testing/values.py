"""Laws of values: what NumPy computes, empty and 0-d arrays, kinks, and what has no derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ShapeError
from tapegrad.registry.op import Param
from tapegrad.testing.case import Case
from tapegrad.testing.draw import Draw
from tapegrad.testing.law import LawError, differentiable, eps_of, fits, law, same, testable
from tapegrad.testing.subject import floating, is_floating

if TYPE_CHECKING:
    from tapegrad.registry.op import Op


def constant(op: Op) -> bool:
    return op.kind == "constant" and testable(op) and bool(op.arrays)


@law(constant)
def constants_have_no_gradient(case: Case) -> None:
    """It is None, in both modes: not zeros."""
    ys = case.subject.value(case.xs)
    if not floating(ys) or not case.active:
        return
    found = case.subject.vjp(case.xs, case.cotangents(ys)) + case.subject.jvp(case.xs, case.tangents())
    if any(c is not None for c in found):
        raise LawError(f"{case.op.name} is declared constant, and has a derivative: {found}")


# -- NumPy ---------------------------------------------------------------------------------------------
def reference(op: Op) -> Any:
    """NumPy's (or SciPy's) own function of the same name, or None."""
    import scipy.special

    if not op.public:
        return None
    places = (np, np.linalg, scipy.special)
    return next((found for p in places if callable(found := getattr(p, op.name, None))), None)


def reference_value(op: Op, xs: list[Any], params: dict[str, Any]) -> Any:
    """What NumPy's function gives; NotImplemented if it does not take these parameters."""
    given = {p.name: params.get(p.name, p.default) for p in op.params}
    positional = [given.pop(p.name) for p in op.params if not p.keyword_only and p.default is Param.REQUIRED]
    named = {p.name: given[p.name] for p in op.params if p.name in given and given[p.name] is not p.default}
    reverse = named.pop("descending", False)
    function = reference(op)
    try:
        y = function(xs, *positional, **named) if op.variadic else function(*xs, *positional, **named)
    except TypeError:
        return NotImplemented
    return np.flip(y, named.get("axis", -1)) if reverse and op.name == "sort" else NotImplemented if reverse else y


def has_reference(op: Op) -> bool:
    return testable(op) and reference(op) is not None and op.observe is None


@law(has_reference)
def values_are_numpys(case: Case) -> None:
    with np.errstate(all="ignore"):
        expected = reference_value(case.op, case.xs, case.params)
    if expected is NotImplemented:
        return
    if not isinstance(expected, tuple | list):
        expected = [expected]
    expected = list(map(np.asarray, expected))
    found = case.subject.value(case.xs)
    same(found, expected, 100 * eps_of(floating(found), floating(expected)), "value, against NumPy's")
    if any(is_floating(x) for x in case.xs) and "dtype" not in case.params:
        fits(found, expected, "value, against NumPy's")


# -- small shapes ----------------------------------------------------------------------------------------
SMALL = ((0,) * 8, (1,) * 8, (0, 1) * 4, (1, 0) * 4, (1, 2, 0) * 3, (3, 0, 2, 3) * 2, (2, 3, 3) * 3)


@law(testable, cost=2)
def small_shapes_work(case: Case) -> None:
    """0-d, empty, and of one element: there is a value, and gradients fit; or NumPy refuses as well."""
    draw = case.draw
    small = Case(case.op, Draw(draw.seed, SMALL[draw.rng.integers(len(SMALL))], complex=draw.complex))
    try:
        ys = small.subject.value(small.xs)
    except ShapeError as error:
        if _numpy_refuses(small):
            return
        raise LawError(f"{small!r}: {error}") from error
    if small.differentiable and floating(ys):
        fits(small.subject.vjp(small.xs, small.cotangents(ys)), small.active, f"{small!r}: cotangent")
        fits(small.subject.jvp(small.xs, small.tangents()), floating(ys), f"{small!r}: tangent")


def _numpy_refuses(case: Case) -> bool:
    if not has_reference(case.op):
        return False
    try:
        reference_value(case.op, case.xs, case.params)
    except (ValueError, IndexError):
        return True
    return False


# -- kinks -----------------------------------------------------------------------------------------------
@law(differentiable, cost=30, complex=False)
def kinks_take_a_value_between(case: Case) -> None:
    """At a kink, or where elements tie, the gradient lies in the hull of the gradients nearby, on each run."""
    if not (case.op.kinks or case.draw.distinct) or not case.differentiable:
        return
    draw = case.draw
    tied = Case(case.op, Draw(draw.seed, draw.sizes, ties=True))
    subject, xs = tied.subject, tied.xs
    gs = tied.cotangents(subject.value(xs))
    found = subject.vjp(xs, gs)
    same(subject.vjp(xs, gs), found, 0.0, f"{tied!r}: gradient at a kink on the second run")
    same(subject.vjp(xs, gs, watched=True), found, 1e-12, f"{tied!r}: recorded gradient at a kink")
    here = _joined(found, tied)
    if not np.isfinite(here).all():
        raise LawError(f"{tied!r}: the gradient at a kink is {here}")
    for p in _probes(here.size, draw.rng):
        near = np.array([p @ _joined(subject.vjp(_moved(tied, d), gs), tied) for d in _moves(p, draw.rng)])
        slack = 1e-3 * (np.abs(near).max() + np.abs(p) @ np.abs(here) + 1e-3)
        if not near.min() - slack <= p @ here <= near.max() + slack:
            raise LawError(
                f"{tied!r}: at a kink the gradient {here} projected on {p} is {p @ here:.6g}, nearby it is between "
                f"{near.min():.6g} and {near.max():.6g}"
            )


def _joined(found: list[Any], case: Case) -> Any:
    """The gradient as one vector."""
    parts = [np.zeros(x.size) if c is None else c.reshape(-1) for c, x in zip(found, case.active, strict=True)]
    return np.concatenate(parts)


def _probes(n: int, rng: Any) -> list[Any]:
    """Directions in which gradients are compared: all alike, some single elements, a random one."""
    if not n:
        return []
    chosen = rng.permutation(n)[:3]
    return [np.ones(n), rng.choice([-1.0, 1.0], n), *np.eye(n)[chosen]]


def _moves(p: Any, rng: Any) -> list[Any]:
    """Small steps up and down along p, and anywhere."""
    along = [s * h * p * rng.uniform(0.3, 1, p.size) for s in (1, -1) for h in (1e-4, 1e-6)]
    anywhere = [h * rng.uniform(-1, 1, p.size) for h in (1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6)]
    return along + anywhere + [-a for a in anywhere]


def _moved(case: Case, step: Any) -> list[Any]:
    xs = list(case.xs)
    start = 0
    for i in case.subject.active:
        x = xs[i]
        xs[i] = x + step[start : start + x.size].reshape(x.shape)
        start += x.size
    return xs
