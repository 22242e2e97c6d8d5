"""Two implementations of one function, of the same or of different frameworks, on the same inputs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing.binding import parameter_names
from tapegrad.testing.numeric import eps_in
from tapegrad.testing.outcome import Failure, brief
from tapegrad.testing.profiles import profile_named
from tapegrad.testing.report import GradientCheckError, Result, argument_lines
from tapegrad.testing.session import Session
from tapegrad.testing.shrink import Shrinker
from tapegrad.testing.systems.choose import framework_for, trial_frameworks
from tapegrad.testing.trial import Refused, Trial, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.testing.inputs import Point

    Function = Callable[..., Any]

_SLACK = 1e4  # roundings; what else is added comes from how much each side changes if the last digits of its input do


def compare(
    f: Function,
    g: Function,
    /,
    *examples: Any,
    frameworks: tuple[str | None, str | None] = (None, None),
    profile: str | None = None,
    seed: int | None = None,
    gradients: bool = True,
    vjp: Any = None,
    other_vjp: Any = None,
    **words: Any,
) -> Result:
    """That two functions have the same values and gradients: a `Result`, or GradientCheckError.

    * `f`, `g`: of any frameworks, seen as in `check`, or named in `frameworks`; `vjp`, `other_vjp` for NumPy functions.
    * `examples`, `words`: as in `check`, by the parameters of `f`; `g` gets them in the same order.
    * `gradients`: compare these too; without, values alone.

    At kinks, where the gradient of `f` differs from those nearby, only values are compared.

    >>> import tapegrad as tg
    >>> from tapegrad.testing import compare
    >>> compare(tg.tanh, lambda x: 1 - 2 / (tg.exp(2 * x) + 1), x=("n",), profile="fast").ok
    True
    """
    start = time.process_time()
    first = _session(f, examples, words, frameworks[0], profile, seed, vjp, gradients)
    second = _session(g, *_in_order(f, g, examples, words), frameworks[1], profile, first.seed, other_vjp, gradients)
    if first.name == second.name:
        first.name, second.name = (f"{getattr(h, '__module__', '')}.{first.name}".lstrip(".") for h in (f, g))
        first.system.name, second.system.name = first.name, second.name
    result = Result(f"{first.name} and {second.name}", first.profile.name, first.seed)
    for k, point in enumerate(first.source.points(first.profile.inputs)):
        if k >= 3 * first.profile.inputs or result.inputs >= first.profile.inputs:
            break
        try:
            found = _differ(first, second, point, result, gradients=gradients)
        except Refused:
            result.refused += 1
            continue
        result.inputs += 1
        if found is not None:
            _explain(first, second, point, found, result, gradients=gradients)
            break
    result.seconds = time.process_time() - start
    if not result.inputs:
        raise ArgumentError(f"{result.name}: none of the inputs drawn is taken by both; give an example")
    if not result.ok:
        raise GradientCheckError(result)
    return result


def _in_order(f: Function, g: Function, examples: Any, words: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The same words for `g`: by name if it has these names, else by position."""
    of_f, of_g = parameter_names(f), parameter_names(g)
    if all(name in of_g for name in words):
        return examples, words
    return [*examples, *(words[name] for name in of_f if name in words)], {}


def _session(
    f: Function,
    examples: Any,
    words: dict[str, Any],
    framework: str | None,
    profile: str | None,
    seed: int | None,
    vjp: Any,
    gradients: bool,
) -> Session:
    if vjp is None and not gradients and _of_numpy(f, [*examples, *words.values()], framework):
        vjp = _no_vjp
    return Session(
        f, examples, words, vjp=vjp, jvp=None, second=None, framework=framework, profile=profile_named(profile), seed=seed,
        only=None, skip=frozenset(), cotangent=None, kinks=None, nondeterministic=0.0, progress=None,
    )  # fmt: skip


def _of_numpy(f: Function, given: list[Any], framework: str | None) -> bool:
    return (framework or framework_for(f, given, None) or next(iter(trial_frameworks(f)), "numpy")) == "numpy"


