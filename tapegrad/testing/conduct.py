"""Laws of conduct: dtypes and shapes, memory, layout, repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import DTypeError
from tapegrad.ops.convert import asarray
from tapegrad.tape import GradientTape
from tapegrad.testing.law import LawError, Unresolved, differentiable, eps_of, fits, law, same, testable, wide
from tapegrad.testing.properties.conduct import MATRICES
from tapegrad.testing.subject import floating, is_floating
from tapegrad.testing.upheld import uphold

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.registry.op import Op
    from tapegrad.testing.case import Case

    Relay = Callable[[Any], Any]

_REAL = ("float32", "float64", "float16", "bfloat16")
_COMPLEX = ("complex64", "complex128")
_EVERY_OP_TAKES = frozenset(["float32", "float64", *_COMPLEX])


def _as(x: Any, name: str) -> Any:
    from tapegrad.dtypes import as_dtype

    return np.asarray(x.astype(as_dtype(name)))


@law(differentiable)
def gradients_fit(case: Case) -> None:
    """A cotangent has its argument's shape and dtype, a tangent its output's; in each precision they are right."""
    if not case.differentiable:
        return
    name = case.draw.choice(*(_COMPLEX if any(x.dtype.kind == "c" for x in case.active) else _REAL))
    xs = [_as(x, name) if is_floating(x) else x for x in case.xs]
    _check_dtypes(case, xs, required=name in _EVERY_OP_TAKES)


def several(op: Op) -> bool:
    return differentiable(op) and (op.variadic or len(op.arrays) > 1)


@law(several)
def mixed_dtypes_fit(case: Case) -> None:
    """The same for arguments of different dtypes: integers and Python scalars too, where arguments act on elements."""
    if not case.differentiable or len(case.active) < 2:
        return
    names = ["float32", "float64"] if case.op.real else ["float32", "float64", *_COMPLEX]
    words = [*names, "int64", "scalar"] if case.op.weak else names
    xs = [_mixed(x, case.draw.choice(*words)) if is_floating(x) else x for x in case.xs]
    if any(is_floating(x) for x in xs):
        _check_dtypes(case, xs, required=True)


def _mixed(x: Any, word: str) -> Any:
    if word == "int64":
        return np.asarray(np.ceil(x.real).astype(np.int64))
    if word == "scalar":
        return x.reshape(-1)[0].real.item() if x.size else x
    if x.dtype.kind == "c" and not word.startswith("complex"):
        x = x.real
    return _as(x, word)


def _check_dtypes(case: Case, xs: list[Any], *, required: bool) -> None:
    subject = case.subject_of(xs)
    try:
        ys = floating(subject.value(xs))
    except DTypeError:
        if required:
            raise
        return  # the op does not take this dtype, and says so
    if not ys:
        return
    gs = case.cotangents(ys)
    active = [xs[i] for i in subject.active]
    cs = subject.vjp(xs, gs)
    fits(cs, active, "cotangent")
    ts = [np.asarray(case.draw.noise(x.shape, x.dtype)) for x in active]
    fits(subject.jvp(xs, ts), ys, "tangent")
    _check_precision(case, xs, gs, cs, eps_of(active, ys))


def _check_precision(case: Case, xs: list[Any], gs: list[Any], cs: list[Any], eps: float) -> None:
    """Each cotangent against that of the same numbers in double precision."""
    exact = [wide(x) if is_floating(x) or (type(x) is float and case.op.weak) else x for x in xs]
    subject = case.subject_of(exact)
    reference = dict(zip(subject.active, subject.vjp(exact, list(map(wide, gs))), strict=True))
    for i, c in zip(case.subject_of(xs).active, cs, strict=True):
        e = reference[i]
        if c is None or not np.size(e):
            continue
        if e is None:
            raise LawError(f"cotangent of argument {i} is None in double precision only")
        if c.dtype.kind != "c":
            e = e.real
        largest = float(np.max(np.abs(e)))
        if not np.isfinite(largest) or largest > 1e4:
            raise Unresolved("half precision cannot hold this")
        d = float(np.max(np.abs(wide(c) - e)))
        if not d <= 60 * case.op.tolerance * eps * (
            largest + float(max(np.max(np.abs(wide(g)), initial=0) for g in gs)) * 0.1
        ):
            raise LawError(
                f"cotangent [{i}] in {c.dtype} is off by {d:.1e} at a size of {largest:.1e}, rounding is {eps:.1e}"
            )


# -- memory ------------------------------------------------------------------------------------------
def _frozen(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    x = x.copy()
    x.flags.writeable = False
    return x


def _bytes(xs: list[Any]) -> list[bytes]:
    return [np.ascontiguousarray(x).tobytes() for x in xs if x is not None]


@law(testable)
def nothing_is_written(case: Case) -> None:
    """Not the arguments, the cotangents, the outputs, nor a gradient that was given out before."""
    xs = [_frozen(x) for x in case.xs]
    ys = case.subject.value(xs)
    if not case.differentiable or not floating(ys):
        same([x for x in xs if hasattr(x, "dtype")], [x for x in case.xs if hasattr(x, "dtype")], 0.0, "argument")
        return
    gs, ts = [_frozen(g) for g in case.cotangents(ys)], [_frozen(t) for t in case.tangents()]
    tensors = [asarray(x) if isinstance(x, np.ndarray) else x for x in xs]
    sources = [tensors[i] for i in case.subject.active]
    given = list(map(asarray, gs))
    with GradientTape(persistent=True) as tape:
        tape.watch(sources)
        out = floating(case.call(tensors))
    held = [x for x in [*xs, *gs, *ts] if isinstance(x, np.ndarray)]
    held += [y.array for y in out if isinstance(y.array, np.ndarray)]
    before = _bytes(held)
    first = [c.array for c in tape.gradient(out, sources, output_gradients=given) if c is not None]
    copies = _bytes(first)
    tape.gradient(out, sources, output_gradients=list(map(asarray, case.cotangents(ys))))
    if _bytes(first) != copies:
        raise LawError("a gradient that was given out has changed")
    second = [c.array for c in tape.gradient(out, sources, output_gradients=given) if c is not None]
    case.subject.jvp(xs, ts)
    if _bytes(held) != before:
        raise LawError("an argument, a cotangent or an output has changed")
    if _bytes(second) != copies:
        raise LawError("the gradient of a persistent tape is another one the second time")


LAYOUTS = {(name, lay) for row in MATRICES for _, name, lay in row}


@law(testable)
def layout_does_not_matter(case: Case) -> None:
    """Values and gradients are those of the same arrays in C order."""
    ys = case.subject.value(case.xs)
    rtol = 1e3 * eps_of(floating(ys), case.active)
    for name, lay in LAYOUTS:
        xs = [lay(x) if isinstance(x, np.ndarray) and x.ndim else x for x in case.xs]
        same(case.subject.value(xs), ys, rtol, f"value in {name}")
    if case.differentiable and floating(ys):
        uphold(case, "layout")


@law(differentiable)
def calls_are_independent(case: Case) -> None:
    """Same arguments, same gradient, whatever else ran in between; and a value used twice has twice the gradient."""
    if not case.differentiable:
        return
    subject, xs = case.subject, case.xs
    ys = subject.value(xs)
    gs = case.cotangents(ys)
    if not gs:
        return
    once = subject.vjp(xs, gs)
    same(subject.vjp(xs, gs), once, 0.0, "cotangent of the second call")
    tensors = [asarray(x) if isinstance(x, np.ndarray) else x for x in xs]
    sources = [tensors[i] for i in subject.active]
    with GradientTape(persistent=True) as tape:
        tape.watch(sources)
        first, again = floating(case.call(tensors)), floating(case.call(tensors))
    subject.vjp([x + case.draw.direction(x) if is_floating(x) else x for x in xs], gs)
    given = list(map(asarray, gs))
    found = tape.gradient(first, sources, output_gradients=given)
    same([None if c is None else c.array for c in found], once, 0.0, "cotangent after another call")
    found = tape.gradient([*first, *again], sources, output_gradients=[*given, *given])
    doubled = [None if c is None else c + c for c in once]
    same([None if c is None else c.array for c in found], doubled, 8 * eps_of(ys, case.active), "cotangent of two uses")
