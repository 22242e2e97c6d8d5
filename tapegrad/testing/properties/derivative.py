"""What the derivative is: against differences, in forward mode, of second order; linear, and finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing import kinks
from tapegrad.testing.numeric import (
    FINER,
    OK,
    UNRESOLVED,
    WRONG,
    Verdict,
    all_finite,
    compare,
    dot,
    eps_in,
    largest_of,
    size_of,
)
from tapegrad.testing.outcome import HOLDS, SILENT, UNDECIDED, Failure
from tapegrad.testing.trial import Refused, filled, fresh

if TYPE_CHECKING:
    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.systems.base import System
    from tapegrad.testing.trial import Trial

_TRIES = 3
_EPS = float(np.finfo(np.float64).eps)


def numeric(t: Trial) -> Outcome:
    """<g, f(x + hu) - f(x - hu)> / 2h is <vjp(g), u>, for a random u; in double precision where the function has it."""
    if t.empty or not t.finite:
        return SILENT
    wide = t.widened()
    return _differences(t) if wide is None or not wide.finite else _in_double(t, wide)


def _differences(t: Trial) -> Outcome:
    for attempt in range(1 if t.settings.shrinking else _TRIES):
        u = t.direction(one_hot=attempt == 0 and t.point.seed % 6 in (3, 5))
        if attempt:  # where steps are too long for the function, or the cotangent picks what cannot be seen
            u = [v * 1e-3**attempt for v in u]
            if t.point.gs is None:
                t.gs = [t.noise(y) for y in t.ys]
                t.derive()
                if not _all_finite(t.grads):
                    return SILENT
        if not any(map(np.count_nonzero, u)):  # at an end of the domain, or too short for the precision
            return UNDECIDED if attempt else SILENT
        verdict = _along(t, u)
        if verdict.state == OK:
            return HOLDS
        if verdict.state == WRONG:
            near = verdict
            # Shorter steps do not go over a pole or a branch close to zero.
            if not t.settings.shrinking or t.has_shorter_steps():
                near = _along(t, t.direction(relative=True), hurried=True)
            if near.state == OK or (not t.settings.shrinking and _right_closer(t, u, verdict)):
                return HOLDS
            return _at_kink(t, near if near.state == WRONG else verdict)
    return SILENT if kinks.jumps(t) else UNDECIDED


def _in_double(t: Trial, wide: Trial) -> Outcome:
    """Of arguments in lower precision: the derivative is right in double precision; `precision` looks at theirs."""
    if all(c.dtype == x.dtype for c, x in zip(wide.grads, wide.active, strict=True)):
        return _differences(wide)
    # The vjp is in lower precision itself, whatever it is given: right but for its last digit.
    wide.grads = [np.asarray(c, x.dtype) for c, x in zip(wide.grads, wide.active, strict=True)]
    verdict = _along(wide, wide.direction())
    if verdict.state == WRONG and abs(verdict.error) > 10 * eps_of(t) * verdict.scale:
        return _at_kink(wide, verdict)
    return UNDECIDED if verdict.state == UNRESOLVED else HOLDS


def _along(t: Trial, u: list[Any], *, hurried: bool = False) -> Verdict:
    known = t.settings
    return compare(
        t.moved, t.active, u, t.gs, t.grads, usual=known.usual, gain=known.gain, finite=True,
        hurried=hurried or bool(known.shrinking), single=bool(known.single),
    )  # fmt: skip


def _right_closer(t: Trial, u: list[Any], wrong: Verdict) -> bool:
    """Whether the discrepancy is gone at shorter steps: a feature may be narrower than all of the usual ones."""
    for finer in FINER:
        near = _along(t, [finer * v for v in u], hurried=True)
        if near.state == OK and abs(near.error) + 10 * near.bound <= 0.1 * finer * abs(wrong.error):
            return True
    return False


def _at_kink(t: Trial, verdict: Verdict) -> Outcome:
    if kinks.jumps(t):
        return SILENT
    if not any(map(np.count_nonzero, t.grads)) and kinks.narrow_stairs(t):
        return HOLDS
    if kinks.bends(t, verdict.error):
        t.kinked = True
        if t.settings.shrinking == "numeric":
            return SILENT  # whatever it is, it is not that
        outside = kinks.one_of_those_nearby(t, t.gs, t.grads)
        if outside is None:
            return HOLDS
        if t.settings.kinks == "warn":
            t.settings.warned.append(outside)
            return SILENT
        return Failure("kink", f"at a kink, the gradient is none of those nearby: {outside}", [("at a kink", outside)])
    relation = f"{verdict.claimed + verdict.error:.10g} +- {verdict.bound:.0e}"
    return Failure(
        "numeric",
        "the gradient is not the derivative",
        [("along u", f"vjp {verdict.claimed:.10g}, numeric {relation}; converged, f is smooth here")],
    )


def _all_finite(xs: list[Any]) -> bool:
    return all(map(all_finite, xs))


def finite(t: Trial) -> Outcome:
    """No NaN or infinity in the gradient where the function and its neighbourhood are finite."""
    if t.finite:
        return HOLDS
    for k, (c, x) in enumerate(zip(t.grads, t.active, strict=True)):
        bad = ~np.isfinite(c)
        if not bad.any() or c.shape != x.shape:
            continue
        for at in np.argwhere(bad)[:3]:
            where = tuple(int(i) for i in at)
            if not _steep_or_at_an_edge(t, k, where):
                shown = c[where]
                return Failure("finite", f"the gradient is {shown} where the function and its neighbourhood are finite")
        return SILENT
    return HOLDS


def _steep_or_at_an_edge(t: Trial, k: int, where: tuple[int, ...]) -> bool:
    lo, hi = t.settings.domains[t.system.active[k]]
    x = t.active[k]
    if not lo < x[where].real < hi:
        return True
    size = max(abs(x[where]), 0.08)
    slopes = []
    with np.errstate(all="ignore"):
        for h in (1e-3, 1e-6, 1e-9):
            sides = []
            for sign in (1, -1):
                z = x.copy()
                z[where] += sign * h * size
                ys = t.moved([z if i == k else a for i, a in enumerate(t.active)])
                if not _all_finite(ys) or [y.shape for y in ys] != [y.shape for y in t.ys]:
                    return True
                sides.append(sum(float(np.abs(y - b).sum()) for y, b in zip(ys, t.ys_before, strict=True)))
            slopes.append(max(sides) / h)
    return slopes[2] > 8 * slopes[1] > 8 * slopes[0] > 0


def linear(t: Trial) -> Outcome:
    """vjp(2 g + 1024 h) = 2 vjp(g) + 1024 vjp(h), and vjp(0) is exactly 0."""
    if t.empty or not t.finite:
        return SILENT

    def pulled(gs: list[Any]) -> list[Any]:
        return filled(t.pull([g.copy() for g in gs]), t.active)

    zero = pulled([np.zeros_like(g) for g in t.gs])
    if any(np.count_nonzero(c) for c in zero):
        return Failure("linear", f"the vjp of a zero cotangent is {_some(zero)}")
    h, part = t.other()
    both = [np.asarray(2 * a + 1024 * b, a.dtype) for a, b in zip(t.gs, h, strict=True)]
    found = pulled(both)
    if [c.shape for c in found] != [c.shape for c in t.grads]:
        return Failure("linear", "the shape of the gradient depends on the cotangent")
    worst, scale = 0.0, 0.0
    for f, a, b in zip(found, t.grads, part, strict=True):
        if f.size and not _nearly(f, 2 * a + 1024 * b):
            worst = max(worst, float(np.abs(f - (2 * a + 1024 * b)).max()))
            scale = max(scale, float(np.abs(f).max()), 1024 * float(np.abs(b).max()))
    rounding = 1e3 * _EPS * t.settings.gain * largest_of(both)
    coarser = eps_of(t) / _EPS  # than double precision
    if worst <= coarser * (1e-9 * scale + rounding):
        return HOLDS
    nudged = pulled([g * (1 + 1e-12 * t.noise(g)) for g in both])
    shaken = max((float(np.abs(a - b).max()) for a, b in zip(nudged, found, strict=True) if a.size), default=0.0)
    if worst <= 10 * shaken:  # rounding inside is as large
        return HOLDS if t.point.tame else UNDECIDED
    return Failure(
        "linear", f"vjp(2 g + 1024 h) differs from 2 vjp(g) + 1024 vjp(h) by {worst / (scale or 1):.1e} of its size"
    )


def _nearly(a: Any, b: Any) -> bool:
    """Whether arrays of double precision are equal but for rounding, as sums of squares show it at once."""
    if a.dtype.char not in "dD":
        return False
    off = a - b
    return bool(abs(np.vdot(off, off)) * a.size <= 1e-24 * abs(np.vdot(a, a)))


def eps_of(t: Trial) -> float:
    """The coarsest rounding among arguments and outputs."""
    return max((eps_in(x.dtype) for x in (*t.active, *t.ys)), default=_EPS)


def _some(xs: list[Any]) -> str:
    found = next(x[x != 0][0] for x in xs if (x != 0).any())
    return str(found)


def forward(t: Trial) -> Outcome:
    """<g, J u> = <J* g, u>."""
    if not t.system.has_jvp or t.empty or t.kinked or not t.finite:
        return SILENT
    u = [np.asarray(v, x.dtype) for v, x in zip(t.direction(), t.active, strict=True)]
    try:
        tangents = t.system.jvp(fresh(t.kept), [v.copy() for v in u])
    except NotImplementedError:  # an op without a rule for it
        t.system.has_jvp = False
        return SILENT
    if [z.shape for z in tangents] != [y.shape for y in t.ys]:
        shapes = f"{[z.shape for z in tangents]}, the outputs {[y.shape for y in t.ys]}"
        return Failure("forward", f"the tangents have the shapes {shapes}")
    if not _all_finite(tangents):
        if kinks.jumps(t):  # as the angle does at the origin: there is no derivative to speak of
            return SILENT
        return Failure("forward", "a tangent is not finite, and the gradient is")
    push, pull = dot(t.gs, tangents), dot(t.grads, u)
    size = size_of(t.gs, tangents) + size_of(t.grads, u)
    rounding = 1e3 * _EPS * (largest_of(t.grads) + t.settings.gain * largest_of(t.gs)) * largest_of(u)
    if abs(push - pull) <= eps_of(t) / _EPS * (1e-9 * size + rounding):
        return HOLDS
    verdict = _along(t, u)
    if verdict.state != OK and (kinks.bends(t, push - pull) or not t.point.tame):
        return SILENT  # two conventions at a kink
    lines = [("reverse", f"<vjp(g), u> = {pull:.12g}"), ("forward", f"<g, jvp(u)> = {push:.12g}")]
    return Failure("forward", "forward and reverse mode disagree", lines)


def second(t: Trial) -> Outcome:
    """The vjp is a function of inputs and cotangent, and its own vjp is its derivative."""
    if t.settings.order < 2 or t.empty or not t.finite or not t.point.tame:
        return SILENT
    t = t.widened() or t
    if t.kinked or not t.finite or any(c.dtype != x.dtype for c, x in zip(t.grads, t.active, strict=True)):
        return SILENT
    system = t.system.second(t.kept, t.gs)
    if system is None:
        return SILENT
    return _of_vjp(t, system, [*t.kept, *t.gs], "second")


def third(t: Trial) -> Outcome:
    """The vjp of the vjp has its own, too."""
    if t.settings.order < 3 or t.empty or t.kinked or not t.finite or t.point.label != "usual":
        return SILENT
    first = t.system.second(t.kept, t.gs)
    if first is None:
        return SILENT
    leaves = [*t.kept, *t.gs]
    hs = [t.noise(c) for c in first.value(fresh(leaves))]
    system = first.second(leaves, hs)
    return SILENT if system is None else _of_vjp(t, system, [*leaves, *hs], "third")


def _of_vjp(t: Trial, system: System, leaves: list[Any], order: str) -> Outcome:
    """Whether the derivative of a vjp, a function of inputs and cotangents, is right; or one of those nearby at a kink."""
    try:
        inner = t.of_vjp(system, leaves)
        inner.derive()
    except Refused as error:
        if error.__cause__ is not None:  # what the vjp itself raises is a finding
            raise error.__cause__ from None
        return SILENT
    if [c.shape for c in inner.grads] != [x.shape for x in inner.active]:
        return Failure(order, "a gradient of the vjp has another shape than what it is for")
    if not inner.finite:
        return _not_finite(t, inner, order)
    for _ in range(_TRIES):
        u = [*t.direction(), *(0.1 * t.noise(g) for g in leaves[len(t.kept) :])]
        verdict = _along(inner, u)
        if verdict.state == OK:
            return HOLDS
        if verdict.state == WRONG:
            if not smooth(t) or _right_closer(inner, u, verdict):
                return SILENT
            return _wrong_vjp(t, inner, verdict, order)
    return UNDECIDED if smooth(t) else SILENT


def _not_finite(t: Trial, inner: Trial, order: str) -> Outcome:
    if not smooth(t):
        return UNDECIDED
    what = f"the {order} derivative is not finite"
    if t.settings.kinks == "warn" and kinks.bends(inner, 0.0):
        t.settings.warned.append(f"{what}, where the gradient has a corner")
        return SILENT
    return Failure(order, what)


def _wrong_vjp(t: Trial, inner: Trial, verdict: Verdict, order: str) -> Outcome:
    outside = None
    if kinks.bends(inner, verdict.error):
        outside = kinks.one_of_those_nearby(inner, inner.gs, inner.grads)
        if outside is None:
            return HOLDS
        if t.settings.kinks == "warn":
            t.settings.warned.append(outside)
            return SILENT
    what = "the vjp" if order == "second" else "the vjp of the vjp"
    shown = f"claimed {verdict.claimed:.10g}, numeric {verdict.claimed + verdict.error:.10g} +- {verdict.bound:.0e}"
    lines = [("along u", shown), *([("at a kink", outside)] if outside is not None else [])]
    return Failure(order, f"the derivative of {what} is wrong", lines)


def smooth(t: Trial) -> bool:
    """Whether the gradient is continuous here: gradients at small steps either way tend to that at the point."""
    sizes = []
    with np.errstate(all="ignore"):
        for _ in range(4):
            u = t.direction()
            for h in (1e-4, -1e-4):
                near = t.near([x + h * v for x, v in zip(t.active, u, strict=True)], t.gs)
                sizes.append(
                    max((float(np.abs(a - b).max()) for a, b in zip(near, t.grads, strict=True) if a.size), default=0.0)
                )
    return max(sizes) <= 0.02 * (largest_of(t.grads) + largest_of(t.gs))
