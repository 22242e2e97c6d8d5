"""One check on its way: what is under test, where its inputs come from, and the first failure among them."""

from __future__ import annotations

import random
import time
import zlib
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing import mined
from tapegrad.testing.binding import bind
from tapegrad.testing.elements import layout_of
from tapegrad.testing.explaining import explain
from tapegrad.testing.inputs import Point, Source, find_domains
from tapegrad.testing.noise import table
from tapegrad.testing.numeric import all_finite
from tapegrad.testing.outcome import HOLDS, SILENT, UNDECIDED, Failure
from tapegrad.testing.profiles import ASKED
from tapegrad.testing.properties import PROPERTIES
from tapegrad.testing.region import region, single
from tapegrad.testing.report import Result
from tapegrad.testing.sweep import sweep
from tapegrad.testing.systems.choose import as_numpy, build, framework_for, framework_returned, trial_frameworks
from tapegrad.testing.trial import Refused, Settings, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tapegrad.testing.binding import Binding
    from tapegrad.testing.elements import Layout
    from tapegrad.testing.profiles import Profile
    from tapegrad.testing.sweep import Swept
    from tapegrad.testing.systems.base import System
    from tapegrad.testing.words import Word

    Function = Callable[..., Any]

_FOR_A_REPORT = 1_000  # swept points: to say where a gradient is wrong that an input has shown to be so
_REDRAWN = 3  # inputs drawn for one that the function refuses


