"""A function with a derivative of its own, given as its pushforward."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, final

from tapegrad.core.engine import sweep
from tapegrad.core.node import WATCH, Node, Recorded, make_node, receive
from tapegrad.core.recorder import EMPTY, Recorder, enter, group, leave, release, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DeclarationError, DTypeError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.batching import lift, matched
from tapegrad.registry.lengths import brought_to, may_agree
from tapegrad.registry.op import spec_of
from tapegrad.registry.several import filled, picked
from tapegrad.registry.space import F, space_of, space_of_type
from tapegrad.transforms.arguments import anew, check_function, is_number, named, outputs
from tapegrad.transforms.calls import is_known
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.registry.op import Spec


@final
class custom_jvp:
    """A function with a derivative of its own: a decorator, whose `defjvp` takes the rule.

    ``rule(primals, tangents)`` gets the positional arguments and their tangents, two tuples, and gives ``(y, t)``: the value
    and its tangent, in one structure.  `t` is linear in the tangents; then reverse mode follows from it.  An argument that
    is no floating tensor or number has None as its tangent.  Keyword arguments are constants, and the rule gets them too.

    Derivatives of derivatives are those of the rule.  Whatever is differentiated has to be an argument: a function that reads
    anything else that is recorded raises ArgumentError.

    >>> import tapegrad as tg
    >>> @tg.custom_jvp
    ... def log1pexp(x):
    ...     return tg.maximum(x, 0.0) + tg.log(1 + tg.exp(-tg.abs(x)))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1 + tg.exp(-x))
    >>> tg.grad(log1pexp)(0.5), tg.grad(tg.grad(log1pexp))(0.5)
    (Tensor(0.62245935, dtype=float32), Tensor(0.23500372, dtype=float32))
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        check_function("custom_jvp", f)
        functools.update_wrapper(self, f)
        self._function = f
        self._rule: Callable[..., Any] | None = None
        self._op = Recorded(named(f), _pull, _pull_recorded, _push, _push_recorded)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Take the rule; it is given back, so that this is a decorator."""
        check_function("defjvp", rule)
        self._rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = named(self._function)
        if self._rule is None:
            raise DeclarationError(f"custom_jvp: {name} is called before its rule was given; write @{name}.defjvp")
        inputs, rebuild_inputs = flatten(args)
        inputs = [anew(x if isinstance(x, Tensor) else asarray(x)) if _is_floating(x) else x for x in inputs]
        nodes = [x.node if _is_floating(x) else None for x in inputs]
        bare = [_without_node(x) if _is_floating(x) else x for x in inputs]
        leaves, rebuild = outputs("custom_jvp", self._function, self._function(*rebuild_inputs(bare), **kwargs))
        if any(y is not None and is_known(y.read()[1]) for y in leaves):
            raise ArgumentError(
                f"custom_jvp: {name} reads a variable, or a recorded tensor, that is none of its arguments, and its rule could "
                f"not say how that matters; give it to {name} as an argument, or as tapegrad.stop_gradient(x)"
            )
        ys = [None if y is None else y.read()[0] for y in leaves]
        if not any(map(is_known, nodes)):
            return rebuild([None if y is None else tensor(y) for y in ys])
        return rebuild(_recorded(self._op, _Call(name, self._rule, kwargs, rebuild_inputs, inputs, ys, tuple(nodes))))


class _Call(NamedTuple):
    """What a node keeps of one call."""

    name: str
    rule: Callable[..., Any]
    kwargs: dict[str, Any]
    rebuild: Callable[[list[Any]], Any]
    inputs: list[Any]  # leaves of the arguments; floating ones as tensors
    ys: list[Any]  # raw outputs; None where the function gave None
    parents: tuple[Node | None, ...]

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(spec_of(y) for y in self.ys if y is not None)


def _without_node(x: Any) -> Any:
    bare = anew(x)
    bare.node = None
    return bare


def _is_floating(x: Any) -> bool:
    return is_number(x) and (bool(is_inexact(x.dtype)) if hasattr(x, "dtype") else type(x) in (float, complex))


def _recorded(op: Recorded, call: _Call) -> list[Any]:
    places = [i for i, x in enumerate(call.inputs) if _is_floating(x)]
    present = [y for y in call.ys if y is not None]
    raws = [call.inputs[i].array for i in places]
    lifted = lift([*raws, *present], [*(call.parents[i] for i in places), *[None] * len(present)])
    parents = list(call.parents)
    if lifted is not None:
        for i, x in zip(places, lifted, strict=False):
            parents[i] = x.node
            call.inputs[i] = x
    known = tuple(n if is_known(n) else None for n in parents)
    first = next(n for n in known if n is not None)
    hub = make_node(op, first, known, call._replace(parents=known), tuple(map(spec_of, present)), state.active)
    found = iter(picked(tuple(present), hub))
    return [None if y is None else next(found) for y in call.ys]


# -- the steps of the engine --------------------------------------------------------------------------
def _apply(node: Node, tangents: Sequence[Any], *, recorded: bool) -> list[Tensor]:
    """What the rule gives as tangents of the outputs, checked; tangents of the inputs are Tensors, or None for zero."""
    call: _Call = node.s
    primals: list[Any] = []
    ts: list[Any] = []
    for x, n, t in zip(call.inputs, call.parents, tangents, strict=True):
        if not _is_floating(x):
            primals.append(x)
            ts.append(None)
            continue
        primals.append(linked(x.array, n if recorded else None))
        ts.append(F.zeros_like(tensor(x.array)) if t is None else t)
    given = call.rule(call.rebuild(primals), call.rebuild(ts), **call.kwargs)
    if not isinstance(given, tuple) or len(given) != 2:
        raise ArgumentError(f"custom_jvp: expected the rule of {call.name} to return (y, t), got {type(given).__name__}")
    found = [t for t, y in zip(_leaves(call, given[1]), call.ys, strict=True) if y is not None]
    return [_checked(call.name, t, s) for t, s in zip(found, call.specs, strict=True)]


def _leaves(call: _Call, t: Any) -> list[Any]:
    found, _ = flatten(t)
    if len(found) != len(call.ys):
        raise ShapeError(f"custom_jvp: expected the rule of {call.name} to return {len(call.ys)} tangents, got {len(found)}")
    return found


def _checked(name: str, t: Any, spec: Spec) -> Tensor:
    if t is None:
        return F.zeros(spec.shape, dtype=spec.dtype)
    made = asarray(t, dtype=None if isinstance(t, Tensor) else spec.dtype)
    if made.shape != spec.shape and may_agree(made.shape, spec.shape):
        made = brought_to(made, spec.shape)
    if made.shape != spec.shape:
        raise ShapeError(
            f"custom_jvp: expected the rule of {name} to return t.shape == {spec.shape}, that of its value; got {made.shape}"
        )
    if made.dtype != spec.dtype and is_inexact(spec.dtype):
        raise DTypeError(
            f"custom_jvp: expected the rule of {name} to return t.dtype == {spec.dtype}, that of its value; got {made.dtype}"
        )
    return made


def _push(node: Node, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    before, state.active = state.active, EMPTY  # nobody records this
    try:
        found = _apply(node, [None if t is None else tensor(t) for t in tangents], recorded=False)
    finally:
        state.active = before
    return tuple(t.read()[0] for t in found)


def _push_recorded(node: Node, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_apply(node, tangents, recorded=True))


def _pull(node: Node, g: list[Any]) -> None:
    before, state.active = state.active, EMPTY
    try:
        _transposed(node, g, recorded=False)
    finally:
        state.active = before


def _pull_recorded(node: Node, g: list[Any]) -> None:
    _transposed(node, g, recorded=True)


def _transposed(node: Node, g: list[Any], *, recorded: bool) -> None:
    """The rule is linear in the tangents, so its pullback at any tangents, here zero, is the transpose."""
    assert type(node.q) is tuple
    call: _Call = node.s
    recorder = Recorder(auto=False, inner=True)
    owners = group(frozenset([recorder]))
    wanted = [p is not None and p.mark is node.mark for p in node.q]
    probes = [
        linked(space_of([x.array]).zeros_like(x.array), make_node(WATCH, None, None, None, None, owners)) if w else None
        for x, w in zip(call.inputs, wanted, strict=True)
    ]
    enter(recorder)
    try:
        ts = _apply(node, probes, recorded=recorded)
    finally:
        leave(recorder)
    space = F if recorded else space_of_type(type(next(c for c in g if c is not None)))
    seeds = [
        (t.node, c if recorded else matched(c, t.array))
        for t, c in zip(ts, filled(space, g, node.t), strict=True)
        if t.node is not None and recorder in t.node.owners.recorders
    ]
    try:
        found = sweep(seeds, [None if p is None else p.node for p in probes], recorder, recorded=recorded) if seeds else []
    finally:
        release(recorder)
    for p, c in zip(node.q, found, strict=False):
        if c is not None and p is not None:
            receive(p, c)


__all__ = ["custom_jvp"]
