"""Points without a derivative: whether the function bends there, and whether the gradient is one of those nearby.

Every usual convention is accepted (the first of ties, ties that share, 0 or 1 at the corner of relu); a slope that no
neighbour has is not, nor the whole gradient for each of two ties.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.numeric import dot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.testing.trial import Trial

_H = 1e-4
_FEW, _MANY = 24, 240


def bends(t: Trial, error: float) -> bool:
    """Whether f itself bends here: a mixed second difference that falls like the step, not like its square."""
    with np.errstate(all="ignore"):
        here = t.ys_before
        for k in range(2 if t.settings.shrinking else 5):
            a, b = t.direction(), t.direction()
            if k % 2:  # back by about as much: two random moves that go the same way do not see a corner
                b = [
                    -u * (0.7 + 0.3 * np.abs(v) / (np.abs(v).max(initial=0.0) or 1.0))
                    for u, v in zip(a, b, strict=True)
                ]
            wide = abs(_mixed(t, here, a, b, _H))
            if wide > 0.02 * abs(error) * _H and abs(_mixed(t, here, a, b, _H / 16)) > wide / 64:
                return True
    return False


def jumps(t: Trial) -> bool:
    """Whether f itself jumps here, or has a pole as log does at zero: a difference that does not fall with the step."""
    with np.errstate(all="ignore"):
        directions = (False,) if t.settings.shrinking else (False, True)
        return any(_jumps(t, t.direction(relative=relative)) for relative in directions)


def _jumps(t: Trial, u: list[Any]) -> bool:
    sizes = []
    for h in (1e-3, 1e-6, 1e-9):
        above = t.moved([x + h * v for x, v in zip(t.active, u, strict=True)])
        below = t.moved([x - h * v for x, v in zip(t.active, u, strict=True)])
        if not [y.shape for y in above] == [y.shape for y in below] == [y.shape for y in t.ys_before]:
            return True
        apart = [np.abs(y - z).max(initial=0.0) for ys in (above, below) for y, z in zip(ys, t.ys_before, strict=True)]
        sizes.append(float(max(apart, default=0.0)))
        if len(sizes) == 2 and not stays(sizes[0], sizes[1], sizes[1]):
            return False
    return bool(stays(*sizes)) and sizes[2] > 1e-9 * t.settings.usual


#: Moves, of an argument: some that double precision resolves, from and to, as smooth functions show at each of them; and
#: some, in no rhythm that steps could have too, over a distance on which what is rounded to single precision makes four
#: steps at most.
STILL = ((-3e-13, 3e-13), (2e-12, 2.6e-12), (-1e-14, 1e-14), (-6e-14, -4e-14))
ALONG = 1.2e-7 * np.sort(2 * (0.6180339887 * np.arange(49) % 1) - 1)
STEPS = 10  # of values: more than two roundings have
ROUNDED = 1e-13  # of the value: less than that is no step
_TRIED = 8  # entries


def narrow_stairs(t: Trial) -> bool:
    """Whether values are steps, too narrow for rounding to single precision inside, wherever they change at all.

    So are those of ``round(x, 3)`` at 600,000, which look smooth at every step that shows what single precision rounds.
    """
    with np.errstate(all="ignore"):
        if not any(_flat(t, move) for move in STILL):
            return False
        found = [steps_of(_values_along(t, k, at)).max(initial=0) for k, at in _entries(t)]
        return all(n == 0 or n >= STEPS - 1 for n in found) and any(found)


def _flat(t: Trial, move: Sequence[float]) -> bool:
    """Whether values are the same at both ends of a move."""
    return all(map(np.array_equal, *(t.moved([x * (1 + h) for x in t.active]) for h in move)))


def steps_of(values: Any) -> Any:
    """How often values change, by more than rounding, from one row to the next."""
    return (np.abs(np.diff(values, axis=0)) > ROUNDED * np.abs(values[0])).sum(axis=0)


def _entries(t: Trial) -> Iterator[tuple[int, tuple[int, ...]]]:
    every = ((k, at) for k, x in enumerate(t.active) for at in np.ndindex(x.shape) if x[at] != 0)
    return itertools.islice(every, _TRIED)


def _values_along(t: Trial, k: int, at: tuple[int, ...]) -> Any:
    """The outputs while one entry is moved by less than single precision resolves."""
    seen = []
    for h in ALONG:
        x = t.active[k].copy()
        x[at] *= 1 + h
        ys = t.moved([x if j == k else a for j, a in enumerate(t.active)])
        seen.append(np.concatenate([y.reshape(-1) for y in ys]))
    return np.array(seen)


def stays(wide: Any, narrow: Any, finest: Any) -> Any:
    """Whether differences at steps 1e-3, 1e-6, 1e-9 do not fall with them."""
    return (finest > 0) & (finest > 0.3 * narrow) & (narrow > 0.1 * wide)


def _mixed(t: Trial, here: list[Any], a: list[Any], b: list[Any], h: float) -> float:
    def at(p: float, q: float) -> list[Any]:
        return t.moved([x + p * u + q * v for x, u, v in zip(t.active, a, b, strict=True)])

    both, first, second = at(h, h), at(h, 0), at(0, h)
    if not [y.shape for y in both] == [y.shape for y in first] == [y.shape for y in here]:
        return 0.0
    rest = [w - x - y + z for w, x, y, z in zip(both, first, second, here, strict=True)]
    found = dot(t.gs, rest)
    return found if np.isfinite(found) else 0.0


def one_of_those_nearby(t: Trial, gs: list[Any], grads: list[Any]) -> str | None:
    """None if the gradient lies in the hull of gradients nearby, and else what is wrong with it."""
    here = joined(grads)
    if not np.isfinite(here).all():
        return "the gradient is not finite at a kink"
    found = None
    with np.errstate(all="ignore"):
        rows: list[Any] = []
        for count in dict.fromkeys((_FEW, min(_MANY, _FEW * max(here.size, 1)))):  # few numbers have a small hull
            rows += _neighbours(t, gs, count - len(rows))
            if not rows:
                return None
            found = _outside(here, np.array(rows), t.rng)
            if found is None:
                return None
    return found


def joined(grads: list[Any]) -> Any:
    """Gradients as one real vector."""
    parts: list[Any] = []
    for c in grads:
        flat = np.asarray(c).reshape(-1)
        parts += [flat.real, flat.imag] if flat.dtype.kind == "c" else [flat.astype(np.float64)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _neighbours(t: Trial, gs: list[Any], count: int) -> list[Any]:
    rows = []
    for k in range(count):
        h = (1e-3, 1e-4, 1e-5, 1e-3, 1e-6)[k % 5]
        moves = t.direction()
        if k in (0, 1):  # where the gradient points to, and back: the end of a ball of gradients is met in no other way
            moves = _along(t, moves, back=k == 1)
        elif k in (6, 7):  # the order that a stable sort takes ties in, and its reverse
            moves = [np.abs(u) * _rising(u, k == 7) for u in moves]
        elif k % 4 == 3:  # one leaf stands still
            still = k // 4 % len(moves)
            moves = [0.01 * u if i == still else u for i, u in enumerate(moves)]
        row = joined(t.near([x + h * u for x, u in zip(t.active, moves, strict=True)], gs))
        if np.isfinite(row).all():
            rows.append(row)
    return rows


def _along(t: Trial, moves: list[Any], *, back: bool) -> list[Any]:
    """Moves of the same size in the direction of the gradient, nearly: ties do not stay ties."""
    steepest = max((float(np.abs(c).max(initial=0.0)) for c in t.grads), default=0.0)
    if not steepest or [c.shape for c in t.grads] != [u.shape for u in moves]:
        return moves
    size = max(float(np.abs(u).max(initial=0.0)) for u in moves) / steepest
    if back:
        size = -size
    return [np.asarray(size * c + 0.003 * u, u.dtype) for c, u in zip(t.grads, moves, strict=True)]


def _rising(u: Any, back: bool) -> Any:
    ramp = np.arange(1.0, u.size + 1).reshape(u.shape) / max(u.size, 1)
    return -ramp if back else ramp


def _outside(here: Any, rows: Any, rng: np.random.Generator) -> str | None:
    size = np.abs(rows).max(initial=0.0)
    allowed = 3e-3 * size + 1e-9
    low, high = rows.min(axis=0), rows.max(axis=0)
    beyond = np.maximum(low - here, here - high)
    if beyond.max(initial=0.0) > allowed:
        i = int(beyond.argmax())
        return f"entry {i} is {here[i]:.6g}, nearby it lies between {low[i]:.6g} and {high[i]:.6g}"
    varying = np.flatnonzero(high - low > allowed)
    for p in _directions(varying, here.size, here, rows, rng):
        reach = rows @ p
        value = float(here @ p)
        if value > reach.max() + allowed * np.abs(p).sum():
            shown = " + ".join(f"{w:.3g} of entry {i}" for i, w in enumerate(p) if w)
            return f"{shown} is {value:.6g}, nearby it is at most {reach.max():.6g}"
    return None


def _directions(varying: Any, n: int, here: Any, rows: Any, rng: np.random.Generator) -> list[Any]:
    """Directions in which hulls are compared: pairs of entries, all varying ones if few, and the line to the middle."""
    made = []
    pairs = list(itertools.combinations(varying[:12], 2))
    if len(pairs) > 20:
        pairs = [pairs[i] for i in rng.permutation(len(pairs))[:20]]
    for i, j in pairs:
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1), (2, 1), (1, 2), (-2, -1), (-1, -2)):
            p = np.zeros(n)
            p[i], p[j] = a, b
            made.append(p)
    if 2 < len(varying) <= 4:
        for signs in itertools.product((-1, 0, 1), repeat=len(varying)):
            p = np.zeros(n)
            p[varying] = signs
            made.append(p)
    p = np.zeros(n)
    p[varying] = 1
    if len(varying) > 4:
        return [*made, p, -p]
    off = np.zeros(n)
    off[varying] = (here - rows.mean(axis=0))[varying]
    norm = np.abs(off).sum()
    return [*made, p, -p, *([off / norm] if norm else [])]
