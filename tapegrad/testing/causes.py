"""Likely causes in words: what simple change would turn the gradient into the derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import OK, compare
from tapegrad.testing.outcome import brief

if TYPE_CHECKING:
    from tapegrad.testing.trial import Trial

_MOST = 80  # entries; each costs about ten evaluations


def numeric_gradient(t: Trial) -> list[Any] | None:
    """The gradient by differences, entry by entry; None where one of them does not converge, or there are too many."""
    if sum(x.size for x in t.active) > _MOST or any(x.dtype.kind == "c" for x in t.active):
        return None
    made = []
    zeros = [np.zeros_like(x) for x in t.active]
    for k, x in enumerate(t.active):
        c = np.zeros(x.shape)
        size = t.direction()[k]
        for at in np.ndindex(x.shape):
            u = [z.copy() for z in zeros]
            step = 0.05 * max(abs(float(x[at])), 0.08)
            u[k][at] = step if size[at] else 0.0
            if not size[at]:
                continue
            verdict = compare(t.moved, t.active, u, t.gs, zeros, usual=t.settings.usual, finite=True)
            if verdict.bound > 1e-4 * max(abs(verdict.error), 1e-6 * step):
                verdict = compare(
                    t.moved, t.active, [0.1 * v for v in u], t.gs, zeros, usual=t.settings.usual, finite=True
                )
                c[at] = 10 * verdict.error / step
            else:
                c[at] = verdict.error / step
            if not np.isfinite(c[at]):
                return None
        made.append(c)
    return made


def cause(t: Trial, numeric: list[Any]) -> str | None:
    """What the gradient is of the numeric one, if it is something simple."""
    names = [t.settings.names[i] for i in t.system.active]
    told = []
    wrong = [k for k, (c, d) in enumerate(zip(t.grads, numeric, strict=True)) if not _close(c, d)]
    if len(wrong) == 2 and len(names) == 2 and _close(t.grads[0], numeric[1]) and _close(t.grads[1], numeric[0]):
        return f"the gradients of {names[0]} and {names[1]} are exchanged"
    for k in wrong:
        found = _of_one(t.grads[k], numeric[k], t.gs)
        if found is not None:
            told.append(f"the gradient of {names[k]} {found}")
        elif any(_close(t.grads[k], numeric[j]) for j in range(len(names)) if j != k):
            j = next(j for j in range(len(names)) if j != k and _close(t.grads[k], numeric[j]))
            told.append(f"the gradient of {names[k]} is that of {names[j]}")
    if wrong and len(wrong) < len(names) and not told:
        told.append(f"only the gradient of {', '.join(names[k] for k in wrong)} is wrong")
    return "; ".join(told) or None


def _of_one(c: Any, d: Any, gs: list[Any]) -> str | None:
    """What one gradient `c` is, where the numeric one is `d`."""
    if c.shape != d.shape:
        return None
    if not np.any(c):
        return "is zero"
    if _close(c, -d):
        return "has the wrong sign"
    return _a_factor(c, d) or _another_order(c, d) or _of_the_cotangent(c, d, gs) or _some_entries(c, d)


def _a_factor(c: Any, d: Any) -> str | None:
    there = np.abs(d) > 1e-6 * max(np.abs(d).max(initial=0.0), 1e-300)
    if there.sum() < 2:
        return None
    k = float(np.median(c[there] / d[there]))
    if abs(k - 1) > 1e-6 and abs(k) < 1e6 and _close(c, k * d):
        return f"is {_number(k)} times the derivative"
    return None


def _another_order(c: Any, d: Any) -> str | None:
    if c.ndim >= 2 and c.shape[-1] == c.shape[-2] and _close(np.swapaxes(c, -1, -2), d):
        return "is transposed"
    for axis, n in enumerate(c.shape):
        if n < 2:
            continue
        if c.ndim >= 2 and _close(np.broadcast_to(c.sum(axis, keepdims=True), c.shape), d):
            return f"lacks a sum over axis {axis}"
        if _close(np.flip(c, axis), d):
            return f"is in reverse order along axis {axis}"
        if _close(np.roll(c, 1, axis), d) or _close(np.roll(c, -1, axis), d):
            return f"is shifted along axis {axis}"
    return None


def _of_the_cotangent(c: Any, d: Any, gs: list[Any]) -> str | None:
    for g in gs:
        if g.shape == c.shape and g.dtype == c.dtype and c.size > 1:
            if _close(c * g, d):
                return "lacks the cotangent as a factor"
            if _close(c, g):
                return "is the cotangent as it came"
    return None


def _some_entries(c: Any, d: Any) -> str | None:
    difference = c - d
    off = np.abs(difference) > 1e-6 * max(np.abs(d).max(initial=0.0), np.abs(c).max(initial=0.0))
    if c.size > 2 and off.sum() == 1:
        at = tuple(int(i) for i in np.argwhere(off)[0])
        return f"is wrong at {list(at)} only: {c[at]:.6g}, not {d[at]:.6g}"
    if c.size > 1 and off.all() and np.ptp(difference) <= 1e-5 * np.abs(difference).max():
        return f"is {difference.flat[0]:+.4g} off in each entry"
    return None


def _number(k: float) -> str:
    if abs(k) > 1e-3 and abs(1 / k - round(1 / k)) < 1e-6 and abs(round(1 / k)) > 1:
        return f"1/{round(1 / k)}" if k > 0 else f"-1/{-round(1 / k)}"
    return f"{k:.6g}"


def _close(a: Any, b: Any) -> bool:
    if np.shape(a) != np.shape(b):
        return False
    scale = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return bool(np.isfinite(scale) and (np.abs(a - b) <= 1e-6 * scale).all())


def lines_of(t: Trial) -> list[tuple[str, str]]:
    """What a report shows of gradients, and the likely cause."""
    lines = []
    numeric = numeric_gradient(t)
    several = len(t.active) > 1
    for k, i in enumerate(t.system.active):
        name = f" {t.settings.names[i]}" if several else ""
        if numeric is not None and several and _close(t.grads[k], numeric[k]):
            continue
        lines.append((f"vjp{name}", brief(t.grads[k])))
        if numeric is not None:
            lines.append(
                (
                    f"numeric{name}",
                    brief(np.round(numeric[k], 9) if np.abs(numeric[k]).max(initial=0.0) > 1e-3 else numeric[k]),
                )
            )
    if numeric is not None:
        found = cause(t, numeric)
        if found is not None:
            lines.append(("cause", found))
    return lines


__all__ = ["OK", "cause", "lines_of", "numeric_gradient"]
