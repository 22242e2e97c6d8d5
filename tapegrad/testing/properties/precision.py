"""Lower precision: gradients of the same dtype as their arguments, near those in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import eps_in
from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.systems.base import is_float
from tapegrad.testing.trial import filled
from tapegrad.testing.words import dtype_named

if TYPE_CHECKING:
    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial

#: By the character of the dtype; `halves` of the system come to those of double precision.
_LOWER = {"d": ("float32", "float32"), "D": ("complex64",)}


def precision(t: Trial) -> Outcome:
    """In single precision (and half, where the function stays in it) the gradient has that dtype, and nearly that value."""
    kinds = {x.dtype.char for x in t.active}
    if len(kinds) != 1 or not t.ys:
        return SILENT
    wide = t.widened()
    if wide is not None:  # arguments that are in lower precision already
        kept = wide.finite and all(c.dtype == x.dtype for c, x in zip(wide.grads, wide.active, strict=True))
        return near_in(wide, t.active[0].dtype) if kept else SILENT
    choices = _LOWER.get(next(iter(kinds)), ())
    if not choices or not t.point.tame or "precisions" not in t.system.shows:
        return SILENT
    if kinds == {"d"}:
        choices = (*choices, *t.system.halves)
    return near_in(t, dtype_named(choices[t.point.seed // 2 % len(choices)]))


def near_in(t: Trial, dtype: Any) -> Outcome:
    """In a lower precision the gradient has that dtype, and nearly the value that it has here."""
    real = np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype
    xs = [_cast(x, dtype, real) if type(x) is np.ndarray and is_float(x) else x for x in t.kept]
    with np.errstate(all="ignore"):
        try:
            ys, pull = t.system.run(xs)
        except Exception:  # the function does not take this dtype, which is not its vjp's fault
            return SILENT
        if any(y.dtype != (dtype if y.dtype.kind == "c" else real) for y in ys):
            return SILENT  # it computes in double precision, or mixes
        if [y.shape for y in ys] != [y.shape for y in t.ys] or not all(np.isfinite(y).all() for y in ys):
            return SILENT
        gs = [g.astype(y.dtype) for g, y in zip(t.gs, ys, strict=True)]
        active = [xs[i] for i in t.system.active]
        try:
            found = filled(pull(gs), active)
        except Exception as error:
            if dtype.itemsize > 2 or t.settings.dtypes == "fail":
                raise
            t.settings.noted.append(
                f"dtype, not counted as wrong: in {dtype} the vjp raises {type(error).__name__}: {error}"
            )
            return SILENT
    for i, c, x in zip(t.system.active, found, active, strict=True):
        if c.dtype != x.dtype and t.settings.dtypes == "warn" and np.can_cast(x.dtype, c.dtype, "safe"):
            name = t.settings.names[i]
            t.settings.noted.append(
                f"dtype, not counted as wrong: for {dtype} arguments the gradient of {name} is {c.dtype}; end with .astype(x.dtype)"
            )
        elif c.dtype != x.dtype and "dtypes" in t.system.shows:
            return Failure(
                "precision",
                f"for {dtype} arguments the gradient of {t.settings.names[i]} is {c.dtype}; end with .astype(x.dtype)",
            )
        if c.shape != x.shape:
            return Failure(
                "precision", f"for {dtype} arguments the gradient of {t.settings.names[i]} has the shape {c.shape}"
            )
    t.settings.compared += 1
    # Values are compared at every other input, once the first few are.
    needed = t.settings.compared <= 4 or t.point.seed % 2 == 0 or bool(t.settings.shrinking)
    return _near(t, dtype, xs, gs, found) if needed else HOLDS


def _cast(x: Any, dtype: Any, real: Any) -> Any:
    return x.astype(dtype if x.dtype.kind == "c" else real)


def _near(t: Trial, dtype: Any, xs: list[Any], gs: list[Any], found: list[Any]) -> Outcome:
    """Against the same numbers in double precision, by as much as these change if their last digits do."""
    eps = eps_in(dtype)
    exact = [x.astype(k.dtype) if type(x) is np.ndarray and is_float(x) else x for x, k in zip(xs, t.kept, strict=True)]
    wide = [g.astype(k.dtype) for g, k in zip(gs, t.gs, strict=True)]
    active = [exact[i] for i in t.system.active]
    with np.errstate(all="ignore"):
        reference = filled(t.system.run(exact)[1](wide), active)
    shaken: Any = None
    size = max(float(np.abs(g).max(initial=0.0)) for g in wide)
    # A gradient that is the rest of a cancellation, of a bias before softmax, is as exact as those beside it.
    size = max(size, *(float(np.abs(r).max(initial=0.0)) for r in reference))
    for k, (i, c, r) in enumerate(zip(t.system.active, found, reference, strict=True)):
        largest = float(np.abs(r).max(initial=0.0))
        if not largest < 1e3 or not r.size:
            continue
        if dtype.itemsize == 2 and not np.isfinite(c).all():
            continue  # numbers on the way are more than half precision can hold: 65504
        with np.errstate(all="ignore"):
            d = float(np.abs(c.astype(r.dtype) - r).max())
        allowed = min(300 * eps, 0.3) * (largest + 0.1 * size)
        if d <= allowed:
            continue
        if shaken is None:
            shaken = _shaken(t, exact, wide, reference, eps)
        if np.isfinite(shaken[k]) and not d <= allowed + 100 * shaken[k]:
            return Failure(
                "precision",
                f"in {dtype} the gradient of {t.settings.names[i]} is off by {d:.2g}, at a size of {largest:.2g}",
            )
    return HOLDS


def _shaken(t: Trial, exact: list[Any], wide: list[Any], reference: list[Any], eps: float) -> Any:
    """How much each gradient changes if the last digits of the arguments do."""
    active = [exact[i] for i in t.system.active]
    most = np.zeros(len(active))
    with np.errstate(all="ignore"):
        for _ in range(2):
            moved = [x + 2 * eps * t.noise(x) * (np.abs(x) + 0.1) for x in active]
            near = filled(t.system.run(t.system.replaced(exact, moved))[1](wide), active)
            changed = [np.max(np.abs(a - b), initial=0.0) for a, b in zip(near, reference, strict=True)]
            most = np.maximum(most, changed)
    return most