@final
class Session:
    """One check, from the user's words to the result."""

    def __init__(
        self,
        f: Function,
        examples: Sequence[Any],
        words: dict[str, Any],
        *,
        vjp: Function | None,
        jvp: Function | None,
        second: Function | None,
        framework: str | None,
        profile: Profile,
        seed: int | None,
        only: frozenset[str] | None,
        skip: frozenset[str],
        cotangent: Any,
        kinks: str | None,
        nondeterministic: float,
        progress: Callable[[float], None] | None,
        dtypes: str | None = None,
    ) -> None:
        if not callable(f):
            raise ArgumentError(
                f"check(f, ...): expected a function, got {type(f).__name__}; write check(lambda x: ..., x0)"
            )
        for word, rule in (("vjp", vjp), ("jvp", jvp), ("second", second)):
            if rule is not None and not callable(rule):
                raise ArgumentError(f"check({word}=...): expected a function, got {type(rule).__name__}")
        if kinks not in (None, "fail", "warn"):
            raise ArgumentError(f"kinks={kinks!r}: expected 'fail' or 'warn'")
        if dtypes not in (None, "fail", "warn"):
            raise ArgumentError(f"dtypes={dtypes!r}: expected 'fail' or 'warn'")
        self.start = time.process_time()
        self.f = f
        self.name = name_of(f)
        self.profile = profile
        self.progress = progress
        self.only, self.skip = only, skip
        self.seed = seed if seed is not None else _seed_of(self.name, profile)
        self.rng = np.random.Generator(np.random.PCG64(self.seed))
        written = vjp is not None and framework is None
        chosen = "numpy" if written else framework_for(f, [*examples, *words.values()], framework)
        f, examples, words = _unwrapped(f, chosen, examples, words)
        self.binding = bind(f, [as_numpy(x) for x in examples], {k: as_numpy(x) for k, x in words.items()}, self.name)
        self._draw_strategies()
        if not self.binding.active:
            raise ArgumentError(_nothing_active(self.name, self.binding))
        rules = {"vjp": vjp, "jvp": jvp, "second": second}
        self.system = self._system(f, chosen, rules)
        self.source = self._source()
        self.system.fully_compiled = "compiled" in (only or ())
        self.source.most_sizes = 8 if self.system.compiles else 0
        self.settings = Settings(
            self.source.domains,
            self.binding.names,
            nondeterministic=nondeterministic,
            kinks=kinks or ("fail" if self.system.single else "warn"),
            dtypes=dtypes
            or ("warn" if self.system.framework == "numpy" and "precision" not in (only or ()) else "fail"),
            order=profile.order,
            any_shape=self.source.free,
            any_length=[i for i, w in enumerate(self.binding.words) if i in self.source.free or named_first(w)],
            hermitian=[i for i, w in enumerate(self.binding.words) if w.kind == "psd"],
            noises=table(self.seed),
        )
        self.cotangent = cotangent
        #: The latest one.
        self.trial: Trial | None = None
        self.limits()
        self.result = Result(self.name, profile.name, self.seed)
        self._look_for_domains()

    # -- before the first input --------------------------------------------------------------------------
    def _draw_strategies(self) -> None:
        for w in self.binding.words:
            if w.kind == "strategy":
                from tapegrad.testing.strategies import examples_of

                w.pool.extend(examples_of(w.source, 40, self.seed))
                object.__setattr__(w, "dtype", w.pool[0].dtype)
                object.__setattr__(w, "fixed", w.pool[0].dtype.kind not in "fc")

    def _system(self, f: Function, chosen: str | None, rules: dict[str, Any]) -> System:
        if chosen is not None:
            return build(chosen, f, self.binding, self.name, **rules)
        for named in trial_frameworks(f):
            return build(named, f, self.binding, self.name, **rules)
        probe = Source(self.binding.words, self.rng)
        found = framework_returned(f, self.binding, probe.point("usual", dict.fromkeys(probe.names, 3), 0).xs)
        return build(found, f, self.binding, self.name, **rules)

    def _source(self) -> Source:
        numbers = mined.numbers_in(*self.system.sources)
        return Source(self.binding.words, self.rng, mined=mined.candidates(numbers), sizes=mined.sizes(numbers))

    def _finite(self, xs: list[Any]) -> bool:
        with np.errstate(all="ignore"):
            try:
                return all(np.isfinite(y).all() for y in self.system.value(xs))
            except (ArgumentError, NameError, AttributeError):
                raise
            except Exception:  # whatever a function raises outside of its domain
                return False

    def _look_for_domains(self) -> None:
        point = self.source.point("usual", dict.fromkeys(self.source.names, 3), 0)
        with np.errstate(all="ignore"):
            try:
                ys = self.system.value(point.xs)
            except self.system.refusals:
                ys = None
        if ys is not None:
            if not ys:
                raise ArgumentError(
                    f"{self.name} returned no floating array; return the value that is to be differentiated"
                )
            if all(np.isfinite(y).all() for y in ys) and all(
                self._finite(self.source.point("usual", dict.fromkeys(self.source.names, 2), k).xs) for k in range(3)
            ):
                return
        if find_domains(self.source, self._finite):
            self.settings.domains = list(self.source.domains)

    # -- the check -----------------------------------------------------------------------------------------
    def wanted(self, name: str) -> bool:
        """Whether a property is asked for."""
        return name not in self.skip and (self.only is None or name in self.only)

    def limits(self) -> None:
        """Begin to count anew on how many inputs a property is looked at."""
        asked = self.only or frozenset()
        #: Properties that are looked at, and on how many more inputs, where that is limited.
        self.left = {n: max(k, ASKED[n]) if n in asked else k for n, k in self.profile.most.items()}
        wanted = [n for n in PROPERTIES if self.wanted(n) or (n == "numeric" and self.wanted("kink"))]
        self.looked_at = [n for n in wanted if self.left.get(n, 1) > 0]
        if "third" in asked:
            self.settings.order = 3

    def run(self) -> Result:
        """All inputs, then the sweep; up to the first failure."""
        result = self.result
        found = self.first_failure()
        if self.settings.warned:
            result.notes.append(f"  kink, not counted as wrong: {self.settings.warned[0]}")
        if self.settings.noted and found is None:
            result.notes.append(f"  {self.settings.noted[0]}")
        if found is not None:
            explain(self, *found)
        result.seconds = time.process_time() - self.start
        return result

    def first_failure(self) -> tuple[Point, Failure] | None:
        """Of all inputs, and then of the sweep."""
        found = self._inputs()
        if found is None and (self.wanted("swept") or self.wanted("numeric")):
            found = self._sweep()
        return found

    def points(self) -> Iterable[Point]:
        """Inputs of a check; where cotangents are given, the example alone."""
        if self.cotangent is not None:
            point = next(iter(self.source.points(1)))
            gs = (
                self.cotangent
                if isinstance(self.cotangent, list) and not np.isscalar(self.cotangent[0])
                else [self.cotangent]
            )
            point.gs = [np.asarray(as_numpy(g), float if not np.iscomplexobj(g) else complex) for g in gs]
            point.tame = True
            shapes = [y.shape for y in Trial(self.system, point, self.settings).ys]
            if [g.shape for g in point.gs] != shapes:
                given = ", ".join(str(g.shape) for g in point.gs)
                raise ArgumentError(
                    f"{self.name}: expected cotangent.shape == {', '.join(map(str, shapes))}, the output's; got {given}"
                )
            return [point]
        return self.source.points(self.profile.inputs)

    def _inputs(self) -> tuple[Point, Failure] | None:
        result, seen, tries = self.result, 0, 0
        last: Refused | None = None
        full = False  # whether there was anything to differentiate
        for point in self.points():
            tries += 1
            try:
                found = self.examine(point, result)
            except Refused as error:
                result.refused += 1
                last = error
            else:
                seen += 1
                full = full or any(np.size(point.xs[i]) for i in self.system.active)
                if found is not None:
                    return point, found
            if self.progress is not None:
                self.progress(min(seen / self.profile.inputs, 1.0))
            if seen >= self.profile.inputs or tries >= _REDRAWN * self.profile.inputs:
                break
        result.inputs = seen
        if not seen or (last is not None and not full):
            raise ArgumentError(self._never(last))
        if seen < 3 and tries > 10:
            result.notes.append(f"  only {seen} of {tries} inputs were taken: {last}")
        return None

    def _never(self, last: Refused | None) -> str:
        drawn = ", ".join(
            f"{n}={w!r}" for n, w in zip(self.binding.names, self.binding.words, strict=True) if w.kind != "fixed"
        )
        advice = (
            "name the shapes, such as x=('b', 'n')"
            if self.binding.free
            else "give an example, or bounds: x=array('n', lo=0)"
        )
        return f"{self.name} takes none of the inputs drawn ({drawn}): {last}; {advice}"

    def examine(self, point: Point, result: Result | None = None, names: Iterable[str] | None = None) -> Failure | None:
        """The properties on one input; the first that fails."""
        if not all(all_finite(point.xs[i]) for i in self.system.active):
            raise Refused("an argument is not finite")
        t = self.trial = Trial(self.system, point, self.settings)
        with np.errstate(all="ignore"):
            try:
                t.derive()
            except ArgumentError:
                raise
            except Exception as error:  # whatever a vjp raises where there is a value
                if self.wanted("raises"):
                    return Failure(
                        "raises", f"the vjp raises where the function has a value: {type(error).__name__}: {error}"
                    )
                raise
            for name in names or self.looked_at:
                left = self.left.get(name, 1) if names is None else 1
                if left <= 0:
                    continue
                outcome = self._outcome(name, t)
                if outcome is SILENT:
                    continue
                if name in self.left and names is None:
                    self.left[name] = left - 1
                    if left == 1:
                        self.looked_at = [n for n in self.looked_at if n != name]
                if result is not None:
                    result.properties[name] = result.properties.get(name, 0) + 1
                if outcome is UNDECIDED:
                    if result is not None:
                        result.unresolved += 1
                elif outcome is not HOLDS and (names is not None or self.wanted(outcome.property)):
                    return outcome
        return None

    def _outcome(self, name: str, t: Trial) -> Any:
        try:
            return PROPERTIES[name][0](t)
        except (ArgumentError, Refused):
            raise
        except Exception as error:  # a vjp may refuse what it is given: that is a finding
            return Failure("raises", f"{name}: {type(error).__name__}: {error}")

    def _swept(self, most: int, *, hurried: bool = False) -> tuple[Layout | None, Swept | None]:
        layout = layout_of(self.system, self.source) if self.cotangent is None else None
        if layout is None:
            return None, None
        n = min(self.profile.swept, most) // len(layout.lines)
        return layout, sweep(self.system, self.source, self.settings, layout, n, hurried=hurried)

    def region(self) -> list[str]:
        """Where else the gradient is wrong, in words, if the function acts on elements."""
        try:
            layout, swept = self._swept(_FOR_A_REPORT, hurried=True)
        except Exception:  # the report does not fail with the function
            return []
        return [region(swept, layout, self.binding.names)] if layout and swept and swept.wrong else []

    def _sweep(self) -> tuple[Point, Failure] | None:
        layout, swept = self._swept(self.profile.swept)
        if layout is None or swept is None:
            return None
        self.result.swept, self.result.decided = swept.points, swept.decided
        self.result.properties["swept"] = self.result.properties.get("swept", 0) + 1
        if not swept.wrong:
            return None
        where = region(swept, layout, self.binding.names)
        points = single(swept, layout, int(self.rng.integers(2**31)))
        for point in points:
            try:
                failure = self.examine(point, names=("finite", "numeric"))
            except Refused:
                continue
            if failure is not None:
                failure.lines.append(("where", where))
                return point, failure
        return points[0], Failure("swept", f"the gradient is not the derivative: {where}")


