"""How a derivative behaves: shapes, memory, layout, repetition."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.properties.derivative import eps_of
from tapegrad.testing.trial import filled, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial


def shape(t: Trial) -> Outcome:
    """A gradient has the shape and the dtype of its argument."""
    shows = t.system.shows
    for i, c, x in zip(t.system.active, t.grads, t.active, strict=True):
        name = t.settings.names[i]
        if c.shape != x.shape and "shapes" in shows:
            return Failure("shape", f"the gradient of {name} has the shape {c.shape}, {name} itself {x.shape}")
        if c.dtype != x.dtype and "dtypes" in shows:
            return Failure("shape", f"the gradient of {name} is {c.dtype}, {name} itself {x.dtype}")
    return HOLDS


def pure(t: Trial) -> Outcome:
    """Inputs, cotangents and outputs stay as they are; so does a gradient that was given out."""
    if "writes" not in t.system.shows:
        return SILENT
    for i, (a, b) in enumerate(zip(t.xs, t.kept, strict=True)):
        if type(a) is np.ndarray and not _identical(a, b):
            return Failure("pure", f"{t.settings.names[i]} is overwritten")
    if not all(map(_identical, t.given, t.gs)):
        return Failure("pure", "the cotangent is overwritten")
    if not all(map(_identical, t.ys, t.ys_before)):
        return Failure("pure", "the output is overwritten by the vjp")
    copies = [c.copy() for c in t.grads]
    both = _one_array(t.raw) if "aliases" in t.system.shows else None
    if both is not None:
        first, then = (t.settings.names[t.system.active[k]] for k in both)
        what = f"the gradients of {first} and {then} are one array, so that adding to one changes the other"
        if t.settings.dtypes == "fail":
            return Failure("pure", what)
        t.settings.noted.append(f"not counted as wrong: {what}")
    t.other()
    if not all(map(_identical, t.grads, copies)):
        return Failure("pure", "a gradient that was given out is overwritten by the next call")
    return HOLDS


def _one_array(grads: Sequence[Any]) -> tuple[int, int] | None:
    """The first two gradients that share memory; None if there are none."""
    given = [(k, c) for k, c in enumerate(grads) if c is not None and c.size]
    return next(
        (
            (j, k)
            for (j, a), (k, b) in itertools.combinations(given, 2)
            if np.may_share_memory(a, b) and np.shares_memory(a, b)
        ),
        None,
    )


def repeat(t: Trial) -> Outcome:
    """The same gradient again: from the same run, and from a new one with another forward in between."""
    again = filled(t.pull([g.copy() for g in t.gs]), t.active)
    problem = _differs(t, again)
    if problem:
        return Failure("repeat", f"the vjp, called twice, gives two answers{problem}")
    with np.errstate(all="ignore"):
        ys, pull = t.system.run(fresh(t.kept))
        if not all(map(_close_to(t), ys, t.ys_before)):
            return Failure(
                "repeat", "the function, called twice, gives two values; seed it, or give nondeterministic=1e-6"
            )
        others = t.direction()
        try:
            t.system.run(t.system.replaced(t.kept, [x + 0.5 * u for x, u in zip(t.active, others, strict=True)]))
        except t.system.refusals:
            return HOLDS
        problem = _differs(t, filled(pull([g.copy() for g in t.gs]), t.active))
    if problem:
        return Failure(
            "repeat", f"the gradient changes if the function is called on something else before its vjp{problem}"
        )
    return HOLDS


def _differs(t: Trial, again: Sequence[Any]) -> str:
    if all(map(_close_to(t), again, t.grads)):
        return ""
    sizes = [float(np.abs(a - b).max()) for a, b in zip(again, t.grads, strict=True) if a.shape == b.shape and a.size]
    return f", {max(sizes):.2g} apart" if sizes else ""


def _close_to(t: Trial) -> Callable[[Any, Any], bool]:
    tolerance = t.settings.nondeterministic
    if not tolerance:
        return _identical
    return lambda a, b: a.shape == b.shape and bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def _identical(a: Any, b: Any) -> bool:
    return a.shape == b.shape and (
        a.tobytes() == b.tobytes() or bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    )


def fortran(x: Any) -> Any:
    """The same array in Fortran order."""
    return np.asfortranarray(x)


def strided(x: Any) -> Any:
    """The same array, every other element of a larger one."""
    big = np.full((*x.shape[:-1], 2 * x.shape[-1]), 7, x.dtype)
    big[..., ::2] = x
    return big[..., ::2]


def backward(x: Any) -> Any:
    """The same array, with negative strides."""
    back = (slice(None, None, -1),) * x.ndim
    return x[back].copy()[back]


#: Layouts that are tried: of what, which, and what the framework has to have for it.
INPUTS, COTANGENT, BOTH = "inputs", "cotangent", "inputs and cotangent"
_FORTRAN = ((INPUTS, "Fortran order", fortran), (COTANGENT, "Fortran order", fortran))
MATRICES = (
    _FORTRAN,
    (*_FORTRAN, (BOTH, "every other element", strided)),
    (*_FORTRAN, (BOTH, "negative strides", backward)),
)
VECTORS = (
    ((BOTH, "every other element", strided),),
    ((BOTH, "negative strides", backward),),
    ((COTANGENT, "every other element", strided),),
)


def layout(t: Trial) -> Outcome:
    """The gradient is that of the same arrays in C order."""
    if not t.point.tame or "strides" not in t.system.shows or t.empty:
        return SILENT
    flat = all(min(x.ndim, x.size) < 2 for x in t.active)
    for of, name, lay in (VECTORS if flat else MATRICES)[t.point.seed % 3]:
        if name == "negative strides" and name not in t.system.shows:
            continue
        found = _laid(t, of, name, lay)
        if found is not None:
            return found
    return HOLDS


def _laid(t: Trial, of: str, name: str, lay: Callable[[Any], Any]) -> Failure | None:
    xs = [lay(x) if of != COTANGENT and type(x) is np.ndarray and x.ndim else x for x in fresh(t.kept)]
    gs = [lay(g) if of != INPUTS and g.ndim else g.copy() for g in t.gs]
    found = filled(t.system.run(xs)[1](gs), t.active)
    for i, a, b in zip(t.system.active, found, t.grads, strict=True):
        if a.shape != b.shape:
            return Failure(
                "layout",
                f"with {of} in {name}, the gradient of {t.settings.names[i]} has the shape {a.shape}, not {b.shape}",
            )
        if a.size and not _identical(a, b):
            scale = float(np.nanmax(np.abs(b), initial=0.0)) + 1e-3 * max(
                float(np.abs(g).max(initial=0.0)) for g in t.gs
            )
            d = float(np.max(np.abs(a - b)))
            if d > 1e-11 * scale * eps_of(t) / 2.2e-16:
                return Failure(
                    "layout", f"with {of} in {name}, the gradient of {t.settings.names[i]} changes by {d:.2g}"
                )
    return None
