"""Products with the Jacobian of a function, from the left and from the right, and with its Hessian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError
from tapegrad.forward import ForwardAccumulator
from tapegrad.tape import GradientTape
from tapegrad.transforms.arguments import alike, check_function, choose, guided_at, named, outputs, pair
from tapegrad.transforms.gradients import dense, grad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f` at these arguments, and its pullback: ``(y, pullback)``, with `has_aux` ``(y, pullback, aux)``.

    ``pullback(cotangents)`` takes one cotangent for each tensor of `y`, in its structure, and gives a tuple with one
    cotangent for each argument, in its structure.  `f` is evaluated once, and the pullback may be called any number of times.

    Raises ArgumentError, DTypeError or ShapeError for what does not fit.

    >>> import tapegrad as tg
    >>> y, pullback = tg.vjp(lambda a, b: a * b, tg.asarray([1.5, 2.0]), tg.asarray([3.0, -0.5]))
    >>> pullback(tg.asarray([1.0, 10.0]))
    (Tensor([ 3., -5.], dtype=float32), Tensor([ 1.5, 20. ], dtype=float32))
    """
    chosen, tape, y, aux = _recorded("vjp", f, primals, has_aux)
    leaves, _ = outputs("vjp", f, y)

    def pullback(cotangents: Any) -> Any:
        gs = alike(f"pullback of {named(f)}", "cotangents", cotangents, leaves)
        pairs = [(v, g) for v, g in zip(leaves, gs, strict=True) if g is not None]
        found = tape.gradient([v for v, _ in pairs], chosen.leaves, [g for _, g in pairs], unconnected_gradients="zero")
        return chosen.rebuild([dense(c) for c in found])

    return (y, pullback, aux) if has_aux else (y, pullback)


@guided_at
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """The value of `f` and its change along a direction: ``(y, t)``, with `has_aux` ``(y, t, aux)``.

    * `primals`: the positional arguments, a tuple or list.
    * `tangents`: the direction, in the same structure.

    The tangent of what does not depend on the arguments is zero, that of None is None.

    >>> import tapegrad as tg
    >>> tg.jvp(lambda x: tg.sin(x) * x, (tg.asarray(0.5),), (tg.asarray(2.0),))
    (Tensor(0.23971277, dtype=float32), Tensor(1.8364336, dtype=float32))
    """
    check_function("jvp", f)
    _check_sequences("jvp", f, primals, tangents)
    chosen = choose("jvp", f, primals, tuple(range(len(primals))))
    ts = alike(f"jvp({named(f)})", "tangents", tuple(tangents), chosen.leaves)
    pairs = [(x, t) for x, t in zip(chosen.leaves, ts, strict=True) if x is not None]
    with ForwardAccumulator([x for x, _ in pairs], [t for _, t in pairs]) as accumulator:
        given = f(*chosen.args)
    value, aux = pair("jvp", f, given) if has_aux else (given, None)
    leaves, rebuild = outputs("jvp", f, value)
    y, t = rebuild(leaves), rebuild(accumulator.jvp(leaves, unconnected_gradients="zero"))
    return (y, t, aux) if has_aux else (y, t)


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f` at these arguments, and its linear approximation there: ``(y, pushforward)``.

    ``pushforward(*tangents)`` takes one tangent for each argument, in its structure, and gives those of `y`.  `f` is
    evaluated once, and what that took is kept: for many directions at one point.  With `has_aux`, ``(y, pushforward, aux)``.

    >>> import tapegrad as tg
    >>> y, pushforward = tg.linearize(lambda x: x**2, tg.asarray([1.5, -1.0]))
    >>> pushforward(tg.asarray([1.0, 0.5]))
    Tensor([ 3., -1.], dtype=float32)
    """
    chosen, tape, y, aux = _recorded("linearize", f, primals, has_aux)
    leaves, rebuild = outputs("linearize", f, y)

    def pushforward(*tangents: Any) -> Any:
        ts = alike(f"pushforward of {named(f)}", "tangents", tangents, chosen.leaves)
        return rebuild(tape._push(chosen.leaves, ts, leaves))

    return (y, pushforward, aux) if has_aux else (y, pushforward)


@guided_at
def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of `f` times a direction, in the structure of `primals`: one forward pass over one reverse sweep.

    * `f`: gives a 0-d tensor.
    * `primals`, `tangents`: as for `jvp`.

    >>> import tapegrad as tg
    >>> tg.hvp(lambda x: tg.sum(x**3), (tg.asarray([1.5, -1.0]),), (tg.asarray([1.0, 10.0]),))
    (Tensor([  9., -60.], dtype=float32),)
    """
    check_function("hvp", f)
    _check_sequences("hvp", f, primals, tangents)
    return jvp(grad(f, tuple(range(len(primals)))), primals, tangents)[1]


def _recorded(what: str, f: Callable[..., Any], primals: Sequence[Any], has_aux: bool) -> Any:
    """The arguments, the tape that has recorded the call, what it gave, and what beside."""
    check_function(what, f)
    if not primals:
        raise ArgumentError(f"{what}({named(f)}): expected at least one argument to differentiate by")
    chosen = choose(what, f, primals, tuple(range(len(primals))))
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch([x for x in chosen.leaves if x is not None])
        given = f(*chosen.args)
    value, aux = pair(what, f, given) if has_aux else (given, None)
    return chosen, tape, value, aux


def _check_sequences(what: str, f: Any, primals: Any, tangents: Any) -> None:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise ArgumentError(
                f"{what}({named(f)}, primals, tangents): expected {name} as a tuple, one for each argument of {named(f)}, got "
                f"{type(given).__name__}; write ({name[:-1]},)"
            )
    if len(primals) != len(tangents) or not primals:
        raise ArgumentError(
            f"{what}({named(f)}, primals, tangents): expected as many tangents as primals, and at least one; got "
            f"{len(tangents)} and {len(primals)}"
        )


__all__ = ["hvp", "jvp", "linearize", "vjp"]
