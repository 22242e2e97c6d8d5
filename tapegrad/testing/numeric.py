"""Whether a claimed derivative is the derivative, found from values alone.

It is the *discrepancy* between difference and claim that is extrapolated to step 0, so that a right claim tends to 0
and the rounding of the step cancels; the finest step that still decides has to agree with the best one.  An answer
that is not certain is `UNRESOLVED`, never a pass.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Values = Callable[[Sequence[Any]], Sequence[Any]]

LEVELS = 12
QUICK = (3, 4)  # of steps 4**-k: enough for a smooth function with a right derivative
FINER = (1e-3, 1e-6)  # times the usual steps: tried before a claim is called wrong
_PLAIN = (6, 8)  # and these, where it is known already that a claim is wrong, and asked whether it is here as well
SINGLE = float(np.finfo(np.float32).eps)
OK, WRONG, UNRESOLVED = "ok", "wrong", "unresolved"


@final
class Verdict:
    """`state`; `error`: the discrepancy along the direction; `bound`: how sure that is; `scale`: 100 %."""

    __slots__ = ("bound", "claimed", "error", "scale", "state")

    def __init__(self, state: str, error: float, bound: float, scale: float, claimed: float) -> None:
        self.state = state
        self.error = error
        self.bound = bound
        self.scale = scale
        self.claimed = claimed

    def __str__(self) -> str:
        return (
            f"claimed {self.claimed:.10g}, numeric {self.claimed + self.error:.10g} +- {self.bound:.1e} "
            f"({self.state}; {abs(self.error) / (self.scale or 1):.1e} of the scale)"
        )


def dot(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The real inner product of lists of arrays: Re(conj(a) b), summed in double precision."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += float(np.vdot(_wide(x), _wide(y)).real)
    return total


def size_of(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The sum of all products' absolute values: what rounding of `dot` is relative to."""
    return float(sum(np.vdot(np.abs(_wide(x)), np.abs(_wide(y))) for x, y in zip(a, b, strict=True)))


def largest_of(xs: Sequence[Any]) -> float:
    """The largest absolute value in a list of arrays, 0 if there is none."""
    return max((float(np.abs(_wide(x)).max()) for x in xs if x.size), default=0.0)


def _wide(x: Any) -> Any:
    return x if x.dtype.char in "dD" else x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@final