def _no_vjp(g: Any, *xs: Any) -> Any:
    raise ArgumentError("a function without a derivative was asked for a gradient")


def _differ(a: Session, b: Session, point: Point, result: Result | None, *, gradients: bool) -> Failure | None:
    first = Trial(a.system, point, a.settings)
    try:
        second = Trial(b.system, point, b.settings)
    except Refused as error:
        if not point.tame or point.label == "ends":
            raise
        return Failure("compare", f"{b.name} refuses what {a.name} takes: {error}")
    if result is not None:
        result.properties["values"] = result.properties.get("values", 0) + 1
    if [y.shape for y in first.ys] != [y.shape for y in second.ys]:
        shapes = f"{[y.shape for y in first.ys]} and {[y.shape for y in second.ys]}"
        return Failure("compare", f"{a.name} and {b.name} have outputs of the shapes {shapes}")
    found = _apart(first, second, first.ys_before, second.ys_before, point, values=True)
    if found is not None or not gradients:
        return found
    second.gs = [np.asarray(g, y.dtype) for g, y in zip(first.gs, second.ys, strict=True)]
    with np.errstate(all="ignore"):
        first.derive()
        second.derive()
    if result is not None:
        result.properties["gradients"] = result.properties.get("gradients", 0) + 1
    found = _apart(first, second, first.grads, second.grads, point, values=False)
    return None if found is not None and _bends(first) else found


def _bends(t: Trial) -> bool:
    from tapegrad.testing.properties.derivative import smooth

    return not smooth(t)


def _apart(a: Trial, b: Trial, xs: list[Any], ys: list[Any], point: Point, *, values: bool) -> Failure | None:
    """What differs by more than rounding, in the coarser of two dtypes, explains."""
    allowed = None
    for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if x.shape != y.shape:
            return Failure("compare", f"the gradients have the shapes {x.shape} and {y.shape}")
        if not x.size:
            continue
        eps = max(eps_in(z.dtype) for z in (x, y))
        scale = float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) + 1e-3
        with np.errstate(all="ignore"):
            apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        worst = float(np.max(apart))
        if worst <= _SLACK * eps * scale:
            continue
        if allowed is None:
            allowed = _shaken(a, eps, values=values)
        if worst <= 100 * allowed[k]:
            continue
        what = "the values differ" if values else f"the gradients of {a.settings.names[a.system.active[k]]} differ"
        lines = [(a.system.name, brief(x)), (b.system.name, brief(y))]
        return Failure("compare", f"{what} by {worst:.2g}", lines)
    return None


def _shaken(t: Trial, eps: float, *, values: bool) -> list[float]:
    """How much each result changes if the last digits of the inputs do."""
    worst: list[float] = []
    for _ in range(2):
        moved = [np.asarray(x + 2 * eps * t.noise(x) * (np.abs(x) + 1e-3), x.dtype) for x in t.active]
        with np.errstate(all="ignore"):
            found = t.moved(moved) if values else filled(t.near(moved, t.gs), t.active)
        before = t.ys_before if values else t.grads
        sizes = [
            float(np.max(np.abs(a - b), initial=0.0)) if a.shape == b.shape else np.inf
            for a, b in zip(found, before, strict=True)
        ]
        worst = sizes if not worst else list(map(max, worst, sizes))
    return worst


def _explain(a: Session, b: Session, point: Point, failure: Failure, result: Result, *, gradients: bool) -> None:
    def fails(candidate: Point) -> Failure | None:
        try:
            return _differ(a, b, candidate, None, gradients=gradients)
        except (Refused, ArgumentError):
            return None

    point, failure = Shrinker(fails, a.binding.words, a.settings.domains, seconds=1.0).shrink(point, failure)
    result.failure, result.point = failure, point
    gs = Trial(a.system, point, a.settings).gs if gradients else []
    result.lines = argument_lines(point, a.binding.names, gs) + failure.lines
    result.lines.append(("seed", f"{a.seed:#x}"))


__all__ = ["compare"]