def _nothing_active(name: str, binding: Binding) -> str:
    passed = [
        f"{n}={w.base!r} is passed on as it is; write np.array({w.base!r})"
        for n, w in zip(binding.names, binding.words, strict=True)
        if isinstance(w.base, float | list)
    ]
    first = binding.names[0] if binding.names else "x"
    instead = passed[0] if passed else f"give a float array, such as {first}=array('n')"
    return f"{name} has no floating argument, so nothing can be differentiated; {instead}"


def _unwrapped(
    f: Function, chosen: str | None, examples: Sequence[Any], words: dict[str, Any]
) -> tuple[Function, Sequence[Any], dict[str, Any]]:
    """What an adapter makes of its own kinds of functions: a module becomes a function of its parameters too."""
    if chosen in (None, "numpy"):
        return f, examples, words
    from tapegrad.testing.systems.choose import adapter

    opened = getattr(adapter(chosen), "opened", None)
    return (f, examples, words) if opened is None else opened(f, examples, words)


def named_first(w: Word) -> bool:
    """Whether the first axis of a word is a name, so that it may have any length."""
    return w.dims is not None and len(w.dims) > 0 and isinstance(w.dims[0], str)


def name_of(f: Any) -> str:
    """What a report calls a function."""
    name = getattr(f, "__name__", None) or getattr(f, "name", None) or type(f).__name__
    owner = getattr(f, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) else str(name)


def _seed_of(name: str, profile: Profile) -> int:
    return zlib.crc32(name.encode()) if profile.fixed_seed else random.SystemRandom().randrange(2**32)
