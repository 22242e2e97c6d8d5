"""Mistakes that people make in derivatives, as changes to somebody's right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import System

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Change = Callable[["Call"], list[Any]]


@final
class Call:
    """One call of a pullback: leaves, outputs, cotangents, the right gradients (None for zero), and a memory between calls."""

    __slots__ = ("active", "cs", "gs", "memory", "right", "xs", "ys")

    def __init__(
        self,
        xs: Arrays,
        active: list[Any],
        ys: list[Any],
        gs: list[Any],
        memory: dict[Any, Any],
        right: Callable[[Arrays], list[Any]],
    ) -> None:
        self.xs = xs
        self.active = active
        self.ys = ys
        self.gs = gs
        self.memory = memory
        self.right = right
        self.cs: list[Any] = []


MUTATORS: dict[str, Change] = {}


def _mistake(name: str) -> Callable[[Change], Change]:
    def enter(change: Change) -> Change:
        MUTATORS[name] = change
        return change

    return enter


def _each(name: str, f: Callable[[Any, Any], Any]) -> None:
    """A change to each gradient c of an argument x."""

    def change(call: Call) -> list[Any]:
        return [c if c is None else np.asarray(f(c, x)) for c, x in zip(call.right(call.gs), call.active, strict=True)]

    MUTATORS[name] = change


def _cast(c: Any, like: Any) -> Any:
    return np.asarray(c).astype(like.dtype)


_each("the wrong sign", lambda c, x: -c)
_each("twice as large", lambda c, x: 2 * c)
_each("half as large", lambda c, x: c / 2)
_each("0.1 % too large", lambda c, x: c * c.dtype.type(1.001))
_each("1e-5 too large", lambda c, x: c * c.dtype.type(1.00001))
_each("1e-6 too large", lambda c, x: c * c.dtype.type(1.000001))
_each("zero", lambda c, x: 0 * c)
_each("in single precision", lambda c, x: c.astype(np.complex64 if c.dtype.kind == "c" else np.float32).astype(c.dtype))
_each("a constant added", lambda c, x: c + c.dtype.type(1e-3))
_each("absolute values", lambda c, x: _cast(np.abs(c), c))
_each("an axis too many", lambda c, x: c[None])
_each(
    "in single precision, as its dtype too", lambda c, x: c.astype(np.complex64 if c.dtype.kind == "c" else np.float32)
)
_each("always in double precision", lambda c, x: c.astype(np.complex128 if c.dtype.kind == "c" else np.float64))
_each("not a number at zero", lambda c, x: c * (x / x))
_each("zero for negative arguments", lambda c, x: np.where(x.real < 0, np.zeros_like(c), c))
_each("10 % off above 1.5", lambda c, x: np.where(x.real > 1.5, c * c.dtype.type(1.1), c))
_each("10 % off next to zero", lambda c, x: np.where(np.abs(x) < 1e-2, c * c.dtype.type(1.1), c))
_each("zero far out", lambda c, x: np.where(np.abs(x) > 50, np.zeros_like(c), c))
_each("doubled at exactly zero", lambda c, x: np.where(x == 0, 2 * c + c.dtype.type(1), c))
_each("reversed along the last axis", lambda c, x: c[..., ::-1] if c.ndim else c)
_each("shifted along the last axis", lambda c, x: np.roll(c, 1, -1) if c.ndim else c)
_each("shifted along the first axis", lambda c, x: np.roll(c, 1, 0) if c.ndim > 1 else c)
_each(
    "transposed where square", lambda c, x: np.swapaxes(c, -1, -2) if c.ndim > 1 and c.shape[-1] == c.shape[-2] else c
)
_each(
    "in another order of axes",
    lambda c, x: c.reshape(c.shape, order="F").reshape(-1, order="F").reshape(c.shape) if c.ndim > 1 else c,
)
_each(
    "averaged over the first axis",
    lambda c, x: np.broadcast_to(c.mean(0, keepdims=True), c.shape).copy() if c.ndim and c.shape[0] else c,
)
_each("centred along the last axis", lambda c, x: c - c.mean(-1, keepdims=True) if c.ndim and c.size else c)
_each("zero beyond 32 elements", lambda c, x: np.where(np.arange(c.size).reshape(c.shape) < 32, c, np.zeros_like(c)))
_each("doubled for a single element", lambda c, x: 2 * c if c.size == 1 else c)
_each("without the first row", lambda c, x: _without(c, 0))
_each("without the last element", lambda c, x: _without(c.reshape(-1), -1).reshape(c.shape))
_each("without the first element", lambda c, x: _without(c.reshape(-1), 0).reshape(c.shape))
_each("one element 1 % off", lambda c, x: _one_off(c))
_each("conjugated", lambda c, x: np.conj(c) if c.dtype.kind == "c" else c)
_each("real where complex", lambda c, x: _cast(c.real, c) if c.dtype.kind == "c" else c)


def _without(c: Any, k: int) -> Any:
    if not c.ndim or not c.size:
        return c
    c = c.copy()
    c[k] = 0
    return c


def _one_off(c: Any) -> Any:
    c = c.copy()
    if c.size:
        c.reshape(-1)[c.size // 2] *= c.dtype.type(1.01)
    return c


@_mistake("the gradients of two arguments exchanged")
def _exchanged(call: Call) -> list[Any]:
    cs = call.right(call.gs)
    same = len(cs) > 1 and cs[0] is not None and cs[1] is not None and cs[0].shape == cs[1].shape
    return [cs[1], cs[0], *cs[2:]] if same else cs


@_mistake("none for the last argument")
def _last_missing(call: Call) -> list[Any]:
    cs = call.right(call.gs)
    return [*cs[:-1], np.zeros_like(call.active[-1])] if len(cs) > 1 else cs


@_mistake("cotangent clipped")
def _clipped(call: Call) -> list[Any]:
    return call.right(
        [
            np.clip(g.real, -10, 10).astype(g.dtype) if g.dtype.kind != "c" else g / np.maximum(1, np.abs(g) / 10)
            for g in call.gs
        ]
    )


@_mistake("cotangent squared, a little")
def _squared(call: Call) -> list[Any]:
    return call.right([np.asarray(g + g * np.abs(g) * 1e-5, g.dtype) for g in call.gs])


@_mistake("cotangent ignored")
def _ignored(call: Call) -> list[Any]:
    return call.right([np.ones_like(g) for g in call.gs])


@_mistake("cotangent averaged")
def _averaged(call: Call) -> list[Any]:
    return call.right([np.full_like(g, g.mean()) if g.size else g for g in call.gs])


@_mistake("size of the cotangent alone")
def _unsigned(call: Call) -> list[Any]:
    return call.right([_cast(np.abs(g), g) for g in call.gs])


@_mistake("cotangent divided by itself")
def _by_itself(call: Call) -> list[Any]:
    return call.right([np.asarray(g * g / g, g.dtype) for g in call.gs])


@_mistake("cotangent in the order of memory")
def _order(call: Call) -> list[Any]:
    return call.right([np.ravel(g, order="K").reshape(g.shape) for g in call.gs])


@_mistake("cotangent overwritten")
def _writes_cotangent(call: Call) -> list[Any]:
    cs = [c if c is None else c.copy() for c in call.right([g.copy() for g in call.gs])]
    for g in call.gs:
        np.multiply(g, 2, out=g)
    return cs


@_mistake("argument overwritten")
def _writes_argument(call: Call) -> list[Any]:
    cs = [c if c is None else c.copy() for c in call.right(call.gs)]
    for x in call.active:
        np.add(x, 1, out=x)
    return cs


@_mistake("output overwritten")
def _writes_output(call: Call) -> list[Any]:
    cs = [c if c is None else c.copy() for c in call.right(call.gs)]
    for y in call.ys:
        np.multiply(y, 2, out=y)
    return cs


@_mistake("raises for nothing")
def _raises_empty(call: Call) -> list[Any]:
    if any(x.size == 0 for x in call.active):
        raise ValueError("zero-size array")
    return call.right(call.gs)


@_mistake("one buffer for all calls")
def _buffer(call: Call) -> list[Any]:
    made: list[Any] = []
    for k, c in enumerate(call.right(call.gs)):
        if c is None:
            made.append(c)
            continue
        buffer = call.memory.setdefault((k, c.shape, c.dtype), np.empty_like(c))
        buffer[...] = c
        made.append(buffer)
    return made


@_mistake("accumulates from call to call")
def _accumulates(call: Call) -> list[Any]:
    call.memory["n"] = n = call.memory.get("n", 0) + 1
    return [c if c is None else np.asarray(c * c.dtype.type(1 + 1e-7 * (n % 3)), c.dtype) for c in call.right(call.gs)]


@_mistake("of the argument of the last forward call")
def _stale(call: Call) -> list[Any]:
    last = call.memory.get("last")
    if last is None or [np.shape(x) for x in last[0]] != [np.shape(x) for x in call.xs]:
        return call.right(call.gs)
    found: list[Any] = last[1](call.gs)
    return found


@_mistake("wrong where arguments are equal")
def _equal(call: Call) -> list[Any]:
    cs = call.right(call.gs)
    if all(x.size < 2 or np.unique(x).size == x.size for x in call.active):
        return cs
    return [c if c is None else np.asarray(c + c * 0.5 + c.dtype.type(0.25), c.dtype) for c in cs]


@_mistake("a mean in place of the sum over what was broadcast")
def _mean(call: Call) -> list[Any]:
    made = []
    for c, x in zip(call.right(call.gs), call.active, strict=True):
        share = max((y.size for y in call.ys), default=0) / max(x.size, 1)
        made.append(np.asarray(c / share, c.dtype) if c is not None and share > 1 and len(call.active) > 1 else c)
    return made


@final
class Mutant(System):
    """A system with one mistake in its pullback.  `touched` tells whether it has ever made a difference."""

    def __init__(self, inner: System, name: str) -> None:
        super().__init__(inner.name, inner.call, inner.active, inner.sources)
        self.inner = inner
        self.mistake = name
        self.change = MUTATORS[name]
        self.framework = inner.framework
        self.shows = inner.shows
        self.single = inner.single
        self.has_jvp = inner.has_jvp
        self.memory: dict[Any, Any] = {}
        self.touched = False

    def value(self, xs: Arrays) -> list[Any]:
        return self.inner.value(xs)

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        return self.inner.jvp(xs, ts)

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        return self.inner.second(xs, gs)

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        ys, pull = self.inner.run(xs)
        active = [xs[i] for i in self.active]
        self.memory["last"] = (list(xs), pull)

        def wrong(gs: Sequence[Any]) -> list[Any]:
            return self.change(Call(xs, active, ys, list(gs), self.memory, pull))

        return ys, wrong
