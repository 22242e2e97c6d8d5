"""Likely causes in words: what simple change would turn the gradient into the derivative."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import compare, dot
from tapegrad.testing.trial import filled, fresh

if TYPE_CHECKING:
    from tapegrad.testing.trial import Trial

_MOST = 80  # entries; each costs about ten evaluations
_MOST_COMPILED = 20  # where an evaluation takes milliseconds


def numeric_gradient(t: Trial) -> list[Any] | None:
    """The gradient by differences, entry by entry; None where one of them does not converge, or there are too many."""
    if sum(x.size * (2 if x.dtype.kind == "c" else 1) for x in t.active) > (
        _MOST_COMPILED if t.system.compiles else _MOST
    ):
        return None
    made = []
    for k, x in enumerate(t.active):
        c = np.zeros(x.shape, x.dtype if x.dtype.kind == "c" else np.float64)
        moves = t.direction()[k]
        for at in np.ndindex(x.shape):
            for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                slope = _slope(t, k, at, unit) if moves[at] else 0.0
                if not np.isfinite(slope):
                    return None
                c[at] += unit * slope
        made.append(c)
    return made


def _slope(t: Trial, k: int, at: tuple[int, ...], unit: complex) -> float:
    """Along one entry, or its imaginary part."""
    step = 0.05 * max(abs(complex(t.active[k][at])), 0.08)
    found = [_difference(t, k, at, h * step * unit) / (2 * h) for h in (4.0**-2, 4.0**-3, 4.0**-4)]
    wide, near = (16 * found[1] - found[0]) / 15, (16 * found[2] - found[1]) / 15
    if not t.settings.single and abs(near - wide) <= 1e-7 * abs(near):  # in six evaluations, not in 24
        return near / step
    zeros = [np.zeros_like(x) for x in t.active]
    known: Any = {"usual": t.settings.usual, "finite": True, "single": bool(t.settings.single)}
    u = [z.copy() for z in zeros]
    u[k][at] = step * unit
    verdict = compare(t.moved, t.active, u, t.gs, zeros, **known)
    if verdict.bound <= 1e-4 * max(abs(verdict.error), 1e-6 * step):
        return verdict.error / step
    u[k][at] = 0.1 * step * unit
    return compare(
        t.moved, t.active, u, t.gs, zeros, usual=t.settings.usual, finite=True, single=bool(t.settings.single)
    ).error / (0.1 * step)


def _difference(t: Trial, k: int, at: tuple[int, ...], move: complex) -> float:
    """Between the values at one entry moved either way."""
    ends = []
    for sign in (1, -1):
        x = t.active[k].copy()
        x[at] += sign * move
        ends.append(t.moved([x if j == k else a for j, a in enumerate(t.active)]))
    return dot(t.gs, [y - z for y, z in zip(*ends, strict=True)])


def order_of_arguments(t: Trial, numeric: list[Any]) -> str | None:
    """Whether the vjp is right if it is called with its arguments in another order."""
    if len(t.gs) != 1 or not any(map(np.any, numeric)):
        return None
    for order, found in t.system.in_other_orders(fresh(t.kept), t.gs[0].copy()):
        if all(map(_close, filled(found, t.active), numeric)):
            names = ", ".join(t.settings.names)
            if order == "xs":
                return f"the vjp takes ({names}) and gives the derivative alone; write vjp=lambda g, {names}: g * ..."
            taken = ", ".join(names if part == "xs" else part for part in order.split(", "))
            return f"the vjp takes ({taken}); it is called with ({'g, y' if 'y' in order else 'g'}, {names})"
    return None


def cause(t: Trial, numeric: list[Any]) -> str | None:
    """What the gradient is of the numeric one, if it is something simple, and so for all inputs."""
    names = [t.settings.names[i] for i in t.system.active]
    told = []
    wrong = wrong_ones(t, numeric)
    if len(wrong) == 2 and len(names) == 2 and _close(t.grads[0], numeric[1]) and _close(t.grads[1], numeric[0]):
        return f"the gradients of {names[0]} and {names[1]} are exchanged"
    for k in wrong:
        found = _of_one(t, k, numeric[k])
        if found is not None:
            told.append(f"the gradient of {names[k]} {found}")
        elif any(_close(t.grads[k], numeric[j]) for j in range(len(names)) if j != k):
            j = next(j for j in range(len(names)) if j != k and _close(t.grads[k], numeric[j]))
            told.append(f"the gradient of {names[k]} is that of {names[j]}")
    if wrong and len(wrong) < len(names) and not told:
        told.append(f"only the gradient of {', '.join(names[k] for k in wrong)} is wrong")
    return "; ".join(told) or None


def cause_here(t: Trial, numeric: list[Any]) -> str | None:
    """What is wrong at this input, where nothing simple is wrong everywhere."""
    told = []
    for k in wrong_ones(t, numeric):
        c, d = t.grads[k], numeric[k]
        found = "is zero here" if not np.any(c) else "has the wrong sign here" if _close(c, -d) else _some_entries(c, d)
        if found is not None and c.shape == d.shape:
            told.append(f"the gradient of {t.settings.names[t.system.active[k]]} {found}")
    return "; ".join(told) or None


def wrong_ones(t: Trial, numeric: list[Any]) -> list[int]:
    """Which gradients are not the numeric ones."""
    return [k for k, (c, d) in enumerate(zip(t.grads, numeric, strict=True)) if not _close(c, d)]


def _of_one(t: Trial, k: int, d: Any) -> str | None:
    """What one gradient is, where the numeric one is `d`."""
    c = t.grads[k]
    if c.shape != d.shape:
        return None
    if not np.any(c):
        return "is zero"
    if _close(c, -d):
        return "has the wrong sign"
    return _part(t, k, d) or _a_factor(t, c, d) or _another_order(c, d) or _of_the_cotangent(c, d, t.gs)


def _part(t: Trial, k: int, d: Any) -> str | None:
    """What has become of a complex number."""
    c = t.grads[k]
    if not any(np.iscomplexobj(a) for a in (d, *t.gs)):
        return None
    mirrored = filled(t.pull([np.conj(g) for g in t.gs]), t.active)[k]
    if _close(np.conj(mirrored), d) and not _close(np.conj(mirrored), c):
        return "has a factor where its conjugate belongs: vjp is g times the conjugate of the derivative"
    if d.dtype.kind != "c":
        return None
    if _close(np.conj(c), d):
        return "is the conjugate of the derivative"
    if _close(-np.conj(c), d):
        return "is the conjugate of the derivative, with the wrong sign"
    if _close(c, d.real):
        return "is the real part of the derivative"
    for unit, name in ((1j, "i"), (-1j, "-i")):
        if _close(c, unit * d):
            return f"is {name} times the derivative"
    return None


def _a_factor(t: Trial, c: Any, d: Any) -> str | None:
    there = np.abs(d) > 1e-6 * max(np.abs(d).max(initial=0.0), 1e-300)
    if there.sum() < 2:
        return None
    ratio = c[there] / d[there]
    k = float(np.median(ratio.real))
    if abs(k - 1) > 1e-6 and abs(k) < 1e6 and _close(c, k * d):
        lengths = {n for x in (*t.active, *t.ys) for n in x.shape if n > 2}
        return f"is {_number(k)} times the derivative{_lengths(k, lengths)}"
    return None


def _lengths(k: float, lengths: set[int]) -> str:
    """Which lengths of axes a factor is made of."""
    if abs(k - 2) < 1e-6 or abs(k - 0.5) < 1e-6:
        return ""
    for m, n in itertools.permutations(sorted(lengths), 2):
        if abs(k - m / n) <= 1e-6 * k:
            return f": {m}/{n}, the lengths of two axes"
    for n in sorted(lengths):
        for told, value in (
            (f"{n}", n),
            (f"1/{n}", 1 / n),
            (f"{n - 1}/{n}", (n - 1) / n),
            (f"{n}/{n - 1}", n / (n - 1)),
        ):
            if abs(k - value) <= 1e-6 * value:
                return f": {told}, where an axis has the length {n}"
    return ""


def _another_order(c: Any, d: Any) -> str | None:
    if c.ndim >= 2 and c.shape[-1] == c.shape[-2] and _close(np.swapaxes(c, -1, -2), d):
        return "is transposed"
    for axis, n in enumerate(c.shape):
        if n < 2:
            continue
        if c.ndim >= 2 and _close(np.broadcast_to(c.sum(axis, keepdims=True), c.shape), d):
            return f"lacks a sum over axis {axis}"
        if c.ndim >= 2 and _close(np.broadcast_to(d.mean(axis, keepdims=True), d.shape), c):
            return f"is averaged over axis {axis}"
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
    if c.shape != d.shape:
        return None
    difference = c - d
    off = np.abs(difference) > 1e-6 * max(np.abs(d).max(initial=0.0), np.abs(c).max(initial=0.0))
    if c.size > 2 and off.sum() == 1:
        at = tuple(int(i) for i in np.argwhere(off)[0])
        return f"is wrong at {list(at)} only: {c[at]:.6g}, not {d[at]:.6g}"
    if c.size > 1 and off.all() and np.abs(difference - difference.flat[0]).max() <= 1e-5 * np.abs(difference).max():
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
