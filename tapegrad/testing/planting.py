"""Ops that are there for a while only, and copies of ops with something changed: to test the tests."""

from __future__ import annotations

from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tapegrad.registry.batching import batched_space
from tapegrad.registry.op import OPS, Op, no_derivative
from tapegrad.registry.space import NUMPY, F
from tapegrad.testing import broken
from tapegrad.testing.draw import Draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.testing import Law, LawError

STATEMENT = {"elementwise": "partials", "linear": "adjoint", "multilinear": "adjoint", "primitive": "pullback"}
COPIED = (
    "domain",
    "kinks",
    "real",
    "singular",
    "variadic",
    "weak",
    "pointwise",
    "outputs",
    "laws",
    "tolerance",
    "order",
)
DRAWS = [Draw(seed, complex=is_complex) for is_complex, count in ((False, 40), (True, 20)) for seed in range(count)]


def copy_of(
    name: str,
    *,
    kind: str | None = None,
    body: Callable[..., Any] | None = None,
    called: str | None = None,
    pushforward: dict[str, Any] | None = None,
    words: dict[str, Any] | None = None,
    **rules: Any,
) -> Op:
    """An op like the one of this name, but of another kind, or with another body, or with other rules by argument."""
    base = OPS[name]
    given = body or base.body
    called = called or f"planted_{name}"
    f = FunctionType(given.__code__, given.__globals__, called, given.__defaults__, given.__closure__)
    f.__kwdefaults__, f.__doc__, f.__module__ = given.__kwdefaults__, "Planted by a test.", base.body.__module__
    given_words = {**{w: getattr(base, w) for w in COPIED}, "public": False, **(words or {})}
    if kind is not None and given_words["laws"] is None:
        given_words["laws"] = lambda draw: (draw.array(),)
    op = Op(f, kind or base.kind, **given_words)
    if base.kept and op.kind == "primitive":
        op.keeping(**base.kept)
    if op.kind in STATEMENT:
        getattr(op, STATEMENT[op.kind])(**{a: rules.get(a, base.rules.get(a, no_derivative)) for a in op.arrays})
    pushes = {**(base.pushes if kind is None else {}), **(pushforward or {})}
    if op.kind == "primitive" and pushes:
        op.pushforward(**pushes)
    return op


@contextmanager
def planted(make: Callable[[], Op]) -> Iterator[Op]:
    op = make()
    try:
        yield op
    finally:
        OPS.pop(op.key, None)
        for space in (NUMPY, NUMPY.deferring, batched_space(), F):
            vars(space).pop(op.key, None)


def breach(make: Callable[[], Op], laws: list[Law] | None = None) -> LawError | None:
    with planted(make) as op:
        return broken(op, DRAWS, laws)
