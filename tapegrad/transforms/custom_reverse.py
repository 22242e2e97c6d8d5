"""A function with a derivative of its own, given as its pullback."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from tapegrad.core.engine import sweep
from tapegrad.core.node import WATCH, Node, Recorded, make_node
from tapegrad.core.recorder import EMPTY, Recorder, enter, group, leave, release, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DTypeError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.ops.convert import asarray
from tapegrad.registry.accumulate import settle
from tapegrad.registry.batching import lift, matched
from tapegrad.registry.lengths import brought_to, may_agree
from tapegrad.registry.op import Spec, spec_of
from tapegrad.registry.several import filled, picked
from tapegrad.registry.space import SCALARS, F, space_of_type
from tapegrad.sparse import SparseRows
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.variable import Variable

P = ParamSpec("P")
T = TypeVar("T")


def custom_gradient(function: Callable[P, tuple[T, Callable[..., Any]]]) -> Callable[P, T]:
    """A function with a derivative of its own: a decorator for one that returns ``(value, grad_fn)``.

    * `value`: a tensor, or a nested structure of them: what the decorated function gives.
    * `grad_fn(*cotangents)`: takes one cotangent for each tensor of `value` (zeros where nothing depends on it), and
      gives one gradient for each array or number among the positional arguments, flattened, None for none.

    What the function computes has no part in the derivative of `value`; but what `grad_fn` uses of it is recorded, so
    derivatives of derivatives are those of `grad_fn`.  Keyword arguments are constants.  A function that reads watched
    variables takes them on: its `grad_fn` has a keyword `variables`, a list of them in the order in which they were
    read, and gives ``(gradients, gradients of the variables)``.  In forward mode `grad_fn` is taken to be linear.

    Raises ArgumentError if variables are read and `grad_fn` has no such keyword; as a derivative is taken, ShapeError or
    DTypeError for gradients that do not fit the arguments.

    >>> import tapegrad as tg
    >>> @tg.custom_gradient
    ... def rounded(x):
    ...     return tg.round(x), lambda g: g  # "straight through": as if it did nothing
    >>> x = tg.asarray([0.4, 1.6])
    >>> with tg.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = rounded(x) ** 2
    >>> tape.gradient(y, x)
    Tensor([0., 4.], dtype=float32)
    """
    name = getattr(function, "__name__", repr(function))
    op = Recorded(name, _pull, _pull_recorded, _push, _push_recorded)

    @functools.wraps(function)
    def decorated(*args: P.args, **kwargs: P.kwargs) -> T:
        given, variables = _run(name, function, args, kwargs)
        value, grad_fn = given
        leaves, rebuild = flatten(value)
        ys = tuple(asarray(y).read()[0] for y in leaves)
        inputs = [x for x in flatten(args)[0] if _is_number(x)]
        if variables:
            beside = {id(x) for x in (*inputs, *flatten(kwargs)[0])}
            variables = [v for v in variables if id(v) not in beside]
            if variables and not _takes_variables(grad_fn):
                raise ArgumentError(_unexpected(name, variables))
        rule = _Rule(name, grad_fn, tuple(map(_described, inputs)), tuple(variables))
        found: T = rebuild(list(_record(op, rule, ys, [*inputs, *variables])))
        return found

    return decorated


class _Rule(NamedTuple):
    """What a node keeps of one call."""

    name: str
    grad_fn: Callable[..., Any]
    inputs: tuple[Spec | None, ...]  # None for what has no gradient
    variables: tuple[Variable, ...]


def _run(name: str, function: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, Callable[..., Any]], list[Variable]]:
    """What the function gives, and the variables that it has read and that somebody else watches."""
    before = state.active
    if before is EMPTY:
        return _pair(name, function(*args, **kwargs)), []
    reader = Recorder()
    enter(reader)
    try:
        given = function(*args, **kwargs)
    finally:
        leave(reader)
        read = reader.variables
        release(reader)  # nodes belong to the others, as if `reader` had never been there
    return _pair(name, given), [v for v in read if not v.node.owners.recorders.isdisjoint(before.recorders)]


def _pair(name: str, given: Any) -> tuple[Any, Callable[..., Any]]:
    if type(given) is not tuple or len(given) != 2 or not callable(given[1]):
        raise ArgumentError(
            f"custom_gradient: expected {name} to return (value, grad_fn), got {_kind(given)}; grad_fn is a function of "
            "one cotangent for each tensor in value"
        )
    return given


def _kind(x: Any) -> str:
    return f"({', '.join(map(_kind, x))})" if type(x) is tuple else type(x).__name__


def _is_number(x: Any) -> bool:
    return isinstance(x, Tensor | np.ndarray | np.generic) or type(x) in SCALARS


def _described(x: Any) -> Spec | None:
    return spec_of(x.array) if isinstance(x, Tensor) and is_inexact(x.array.dtype) else None


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    import inspect  # 10 ms, and rarely wanted

    params = inspect.signature(grad_fn).parameters
    return "variables" in params or any(p.kind is p.VAR_KEYWORD for p in params.values())


def _unexpected(name: str, variables: Sequence[Variable]) -> str:
    listed = ", ".join(repr(v.name) if v.name else f"{v.dtype} {v.shape}" for v in variables)
    return (
        f"custom_gradient: {name} reads variables that are watched ({listed}), so its grad_fn must accept keyword argument "
        "'variables'; write def grad_fn(*cotangents, variables): return gradients, gradients_of_variables, or give them "
        f"to {name} as arguments"
    )


def _record(op: Recorded, rule: _Rule, ys: tuple[Any, ...], inputs: list[Any]) -> tuple[Tensor, ...]:
    """The values as tensors of one node for the whole call, whose parents are the inputs.

    Every active recorder owns it, whoever watches the inputs: `grad_fn` may use what any of them watches.  But one that
    keeps nothing, and is always active, owns it only where it knows an input.
    """
    raws, nodes = zip(*(x.read() if isinstance(x, Tensor) else (x, None) for x in inputs), strict=True) if inputs else ((), ())
    owners = state.active
    if owners is EMPTY or not any(_is_known(n) for n in nodes):
        return tuple(map(tensor, ys))
    known = frozenset().union(*(n.owners.recorders for n in nodes if n is not None))
    owners = group(frozenset(r for r in owners.recorders if r.keeping or r in known))
    lifted = lift([*raws, *ys], [*nodes, *[None] * len(ys)])
    if lifted is not None:
        nodes = tuple(x.node if isinstance(x, Tensor) else None for x in lifted[: len(nodes)])
    parents = tuple(n if _is_known(n) else None for n in nodes)
    first = next(n for n in parents if n is not None)
    return picked(ys, make_node(op, first, parents, rule, tuple(map(spec_of, ys)), owners))


def _is_known(node: Node | None) -> bool:
    return node is not None and not node.owners.recorders.isdisjoint(state.active.recorders)


def _gradients(rule: _Rule, cotangents: Sequence[Tensor]) -> list[Tensor | None]:
    """What `grad_fn` gives for each input and then for each variable, checked."""
    if rule.variables:
        found = rule.grad_fn(*cotangents, variables=list(rule.variables))
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise ArgumentError(
                f"custom_gradient: expected grad_fn of {rule.name} to return (gradients, gradients_of_variables), as "
                f"{rule.name} reads variables; got {_kind(found)}"
            )
        found, of_variables = found
    else:
        found, of_variables = rule.grad_fn(*cotangents), []
    return [
        *_fitted(rule, "gradients", "arrays and numbers among its positional arguments", found, rule.inputs),
        *_fitted(
            rule, "gradients_of_variables", "variables that it reads", of_variables, [spec_of(v.array) for v in rule.variables]
        ),
    ]


def _fitted(rule: _Rule, what: str, whose: str, found: Any, specs: Sequence[Spec | None]) -> list[Tensor | None]:
    gradients, _ = flatten(found) if specs else ([], None)
    if len(gradients) != len(specs):
        raise ShapeError(
            f"custom_gradient: expected grad_fn of {rule.name} to return len({what}) == {len(specs)}, one for each of "
            f"the {whose} (None for none); got {len(gradients)}"
        )
    return [_one(rule, f"{what}[{i}]", c, s) for i, (c, s) in enumerate(zip(gradients, specs, strict=True))]


def _one(rule: _Rule, what: str, c: Any, spec: Spec | None) -> Tensor | None:
    if c is None or spec is None:
        return None
    if type(c) is SparseRows and c.shape == spec.shape and c.dtype == spec.dtype:
        return c
    c = asarray(c, dtype=spec.dtype if type(c) in SCALARS else None)
    if c.shape != spec.shape and may_agree(c.shape, spec.shape):
        c = brought_to(c, spec.shape)
    if c.shape != spec.shape:
        raise ShapeError(
            f"custom_gradient: expected grad_fn of {rule.name} to return {what}.shape == {spec.shape}, the argument's; "
            f"got {c.shape}"
        )
    if c.dtype != spec.dtype:
        raise DTypeError(
            f"custom_gradient: expected grad_fn of {rule.name} to return {what}.dtype == {spec.dtype}, the argument's; "
            f"got {c.dtype}; write tapegrad.astype(gradient, {spec.dtype})"
        )
    return c


# -- the steps of the engine --------------------------------------------------------------------------
def _pull(node: Node, g: list[Any]) -> None:
    before, state.active = state.active, EMPTY  # this sweep is not recorded
    try:
        space = space_of_type(type(next(c for c in g if c is not None)))
        found = _gradients(node.s, [tensor(c) for c in filled(space, g, node.t)])
    finally:
        state.active = before
    like = next(c for c in g if c is not None)
    _pass_on(node, [None if c is None else _raw(c, like) for c in found])


def _raw(c: Tensor, like: Any) -> Any:
    return c.rows if type(c) is SparseRows and type(like) is not Batched else matched(c.array, like)


def _pull_recorded(node: Node, g: list[Any]) -> None:
    found = _gradients(node.s, filled(F, g, node.t))
    _pass_on(node, [c.to_dense() if type(c) is SparseRows else c for c in found])


def _pass_on(node: Node, found: Sequence[Any]) -> None:
    assert type(node.q) is tuple
    for parent, c in zip(node.q, found, strict=True):
        if parent is not None and c is not None and parent.mark is node.mark:
            settle(parent, c)


def _push(node: Node, tangents: tuple[Any, ...]) -> Any:
    before, state.active = state.active, EMPTY
    try:
        return _twice(node, tangents, recorded=False)
    finally:
        state.active = before


def _push_recorded(node: Node, tangents: tuple[Any, ...]) -> Any:
    return _twice(node, tangents, recorded=True)


def _twice(node: Node, tangents: tuple[Any, ...], *, recorded: bool) -> tuple[Any, ...]:
    """J t from `grad_fn` alone: g -> J* g is linear, and the pullback of that, applied to t, is J t."""
    t = next(t for t in tangents if t is not None)
    space = space_of_type(type(t.array if recorded else t))
    recorder = Recorder(auto=False, inner=True)
    owners = group(frozenset([recorder]))
    probes = [
        linked(space.ones(s.shape, dtype=s.dtype), make_node(WATCH, None, None, None, None, owners)) for s in node.t
    ]
    enter(recorder)
    try:
        gradients = _gradients(node.s, probes)
    finally:
        leave(recorder)
    seeds = [
        (c.node, t if recorded else matched(t, c.array))
        for c, t in zip(gradients, tangents, strict=True)
        if t is not None and c is not None and c.node is not None
    ]
    try:
        found = sweep(seeds, [p.node for p in probes], recorder, recorded=recorded) if seeds else [None] * len(probes)
    finally:
        release(recorder)
    return filled(F if recorded else space, found, node.t)
