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
_EPS = float(np.finfo(np.float64).eps)
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
        self.gain = gain
        self.least = SINGLE if single else 0.0
        self.claimed = dot(grads, us)
        self.slopes: list[float] = []  # as differences have them
        self.roundings: list[float] = []  # of each output, relative; as the first step shows them
        self.quantum = 0.0  # what the rounding of double precision to single does to the arguments of a function inside
        self.weights: list[Any] = []  # sizes of the cotangents
        self._seen: dict[int, tuple[float, float, Sequence[Any]]] = {}
        self._noises: dict[int, float] = {}

    def at(self, k: int) -> tuple[float, float, Sequence[Any]]:
        """Discrepancy, slope and values at step 4**-k."""
        found = self._seen.get(k)
        if found is not None:
            return found
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
        difference = 0.0
        for g, y, z in zip(self.gs, above, below, strict=True):
            if y.size:
                difference += float(np.vdot(g, _wide(y) - _wide(z)).real)
        slope = abs(difference) / (2 * h)
        if math.isfinite(slope):
            self.slopes.append(slope)
        self._seen[k] = found = (difference - step) / (2 * h), slope, above
        return found

    def surely_zero(self) -> tuple[float, float] | None:
        """The discrepancy and its bound, where it is 0 whatever the sizes are that crude bounds are taken of.

        So it is with nine of ten right gradients; to weigh each element costs as much as the function.
        """
        (coarse, _, _), (fine, _, above) = self.at(QUICK[0]), self.at(QUICK[1])
        error = (16 * fine - coarse) / 15
        scale = abs(self.claimed) + min(self.slopes, default=0.0)
        if self.least or not abs(error) <= 1e-8 * scale:
            return None
        along = length = heaviest = noise = 0.0
        for c, u, x in zip(self.grads, self.us, self.xs, strict=True):
            if c.dtype.char not in "dD" or x.dtype.char not in "dD":
                return None
            far = _norm(u)
            along += _norm(c) * far
            length += math.sqrt(u.size) * far
        for g, y in zip(self.gs, above, strict=True):
            if rounding_of(y) != _EPS:
                return None
            size, weight = _norm(y), _norm(g)
            least = min(1.0, size) if self.usual is None else self.usual
            noise += weight * (size + math.sqrt(y.size) * least)
            heaviest = max(heaviest, weight)
        rounding = 101 * along + 10 * self.gain * heaviest * length
        bound = _EPS * (2 * 4.0 ** QUICK[1] * noise + rounding)
        return (error, bound) if bound <= 1e-4 * scale else None

    def weigh(self) -> None:
        """The size of each element that is rounded."""
        size = largest = longest = length = eps = 0.0
        for c, u in zip(self.grads, self.us, strict=True):
            if c.size:
                a, b = np.abs(_wide(c)), np.abs(_wide(u))
                size += float(np.vdot(a, b))
                largest, longest = max(largest, float(a.max())), max(longest, float(b.max()))
                length += float(b.sum())
                eps = max(eps, eps_in(c.dtype))
        self.size = size
        self.weights = [np.abs(g) for g in self.gs]
        self.sums = [float(w.sum()) for w in self.weights]
        #: What a gradient of the usual size would give along the direction.
        self.expected = self.gain * max((float(w.max()) for w in self.weights if w.size), default=0.0) * length
        # Of the claim: a small element beside large ones may be the rest of a cancellation.
        self.rounding = eps * (size + 100 * largest * longest + 10 * self.expected)

    def noise(self, k: int) -> float:
        """Of the discrepancy at step 4**-k, once it is weighed."""
        known = self._noises.get(k)
        if known is not None:
            return known
        above = self.at(k)[2]
        if not self.roundings:
            self.roundings = [max(rounding_of(y), self.least) for y in above]
            coarse = max(self.roundings, default=0.0)
            self.quantum = sum(
                coarse * float(np.vdot(np.abs(_wide(c)), np.abs(x)))
                for c, x in zip(self.grads, self.xs, strict=True)
                if coarse > eps_in(x.dtype)
            )
        total = self.quantum
        for rounding, y, weights, weight in zip(self.roundings, above, self.weights, self.sums, strict=True):
            if y.size:
                size = np.abs(_wide(y))
                least = min(1.0, float(size.max())) if self.usual is None else self.usual
                total += rounding * (float(np.vdot(weights, size)) + least * weight)
        self._noises[k] = total * 4.0**k
        return self._noises[k]

    @property
    def moved(self) -> float:
        """The slope that most steps see at least: at the finest ones noise looks like a large one."""
        return sorted(self.slopes)[len(self.slopes) // 4] if self.slopes else 0.0

    @property
    def scale(self) -> float:
        return self.size + self.moved


def _norm(x: Any) -> float:
    """At least the size of each element, at most the sum of all."""
    return math.sqrt(abs(np.vdot(x, x)))


def all_finite(x: Any) -> bool:
    """Whether all numbers are finite."""
    if x.dtype.char in "fdFD" and math.isfinite(np.vdot(x, x).real):  # or else their squares overflow, perhaps
        return True
    return bool(np.isfinite(x).all())


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
    if not eps < SINGLE or not y.size:
        return eps
    first = y.item(0).real
    if float(np.float32(first)) != first:  # as it is nearly always
        return eps
    if bool((y == y.astype(np.complex64 if y.dtype.kind == "c" else np.float32)).all()):
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
        sure = line.surely_zero()
        if sure is not None:
            return Verdict(OK, *sure, abs(line.claimed) + line.moved, line.claimed)
        line.weigh()
        coarse, fine = line.at(QUICK[0])[0], line.at(QUICK[1])[0]
        error, bound = (16 * fine - coarse) / 15, 2 * line.noise(QUICK[1]) + line.rounding
        if abs(error) <= 1e-8 * line.scale + 10 * bound and (bound <= 1e-4 * line.scale or error == 0):
            return Verdict(OK, error, bound, line.scale, line.claimed)
        return (_plainly_wrong(line, error) if hurried else None) or _ladder(line)


def _plainly_wrong(line: _Line, error: float) -> Verdict | None:
    bound = line.rounding
    for k in _PLAIN:
        bound = max(bound, abs(line.at(k)[0] - error) + line.noise(k))
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
    expected = np.array([line.noise(k) for k in range(LEVELS)])
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
        and not stairs(errors, np.array([slope for _, slope, _ in seen]), scale, line.claimed)
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