class _Line:
    """The function along one direction, projected on a cotangent."""

    def __init__(
        self,
        f: Values,
        xs: Sequence[Any],
        us: Sequence[Any],
        gs: Sequence[Any],
        grads: Sequence[Any],
        usual: float | None,
        gain: float,
        single: bool,
    ) -> None:
        self.f, self.xs, self.us, self.gs, self.grads = f, xs, us, gs, grads
        self.usual = usual
        self.least = SINGLE if single else 0.0
        self.claimed = dot(grads, us)
        size = largest = longest = length = eps = 0.0
        for c, u in zip(grads, us, strict=True):
            if c.size:
                a, b = np.abs(_wide(c)), np.abs(_wide(u))
                size += float(np.vdot(a, b))
                largest, longest = max(largest, float(a.max())), max(longest, float(b.max()))
                length += float(b.sum())
                eps = max(eps, eps_in(c.dtype))
        self.size = size
        #: Sizes of the cotangents, and their sums.
        self.weights = [np.abs(g) for g in gs]
        self.sums = [float(w.sum()) for w in self.weights]
        #: What a gradient of the usual size would give along the direction.
        self.expected = gain * max((float(w.max()) for w in self.weights if w.size), default=0.0) * length
        # Of the claim: a small element beside large ones may be the rest of a cancellation.
        self.rounding = eps * (size + 100 * largest * longest + 10 * self.expected)
        self.slopes: list[float] = []  # as differences have them
        self.roundings: list[float] = []  # of each output, relative; as the first step shows them
        self.quantum = 0.0  # what the rounding of double precision to single does to the arguments of a function inside
        self.seen: dict[int, tuple[float, float, float]] = {}

    def at(self, k: int, *, noisy: bool = True) -> tuple[float, float, float]:
        """Discrepancy, its noise (unless nobody asks for it), and the slope at step 4**-k."""
        found = self.seen.get(k)
        if found is not None and (not noisy or found[1] == found[1]):
            return found
        again = found is not None
        h = 4.0**-k
        up: list[Any] = []
        down: list[Any] = []
        step = 0.0
        for x, u, c in zip(self.xs, self.us, self.grads, strict=True):
            move = h * u
            a, b = x + move, x - move
            up.append(a)
            down.append(b)
            step += float(np.vdot(_wide(c), a - b).real)
        above, below = self.f(up), self.f(down)
        difference = noise = 0.0
        if noisy and not self.roundings:
            self.roundings = [max(rounding_of(y), self.least) for y in above]
            coarse = max(self.roundings, default=0.0)
            self.quantum = sum(
                coarse * float(np.vdot(np.abs(_wide(c)), np.abs(x)))
                for c, x in zip(self.grads, self.xs, strict=True)
                if coarse > eps_in(x.dtype)
            )
        for j, (g, y, z, weights, total) in enumerate(zip(self.gs, above, below, self.weights, self.sums, strict=True)):
            if y.size:
                w = _wide(y)
                difference += float(np.vdot(g, w - _wide(z)).real)
                if noisy:
                    size = np.abs(w)
                    least = min(1.0, float(size.max())) if self.usual is None else self.usual
                    noise += self.roundings[j] * (float(np.vdot(weights, size)) + least * total)
        noise += self.quantum
        slope = abs(difference) / (2 * h)
        if not again and math.isfinite(slope):
            self.slopes.append(slope)
        self.seen[k] = found = (difference - step) / (2 * h), noise / h if noisy else math.nan, slope
        return found

    @property
    def moved(self) -> float:
        """The slope that most steps see at least: at the finest ones noise looks like a large one."""
        return sorted(self.slopes)[len(self.slopes) // 4] if self.slopes else 0.0

    @property
    def scale(self) -> float:
        return self.size + self.moved


@cache
def eps_in(dtype: Any) -> float:
    """The rounding of numbers of a dtype, relative; 0 where nothing is rounded."""
    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    if dtype.kind == "V":
        import ml_dtypes

        eps: Any = ml_dtypes.finfo(dtype).eps  # type: ignore[no-untyped-call]
        return float(eps)
    return 0.0


def rounding_of(y: Any) -> float:
    """The rounding of values: of single precision where all are numbers of it, and not whole ones, whatever their dtype."""
    eps = eps_in(y.dtype)
    if eps < SINGLE and y.size and bool((y == y.astype(np.complex64 if y.dtype.kind == "c" else np.float32)).all()):
        return eps if bool((y == np.round(y)).all()) else SINGLE
    return eps


def stairs(errors: Any, slopes: Any, scale: Any, claimed: Any) -> Any:
    """Whether values stand still at the finest steps, and a claim is about right at longer ones: precision is lost inside."""
    flat = (slopes[-3:] == 0).all(axis=0)
    return flat & ((np.abs(errors) <= 0.03 * scale).sum(axis=0) >= 2) & (claimed != 0)


def compare(
    f: Values,
    xs: Sequence[Any],
    us: Sequence[Any],
    gs: Sequence[Any],
    grads: Sequence[Any],
    *,
    usual: float | None = None,
    gain: float = 0.0,
    finite: bool = False,
    hurried: bool = False,
    single: bool = False,
) -> Verdict:
    """Whether <grads, us> is the derivative of <gs, f(xs)> along `us`; the steps are us, us/4, ... both ways.

    * `usual`: the largest output seen of this function, at most 1: rounding inside is relative to it; that at `xs`, if
      not given.
    * `gain`: the largest gradient seen for a cotangent of 1, if that is less than 1: likewise.
    * `finite`: whether the values at `xs` are known to be finite.
    * `single`: whether the function is known to compute in single precision, whatever the dtype of its values.
    * `hurried`: call a claim wrong after four steps in the place of twelve, if these agree about how wrong it is.
    """
    with np.errstate(all="ignore"):
        line = _Line(f, xs, us, [_wide(g) for g in gs], grads, usual, gain, single)
        if not math.isfinite(line.claimed):
            finite = finite or all(np.isfinite(_wide(y)).all() for y in f(xs))
            return Verdict(WRONG if finite else UNRESOLVED, np.nan, 0.0, 0.0, line.claimed)
        coarse, fine = line.at(QUICK[0], noisy=False), line.at(QUICK[1])
        error, bound = (16 * fine[0] - coarse[0]) / 15, 2 * fine[1] + line.rounding
        if abs(error) <= 1e-8 * line.scale + 10 * bound and (bound <= 1e-4 * line.scale or error == 0):
            return Verdict(OK, error, bound, line.scale, line.claimed)
        return (_plainly_wrong(line, error) if hurried else None) or _ladder(line)


def _plainly_wrong(line: _Line, error: float) -> Verdict | None:
    bound = line.rounding
    for k in _PLAIN:
        found, noise, _ = line.at(k)
        bound = max(bound, abs(found - error) + noise)
        if not bound <= 0.01 * abs(error):
            return None
    if abs(error) <= 1e-4 * line.scale:
        return None
    return Verdict(WRONG, error, bound, line.scale, line.claimed)


def _ladder(line: _Line) -> Verdict:
    seen = [line.at(k) for k in range(LEVELS)]
    errors = np.array([e for e, _, _ in seen])
    h = 4.0 ** -np.arange(LEVELS)
    usable = np.isfinite(errors)
    errors = np.where(usable, errors, 0.0)
    tail = np.abs(np.diff(errors[-3:])).max()  # the measured scatter: what rounding does at the finest steps
    expected = np.array([n for _, n, _ in seen])
    noise = np.maximum(expected, tail * h[-1] / h)
    scale = line.scale
    found, bound = _extrapolated(errors, noise, usable)
    bound += line.rounding
    if not np.isfinite(bound):
        return Verdict(UNRESOLVED, found, bound, scale, line.claimed)
    decisive = max(abs(found), 1e-3 * scale)
    deciding = [k for k in range(LEVELS) if usable[k] and 10 * noise[k] <= decisive]
    agrees = bool(deciding) and abs(errors[deciding[-1]] - found) <= 0.5 * decisive
    fits = abs(found) <= 30 * bound + 1e-8 * scale
    if fits and ((bound <= 1e-3 * scale and agrees) or not scale):
        state = OK
    elif (
        not fits
        and agrees
        and bound <= 0.03 * max(abs(found), line.moved)
        and _holds_out(errors, noise, usable, found)
        and not (line.claimed and _vanishes(errors, expected, usable, found))
        and not stairs(errors, np.array([slope for _, _, slope in seen]), scale, line.claimed)
    ):
        state = WRONG
    elif abs(found) + bound <= 1e-9 * line.expected:
        state = OK  # flat: whatever the derivative is, it is nothing beside what it usually is
    else:
        state = UNRESOLVED
    return Verdict(state, found, bound, scale, line.claimed)


def _holds_out(errors: Any, noise: Any, usable: Any, found: float) -> bool:
    """Whether a small discrepancy is still there at the finest step at which it could be seen."""
    seen = np.flatnonzero(usable & (10 * noise <= abs(found)))
    return bool(seen.size) and abs(errors[seen[-1]] - found) <= 0.5 * abs(found)


def _vanishes(errors: Any, noise: Any, usable: Any, found: float) -> bool:
    """Whether a claim that is not 0 is right at the finest step that rounding allows: scatter is then that of jumps."""
    seen = np.flatnonzero(usable & (10 * noise <= abs(found)))
    return bool(seen.size) and abs(errors[seen[-1]]) <= 0.1 * abs(found)


def _extrapolated(errors: Any, noise: Any, usable: Any) -> tuple[float, float]:
    """The best estimate at step 0, and its error: the spread to both neighbours, and noise."""
    best = (0.0, np.inf)
    table = errors
    for order in (2, 4, 6):
        for k in range(1, len(table) - 1):
            if usable[k - 1 : k + order // 2 + 1].all():
                spread = max(abs(table[k] - table[k - 1]), abs(table[k] - table[k + 1]))
                bound = spread + 2 * noise[k + order // 2 - 1]
                if bound < best[1]:
                    best = (float(table[k]), float(bound))
        factor = 4.0**order
        table = (factor * table[1:] - table[:-1]) / (factor - 1)
    return best
