"""One input of one function, with what all properties look at: outputs, cotangents, gradients, directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.draw import hermitian_part
from tapegrad.testing.inputs import Point
from tapegrad.testing.noise import Noise, table
from tapegrad.testing.numeric import SINGLE, all_finite, rounding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.noise import Table
    from tapegrad.testing.systems.base import System

    Domain = tuple[float, float]


_NARROW = frozenset("eEfF")  # half (bfloat16: E) and single precision, and complex numbers of single precision


class Refused(Exception):
    """The function does not take this input, or is not finite there."""


@final
class Settings:
    """What holds for all trials of a check: domains by leaf, how far two calls may differ, whether kinks fail."""

    __slots__ = (
        "_forms",
        "absent",
        "any_length",
        "any_shape",
        "compared",
        "directions",
        "domains",
        "dtypes",
        "gain",
        "hermitian",
        "kinks",
        "names",
        "noises",
        "nondeterministic",
        "noted",
        "order",
        "shrinking",
        "single",
        "usual",
        "warned",
    )

    def __init__(
        self,
        domains: Sequence[Domain],
        names: Sequence[str],
        *,
        nondeterministic: float = 0.0,
        kinks: str = "fail",
        dtypes: str = "fail",
        order: int = 2,
        hermitian: Sequence[int] = (),
        directions: Callable[[Any], Any] | None = None,
        any_shape: Sequence[int] = (),
        any_length: Sequence[int] = (),
        noises: Table | None = None,
    ) -> None:
        self.domains = list(domains)
        self.names = list(names)
        self.nondeterministic = nondeterministic
        self.kinks = kinks
        self.dtypes = dtypes
        self.order = order
        #: Gradients of a wider dtype that would be failures, if dtypes were.
        self.noted: list[str] = []
        #: Properties that the function has turned out not to be of a kind for; other forms of it.
        self.absent: set[str] = set()
        self._forms: dict[str, System | None] = {}
        self.hermitian = frozenset(hermitian)
        #: Leaves whose shape may be any, by what is said of them; those whose first axis may be of any length.
        self.any_shape = frozenset(any_shape)
        self.any_length = frozenset(any_length)
        self.noises = table(0) if noises is None else noises
        #: How far an array may be moved, where more is known of it than its domain.
        self.directions = directions
        #: How often values in lower precision were compared; the property whose failure is being shrunk, if one is.
        self.compared = 0
        self.shrinking = ""
        #: Gradients at kinks that would be failures, if kinks were.
        self.warned: list[str] = []
        #: The largest output seen so far, at most 1.
        self.usual = 0.0
        #: Whether all values seen so far are of single precision, but for whole ones; None while none but these were seen.
        self.single: bool | None = None
        #: The largest gradient seen so far, for a cotangent of 1, at most 1.
        self.gain = 0.0

    def form(self, name: str, make: Callable[[], System | None]) -> System | None:
        """Another form of the function, made once."""
        if name not in self._forms:
            self._forms[name] = make()
        return self._forms[name]


@final
class Trial:
    """A run of the function on one input.

    `xs` are copies for the function, `kept` the originals; `ys` and `grads` what came of it.
    """

    __slots__ = (
        "_noise",
        "_other",
        "_pull",
        "_steps",
        "_wider",
        "active",
        "empty",
        "finite",
        "given",
        "grads",
        "gs",
        "kept",
        "kinked",
        "point",
        "raw",
        "settings",
        "system",
        "xs",
        "ys",
        "ys_before",
    )

    def __init__(self, system: System, point: Point, settings: Settings) -> None:
        self.system = system
        self.point = point
        self.settings = settings
        self.kept = point.xs
        self._noise = Noise(settings.noises, point.seed)
        self.xs = fresh(point.xs)
        self.kinked = False
        self._steps: dict[bool, list[Any]] = {}
        self._wider: tuple[Trial | None] | None = None
        self._other: tuple[list[Any], list[Any]] | None = None
        with np.errstate(all="ignore"):
            try:
                self.ys, self._pull = system.run(self.xs)
            except system.refusals as error:
                raise Refused(f"{type(error).__name__}: {error}") from error
        for y in self.ys:
            if y.size:
                if not all_finite(y):
                    raise Refused("not finite")
                if settings.usual < 1.0:
                    settings.usual = min(1.0, max(settings.usual, float(np.abs(y).max())))
                if settings.single is not False and y.dtype.char in "dD" and bool((y != np.round(y)).any()):
                    settings.single = rounding_of(y) >= SINGLE
        self.active = [self.kept[i] for i in system.active]
        self.ys_before = [y.copy() for y in self.ys]
        given = point.gs
        fits = given is not None and [g.shape for g in given] == [y.shape for y in self.ys]
        self.gs = [g.copy() for g in given] if given is not None and fits else self._cotangents()
        #: Whether there is nothing to differentiate, or no output.
        self.empty = not any(x.size for x in self.active) or not any(y.size for y in self.ys)
        #: Whether all gradients are finite.
        self.finite = True
        self.raw: list[Any] = []
        self.grads: list[Any] = []

    def _cotangents(self) -> list[Any]:
        gs = [self.noise(y) for y in self.ys]
        kind = self.point.seed % 6
        if kind == 1:
            return [_relative(g, y) for g, y in zip(gs, self.ys, strict=True)]
        if kind == 2:
            return [_one_hot(g, self._noise.index(g.size)) for g in gs]
        return gs

    def noise(self, x: Any) -> Any:
        """Numbers from -1 to 1, none of them small, of the shape and dtype of an array."""
        return self._noise.like(x)

    @property
    def rng(self) -> np.random.Generator:
        """A generator for what is random besides."""
        return self._noise.rng

    def pull(self, gs: Sequence[Any]) -> list[Any]:
        """The gradients for cotangents, None for zero, from this run."""
        return self._pull(
            [g if type(g) is np.ndarray else np.asarray(g) for g in gs]
        )  # arithmetic makes scalars of 0-d arrays

    def derive(self) -> None:
        """Compute the gradients; zeros in the place of None."""
        self.given = [g.copy() for g in self.gs]
        self.raw = self.pull(self.given)
        self.grads = [np.zeros_like(x) if c is None else c for c, x in zip(self.raw, self.active, strict=True)]
        self.finite = all(map(all_finite, self.grads))
        if self.settings.gain < 1.0:
            size = max((float(np.abs(c).max(initial=0.0)) for c in self.grads), default=0.0)
            gain = size / (max((float(np.abs(g).max(initial=0.0)) for g in self.gs), default=0.0) or 1.0)
            if gain > self.settings.gain:
                self.settings.gain = min(1.0, gain)

    def other(self) -> tuple[list[Any], list[Any]]:
        """Another cotangent, and its gradient from this run; computed once."""
        if self._other is None:
            hs = [self.noise(g) for g in self.gs]
            self._other = hs, filled(self.pull([h.copy() for h in hs]), self.active)
        return self._other

    def pulled(self, gs: Sequence[Any]) -> list[Any]:
        """The gradients for other cotangents, from a fresh run."""
        return filled(self.system.run(fresh(self.kept))[1]([g.copy() for g in gs]), self.active)

    def moved(self, xs: Sequence[Any]) -> list[Any]:
        """The value with other active leaves."""
        return self.system.value(self.system.replaced(self.kept, xs))

    def near(self, xs: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """The gradients with other active leaves."""
        full = self.system.replaced(self.kept, xs)
        return filled(self.system.run(full)[1]([g.copy() for g in gs]), self.active)

    def widened(self) -> Trial | None:
        """The same input in double precision; None where it is that, or the function does not take it or stay in it."""
        if not self.active or all(x.dtype.char not in _NARROW for x in self.active):
            return None
        if self._wider is None:
            self._wider = (self._widened(),)
        return self._wider[0]

    def _widened(self) -> Trial | None:
        xs = [_wide(x) if isinstance(x, np.ndarray) and x.dtype.char in _NARROW else x for x in self.kept]
        try:
            made = Trial(self.system, Point(xs, self.point.label, self.point.seed, tame=self.point.tame), self.settings)
        except Refused:
            return None
        if [y.shape for y in made.ys] != [y.shape for y in self.ys] or any(y.dtype.char in _NARROW for y in made.ys):
            return None
        made.gs = [np.asarray(g, y.dtype) for g, y in zip(self.gs, made.ys, strict=True)]
        made.derive()
        return made

    def of_vjp(self, system: System, leaves: list[Any]) -> Trial:
        """The same for the vjp, as a function of these leaves and, after them, cotangents."""
        known = self.settings
        more = len(leaves) - len(known.domains)
        domains = [*known.domains, *[(-np.inf, np.inf)] * more]
        names = [*known.names, *(f"cotangent {k + 1}" for k in range(more))]
        settings = Settings(domains, names, kinks=known.kinks, hermitian=list(known.hermitian), noises=known.noises)
        settings.gain = known.gain
        made = Trial(system, Point(leaves, self.point.label, self.point.seed, tame=True), settings)
        made.gs = [made.noise(y) for y in made.ys]
        return made

    def direction(self, *, one_hot: bool = False, relative: bool | None = None) -> list[Any]:
        """How far each active leaf moves: a tenth of itself, or of what is usual, within its domain."""
        if self.settings.directions is not None:
            return [np.asarray(self.settings.directions(x)).astype(x.dtype) for x in self.active]
        steps = self._steps_of(self.point.seed % 3 == 1 if relative is None else relative)
        made: list[Any] = []
        for i, x, step in zip(self.system.active, self.active, steps, strict=True):
            u = self.noise(x) * step
            if i in self.settings.hermitian:
                made.append(hermitian_part(u))
                continue
            made.append(_one_hot(u, self._noise.index(u.size)) if one_hot and u.size else u)
        return made

    def has_shorter_steps(self) -> bool:
        """Whether moving in proportion to each element is less far than moving as usual."""
        return self.settings.directions is None and not all(
            map(np.array_equal, self._steps_of(False), self._steps_of(True))
        )

    def _steps_of(self, relative: bool) -> list[Any]:
        steps = self._steps.get(relative)
        if steps is None:
            steps = self._steps[relative] = self._lengths(relative)
        return steps

    def _lengths(self, relative: bool) -> list[Any]:
        """How far each element may move: a tenth of itself or of what is usual, inside the domain."""
        made: list[Any] = []
        for i, x in zip(self.system.active, self.active, strict=True):
            lo, hi = self.settings.domains[i]
            size = np.abs(x)
            floor = 0.02 * (hi - lo if hi - lo < np.inf else 4.0)
            if relative and size.size:
                floor = min(floor, 0.05 * float(size.max()) or floor)
                step = 0.1 * np.where(size > 0, size, floor)
            else:
                step = 0.1 * np.maximum(size, floor)
            if lo > -np.inf:
                step = np.minimum(step, 0.9 * np.maximum(x.real - lo, 0))
            if hi < np.inf:
                step = np.minimum(step, 0.9 * np.maximum(hi - x.real, 0))
            made.append(step)
        return made


def _wide(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def fresh(xs: Sequence[Any]) -> list[Any]:
    """Copies of the arrays among leaves."""
    return [x.copy() if type(x) is np.ndarray else x for x in xs]


def filled(grads: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Zeros in the place of None."""
    return [np.zeros_like(x) if c is None else c for c, x in zip(grads, like, strict=True)]


def _relative(g: Any, y: Any) -> Any:
    """The cotangent divided by the size of each output, so that small rows count as much as large ones."""
    size = np.abs(y)
    largest = float(size.max(initial=0.0)) or 1.0
    size = np.where(size > 0, np.maximum(size, 1e-8 * largest), largest)
    made = np.asarray(g / size, y.dtype)
    return made if np.isfinite(made).all() else g  # more than half precision can hold


def _one_hot(g: Any, i: int) -> Any:
    if not g.size:
        return g
    made = np.zeros_like(g)
    made.reshape(-1)[i] = g.reshape(-1)[i]
    return made
