"""Two ways to the same gradient: compiled, other kernels, some arguments only, accumulated, not differentiated at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import largest_of
from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.properties.derivative import eps_of
from tapegrad.testing.trial import filled, fresh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.systems.base import System
    from tapegrad.testing.trial import Trial

_EPS = float(np.finfo(np.float64).eps)


def apart(t: Trial, found: Sequence[Any], expected: Sequence[Any], gs: Sequence[Any]) -> str | None:
    """How two lists of gradients differ, by more than rounding; None if they do not."""
    worst = scale = 0.0
    for a, b in zip(found, expected, strict=True):
        if a.shape != b.shape:
            return f"of the shape {a.shape}, not {b.shape}"
        if a.size:
            d = float(np.abs(a - b).max())
            worst = d if not d <= worst else worst
            scale = max(scale, float(np.abs(b).max()))
    if worst == 0:
        return None
    rounding = 1e3 * _EPS * t.settings.gain * largest_of(gs)
    coarser = eps_of(t) / _EPS
    if worst <= coarser * (1e-9 * scale + rounding):
        return None
    nudged = [np.asarray(x * (1 + 1e-12 * coarser * t.noise(np.abs(x))), x.dtype) for x in t.active]
    shaken = [float(np.abs(a - b).max()) for a, b in zip(t.near(nudged, t.gs), t.grads, strict=True) if a.size]
    if worst <= 10 * max(shaken, default=0.0):  # rounding inside is as large
        return None
    return f"{worst:.2g} apart, at a size of {scale:.2g}"


def steady(t: Trial) -> bool:
    """Whether two ways of computing can be compared here: rounding is small, everything is finite, no corner is near."""
    return t.point.tame and not t.kinked and not t.empty and t.finite


def _elsewhere(t: Trial, other: System, what: str, property: str) -> Outcome:
    """The same value and gradient from another form of the function."""
    try:
        ys, pull = other.run(fresh(t.kept))
        found = filled(pull([g.copy() for g in t.gs]), t.active)
    except Exception as error:  # what the other form does not take, it says itself
        return Failure(property, f"{what}, it raises {type(error).__name__}: {error}")
    problem = apart(t, ys, t.ys_before, t.ys_before)
    if problem:
        return Failure(property, f"{what}, the value is another one: {problem}")
    problem = apart(t, found, t.grads, t.gs)
    return Failure(property, f"{what}, the gradient is another one: {problem}") if problem else HOLDS


def compiled(t: Trial) -> Outcome:
    """Compiled (`tapegrad.function`, `tf.function`, `jax.jit`), the function has the same value and gradient."""
    if not steady(t) or t.point.label not in _GENERIC:
        return SILENT
    other = t.settings.form("compiled", t.system.compiled)
    return SILENT if other is None else _elsewhere(t, other, "compiled", "compiled")


def kernels(t: Trial) -> Outcome:
    """On TensorFlow's kernels, a function of tapegrad has the same value and gradient."""
    if not steady(t) or t.point.label not in _GENERIC:
        return SILENT
    other = t.settings.form("kernels", t.system.on_other_kernels)
    return SILENT if other is None else _elsewhere(t, other, "on TensorFlow's kernels", "kernels")


#: Inputs at which ties, corners and zeros are not to be expected.
_GENERIC = frozenset(["usual", "positive", "negative", "the example"])


def subsets(t: Trial) -> Outcome:
    """The gradient for some of the arguments is part of that for all."""
    if len(t.active) < 2 or not t.system.selects or not steady(t):
        return SILENT
    n = len(t.active)
    kept = [k for k in range(n) if k != t.point.seed % n] if n > 2 and t.point.seed % 2 else [t.point.seed % n]
    narrow = t.system.narrowed([t.system.active[k] for k in kept])
    active = [t.active[k] for k in kept]
    names = ", ".join(t.settings.names[i] for i in narrow.active)
    found = filled(narrow.run(fresh(t.kept))[1]([g.copy() for g in t.gs]), active)
    problem = apart(t, found, [t.grads[k] for k in kept], t.gs)
    if problem:
        return Failure("subsets", f"the gradient for {names} alone is another one than beside the others: {problem}")
    return HOLDS


def constants(t: Trial) -> Outcome:
    """Not differentiated, the function has the same value; for what is not differentiated, the gradient is None or zero."""
    if not t.point.tame:
        return SILENT
    ys = t.system.value(fresh(t.kept))
    if [y.shape for y in ys] != [y.shape for y in t.ys_before]:
        return Failure("constants", f"not differentiated, its outputs have the shapes {[y.shape for y in ys]}")
    tolerance = max(t.settings.nondeterministic, 1e3 * eps_of(t))
    for a, b in zip(ys, t.ys_before, strict=True):
        if a.size and not float(np.abs(a - b).max()) <= tolerance * (float(np.abs(b).max()) + t.settings.usual):
            return Failure("constants", f"not differentiated, the value is {float(np.abs(a - b).max()):.2g} off")
    for i, c in t.system.for_constants(fresh(t.kept), [g.copy() for g in t.gs]):
        if c is not None and np.asarray(c).dtype.kind in "fciub" and (np.asarray(c) != 0).any():
            return Failure(
                "constants",
                f"{t.settings.names[i]} is not differentiated, and its gradient is neither None nor zero",
            )
    return HOLDS


def accumulate(t: Trial) -> Outcome:
    """Added up over two backward passes, the gradient is twice as large; adding to one in place changes no later one."""
    if not steady(t):
        return SILENT
    gs = [np.ones_like(y) for y in t.ys_before] if t.point.gs is None else t.gs
    single = t.pulled(gs)
    twice = t.system.accumulated(fresh(t.kept), [g.copy() for g in gs])
    if twice is None or not all(np.isfinite(c).all() for c in single):
        return SILENT
    total, after = twice
    problem = apart(t, filled(total, t.active), [2 * c for c in single], gs)
    if problem:
        return Failure("accumulate", f"two backward passes do not add up to twice the gradient: {problem}")
    problem = apart(t, filled(after, t.active), single, gs)
    if problem:
        return Failure("accumulate", f"adding to a gradient in place changes what the next call gives: {problem}")
    return HOLDS
