"""Laws of values: what NumPy computes, empty and 0-d arrays, kinks, and what has no derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ShapeError
from tapegrad.registry.signature import Param
from tapegrad.testing.case import Case
from tapegrad.testing.kinks import one_of_those_nearby
from tapegrad.testing.law import LawError, differentiable, eps_of, fits, law, same, testable
from tapegrad.testing.subject import floating, is_floating
from tapegrad.testing.upheld import trial_of

if TYPE_CHECKING:
    from tapegrad.registry.op import Op


def constant(op: Op) -> bool:
    return op.kind == "constant" and testable(op) and bool(op.arrays)


@law(constant, complex=False)
def constants_have_no_derivative(case: Case) -> None:
    """It is None, in both modes: not zeros; and rightly so, for a small step in any direction changes nothing."""
    ys = case.subject.value(case.xs)
    if not case.active:
        return
    if floating(ys):
        found = case.subject.vjp(case.xs, case.cotangents(ys)) + case.subject.jvp(case.xs, case.tangents())
        if any(c is not None for c in found):
            raise LawError(f"{case.op.name} is declared constant, and has a derivative: {found}")
    step = 1e-9 * np.concatenate([case.draw.direction(x).reshape(-1) for x in case.active])
    for near in (_moved(case, step), _moved(case, -step)):
        moved = [np.any(z != y) for z, y in zip(case.subject.value(near), ys, strict=True)]
        if any(moved) and not _jumps(case):
            raise LawError(f"{case.op.name} is declared constant, and its value changes with a small step")


def _jumps(case: Case) -> bool:
    """Whether these arguments lie on a step: among numbers that were rounded, or are equal."""
    values = np.concatenate([x.reshape(-1) for x in case.active])
    return bool((values == np.round(values)).any() or len(np.unique(values)) < len(values))


# -- NumPy ---------------------------------------------------------------------------------------------
def reference(op: Op) -> Any:
    """NumPy's own function of the same name, or None."""
    if not op.public or op.name.startswith("empty"):  # whose elements mean nothing
        return None
    found = getattr(np.linalg, op.name, None) or getattr(np, op.name, None)  # of two diagonals, that of matrices
    return found if callable(found) else None


def reference_value(op: Op, xs: list[Any], params: dict[str, Any]) -> Any:
    """What NumPy's function gives; NotImplemented if it does not take these parameters."""
    given = {p.name: params.get(p.name, p.default) for p in op.params}
    positional = [given.pop(p.name) for p in op.params if not p.keyword_only and p.default is Param.REQUIRED]
    named = {p.name: given[p.name] for p in op.params if p.name in given and given[p.name] is not p.default}
    if op.optional:
        named.update({a: x for a, x in zip(op.arrays, xs, strict=True) if a in op.optional and x is not None})
        xs = [x for a, x in zip(op.arrays, xs, strict=True) if a not in op.optional]
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


@law(testable)
def small_shapes_work(case: Case) -> None:
    """0-d, empty, and of one element: there is a value, and gradients fit; or NumPy refuses as well."""
    draw = case.draw
    small = Case(case.op, draw.again(sizes=SMALL[draw.rng.integers(len(SMALL))]))
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
@law(differentiable, complex=False)
def kinks_take_a_value_between(case: Case) -> None:
    """At a kink, or where elements tie, the gradient lies in the hull of the gradients nearby, on each run."""
    if not (case.op.kinks or case.draw.distinct) or not case.differentiable:
        return
    draw = case.draw
    tied = Case(case.op, draw.again(ties=True))
    subject, xs = tied.subject, tied.xs
    ys = subject.value(xs)
    near = subject.value(_moved(tied, _anywhere(tied, draw.rng)[0]))
    if [y.shape for y in ys] != [y.shape for y in near]:
        return  # a set of values, say: not a kink, but another number of outputs
    gs = tied.cotangents(ys)
    found = subject.vjp(xs, gs)
    same(subject.vjp(xs, gs), found, 0.0, f"{tied!r}: gradient at a kink on the second run")
    same(subject.vjp(xs, gs, watched=True), found, 1e-12, f"{tied!r}: recorded gradient at a kink")
    here = _joined(found, tied)
    if not np.isfinite(here).all():
        raise LawError(f"{tied!r}: the gradient at a kink is {here}")
    trial = trial_of(tied)
    if trial is None:
        return
    outside = one_of_those_nearby(trial, trial.gs, trial.grads)
    if outside is not None:
        raise LawError(f"{tied!r}: at a kink, {outside}")


def _joined(found: list[Any], case: Case) -> Any:
    """The gradient as one vector."""
    parts = [np.zeros(x.size) if c is None else c.reshape(-1) for c, x in zip(found, case.active, strict=True)]
    return np.concatenate(parts)


def _anywhere(case: Case, rng: Any) -> list[Any]:
    """Small steps in random directions, in their opposites, and in those with the sign of one argument changed."""
    lengths = [x.size for x in case.active]
    flips = [np.repeat([-1.0 if i == k else 1.0 for i in range(len(lengths))], lengths) for k in range(len(lengths))]
    steps = [h * rng.uniform(-1, 1, sum(lengths)) for h in (1e-4, 1e-5, 1e-6)]
    return [s * a * f for a in steps for f in (*flips, 1.0) for s in (1, -1)]


def _moved(case: Case, step: Any) -> list[Any]:
    xs = list(case.xs)
    start = 0
    for i in case.subject.active:
        x = xs[i]
        xs[i] = x + step[start : start + x.size].reshape(x.shape)
        start += x.size
    return xs
