"""The command `python -m benchmarks.checkers`: what gradient checkers find among planted faults, and at what price.

Each planted function of ``tests/testing/planted`` is wrapped natively for each checker and is given to it once, with
its right and with its wrong derivative: one input of the usual kind in double precision, default tolerances, as people
write it.  A fault is caught if the wrong one is refused; a false alarm is a right one that is refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad.testing import examine
from tapegrad.testing.binding import bind
from tapegrad.testing.inputs import Source, find_domains
from tests.testing.planted.aside import ASIDE
from tests.testing.planted.known import KNOWN
from tests.testing.planted.numbers import COMPLEX
from tests.testing.planted.plant import Plant

Rule = Callable[..., Any]
#: Those that nothing was tuned on.
UNTUNED = [*ASIDE, *COMPLEX]
#: What a checker says: None where the function cannot be expressed in it.
Says = bool | None


def example(plant: Plant) -> list[Any]:
    """One input of the usual kind, of the middling sizes 3, 4, 2."""
    f, words = plant.correct()
    words = {k: w for k, w in words.items() if k not in ("vjp", "jvp", "second")}
    binding = bind(f, (), words, plant.name)
    source = Source(binding.words, np.random.default_rng(len(plant.name)))
    sizes = dict(zip(source.names, (3, 4, 2), strict=False))

    def finite(xs: Sequence[Any]) -> bool:
        return bool(np.isfinite(f(*xs)).all())

    if not all(finite(source.point("usual", sizes, 3).xs) for _ in range(3)):
        find_domains(source, finite)
    return source.point("usual", sizes, 3).xs


def is_active(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def vjp_of(words: dict[str, Any]) -> Rule:
    """The rule as ``(g, y, xs)`` -> one gradient for each argument."""
    vjp = words["vjp"]
    takes_output = vjp.__code__.co_argcount

    def rule(g: Any, y: Any, xs: Sequence[Any]) -> list[Any]:
        found = vjp(g, y, *xs) if takes_output == len(xs) + 2 else vjp(g, *xs)
        return list(found) if isinstance(found, tuple) else [found]

    return rule


# -- the checkers ------------------------------------------------------------------------------------------------
def tapegrad_check(profile: str) -> Callable[[Plant, bool], tuple[Says, int]]:
    def run(plant: Plant, wrong: bool) -> tuple[Says, int]:
        f, words = plant.faulty() if wrong else plant.correct()
        result = examine(f, profile=profile, dtypes="fail", **words)  # as for the op of a framework, which it stands for
        return result.ok, result.unresolved

    return run


def torch_check(*, fast: bool) -> Callable[[Plant, bool], tuple[Says, int]]:
    import torch

    def run(plant: Plant, wrong: bool) -> tuple[Says, int]:
        f, words = plant.faulty() if wrong else plant.correct()
        rule = vjp_of(words)

        class Wrapped(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *xs: Any) -> Any:
                ctx.xs = [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in xs]
                ctx.y = np.asarray(f(*ctx.xs))
                return torch.from_numpy(ctx.y)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                found = rule(g.numpy(), ctx.y, ctx.xs)
                return tuple(None if c is None else torch.from_numpy(np.asarray(c)) for c in found)

        xs = [torch.from_numpy(x).requires_grad_() if is_active(x) else torch.from_numpy(x) for x in example(plant)]
        return bool(torch.autograd.gradcheck(Wrapped.apply, tuple(xs), fast_mode=fast)), 0

    return run


def autograd_check() -> Callable[[Plant, bool], tuple[Says, int]]:
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    def run(plant: Plant, wrong: bool) -> tuple[Says, int]:
        f, words = plant.faulty() if wrong else plant.correct()
        rule = vjp_of(words)
        op = primitive(f)
        xs = example(plant)

        def maker(k: int) -> Callable[..., Any]:
            return lambda y, *given: lambda g: np.conj(rule(np.conj(g), y, given)[k])

        active = [k for k, x in enumerate(xs) if is_active(x)]
        defvjp(op, *(maker(k) for k in active), argnums=active)
        check_grads(op, modes=["rev"], order=1)(*xs)
        return True, 0

    return run


def jax_check() -> Callable[[Plant, bool], tuple[Says, int]]:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)

    def run(plant: Plant, wrong: bool) -> tuple[Says, int]:
        f, words = plant.faulty() if wrong else plant.correct()
        rule = vjp_of(words)
        given = example(plant)
        active = [k for k, x in enumerate(given) if is_active(x)]

        def full(moved: Sequence[Any]) -> list[Any]:
            xs = list(given)
            for k, x in zip(active, moved, strict=True):
                xs[k] = np.array(x)
            return xs

        shape = np.asarray(f(*full([given[k] for k in active])))

        def forward(*moved: Any) -> Any:
            out = jax.ShapeDtypeStruct(shape.shape, shape.dtype)
            return jax.pure_callback(lambda *xs: np.asarray(f(*full(xs))), out, *moved)

        def back(residual: Any, g: Any) -> Any:
            moved, y = residual
            like = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in moved)

            def call(g: Any, y: Any, *xs: Any) -> Any:
                found = rule(np.conj(np.array(g)), np.array(y), full(xs))
                return tuple(np.conj(np.asarray(found[k])) for k in active)

            return jax.pure_callback(call, like, g, y, *moved)

        op = jax.custom_vjp(forward)
        op.defvjp(lambda *moved: ((y := forward(*moved)), (moved, y)), back)
        check_grads(op, tuple(given[k] for k in active), order=1, modes=["rev"])
        return True, 0

    return run


def tensorflow_check(tolerance: float = 1e-3) -> Callable[[Plant, bool], tuple[Says, int]]:
    import tensorflow as tf

    def run(plant: Plant, wrong: bool) -> tuple[Says, int]:
        f, words = plant.faulty() if wrong else plant.correct()
        rule = vjp_of(words)
        given = example(plant)
        active = [k for k, x in enumerate(given) if is_active(x)]

        @tf.custom_gradient
        def op(*moved: Any) -> Any:
            xs = list(given)
            for k, x in zip(active, moved, strict=True):
                xs[k] = x.numpy()
            y = np.asarray(f(*xs))

            def back(g: Any) -> Any:
                found = rule(g.numpy(), y, xs)
                return [tf.constant(found[k]) for k in active]

            return tf.constant(y), back

        theory, numeric = tf.test.compute_gradient(op, [tf.constant(given[k]) for k in active])
        return all(np.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(theory, numeric, strict=True)), 0

    return run


CHECKERS: dict[str, tuple[str, Callable[[], Callable[[Plant, bool], tuple[Says, int]]]]] = {
    "tapegrad check, fast": ("numpy", lambda: tapegrad_check("fast")),
    "tapegrad check": ("numpy", lambda: tapegrad_check("default")),
    "torch gradcheck": ("torch", lambda: torch_check(fast=False)),
    "torch gradcheck, fast mode": ("torch", lambda: torch_check(fast=True)),
    "autograd check_grads": ("autograd", autograd_check),
    "jax check_grads": ("jax", jax_check),
    "tf compute_gradient, 1e-3": ("tensorflow", tensorflow_check),
}


def measure(name: str, plants: Iterable[Plant]) -> dict[str, Any]:
    """Caught, false alarms, unresolved, processor seconds; what a wrapper cannot even express counts as neither."""
    check = CHECKERS[name][1]()
    row: dict[str, Any] = {"caught": 0, "alarms": 0, "unresolved": 0, "missed": [], "alarmed": []}
    start = time.process_time()
    for plant in plants:
        for wrong in (False, True):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    ok, unresolved = check(plant, wrong)
                except Exception:  # a refusal, of whatever type the checker raises
                    ok, unresolved = False, 0
            row["unresolved"] += 0 if wrong else unresolved
            if wrong and not ok:
                row["caught"] += 1
            elif wrong:
                row["missed"].append(plant.name)
            elif not ok:
                row["alarms"] += 1
                row["alarmed"].append(plant.name)
    row["seconds"] = time.process_time() - start
    return row


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkers", description=__doc__)
    parser.add_argument("--only", metavar="NAMES", help="checkers, by comma: " + "; ".join(CHECKERS))
    parser.add_argument("--verbose", action="store_true", help="which faults are missed, and which alarms are false")
    options = parser.parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    chosen = [n for n in CHECKERS if options.only is None or any(part.strip() in n for part in options.only.split(","))]
    print(f"{len(KNOWN)} + {len(UNTUNED)} planted faults, {len({p.kind for p in [*KNOWN, *UNTUNED]})} kinds\n")
    print(
        "| checker | caught of the known | of those put aside | false alarms | unresolved | CPU s |\n|---|---|---|---|---|---|"
    )
    for name in chosen:
        if importlib.util.find_spec(CHECKERS[name][0]) is None:
            print(f"| {name} | not installed | | | | |")
            continue
        first, then = measure(name, KNOWN), measure(name, UNTUNED)
        print(
            f"| {name} | {first['caught']} of {len(KNOWN)} | {then['caught']} of {len(UNTUNED)} | {first['alarms'] + then['alarms']} | "
            f"{first['unresolved'] + then['unresolved']} | {first['seconds'] + then['seconds']:.1f} |",
            flush=True,
        )
        if options.verbose:
            print(f"    missed: {', '.join(first['missed'] + then['missed'])}")
            print(f"    false alarms: {', '.join(first['alarmed'] + then['alarmed'])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
