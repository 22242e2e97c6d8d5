"""The decorators that declare an op, one for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tapegrad.registry.op import Op

if TYPE_CHECKING:
    from collections.abc import Callable

    Body = Callable[..., Any]
    Decorator = Callable[[Body], Op]


def _declare(kind: str, body: Body | None, words: dict[str, Any]) -> Any:
    def decorate(f: Body) -> Op:
        return Op(f, kind, **words)

    return decorate if body is None else decorate(body)


@overload
def elementwise(body: Body, /) -> Op: ...
@overload
def elementwise(**words: Any) -> Decorator: ...
def elementwise(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare an op that acts on each element, after broadcasting; give `partials` next.

    * `domain`: (lowest, highest) value of the argument, or a dict of them by name; where laws are tested.
    * `kinks`: values at which the derivative jumps, or a function of the raw arrays that is zero there; the docstring
      says which value is taken.
    * `real`: takes no complex numbers.  Of others the partial is that of a holomorphic function, which `abs` for one is not.
    * `singular`: a partial can be infinite or NaN where the value is not: a zero cotangent then gives zero.
    * `masks`: it chooses between its arguments, so that zero cotangents stand for what was not chosen: from there on a zero
      cotangent gives zero in every op.
    * `cuts`: where its partial is 0 an element has no part in the value, as below 0 in `relu`: a tangent there gives zero, whatever
      it is, and so does what higher orders send there.
    * `symbol`: the Python operator that computes the same on arrays.

    ::

        @elementwise(domain=(-3, 3), real=True)
        def softsign(xp, x):
            """x / (1 + abs(x)) for each element."""
            return x / (1 + xp.abs(x))
        softsign.partials(x=lambda F, x: 1 / (1 + F.abs(x)) ** 2)
    '''
    return _declare("elementwise", body, words)


@overload
def linear(body: Body, /) -> Op: ...
@overload
def linear(**words: Any) -> Decorator: ...
def linear(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare an op that is linear in its arrays taken together; give `adjoint` next.

    `laws` gives arguments for the tests: a function of a `Draw` (see `tapegrad.testing`) that returns arrays, and
    last a dict of parameters if there are any; for an op that is not public and cannot be called by itself, a text that
    says where it is tested.  `masks` as for `elementwise`; with the name of a parameter, where that is an array of booleans.

    A rule is a function ``(F, g, names...)`` of the cotangent; the array itself reaches it as shape and dtype only.
    ``tapegrad.testing.broken(op, [Draw(seed) for seed in range(20)])`` holds an op to the laws that follow from its
    declaration, with such arguments, and gives what is broken, or None::

        @linear(laws=lambda draw: (draw.array("n", 3), {"places": 2}))
        def rotated(xp, x, /, places):
            """`x` moved along its last axis, round the end."""
            return xp.roll(x, places, axis=-1)
        rotated.adjoint(x=lambda F, g, places: F.roll(g, -places, axis=-1))
    '''
    return _declare("linear", body, words)


@overload
def multilinear(body: Body, /) -> Op: ...
@overload
def multilinear(**words: Any) -> Decorator: ...
def multilinear(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare an op that is linear in each array while the others are held; give `adjoint` next.

    `laws` and rules as for `linear`; a rule may name the other arrays, which reach it whole::

        @multilinear(laws=lambda draw: (draw.array("n"), draw.array("m")))
        def pairs(xp, x1, x2, /):
            """The products of each element of one vector with each of another, (n), (m) -> (n, m)."""
            return x1[:, None] * x2
        pairs.adjoint(x1=lambda F, g, x2: F.matmul(g, F.conj(x2)), x2=lambda F, g, x1: F.matmul(F.conj(x1), g))
    '''
    return _declare("multilinear", body, words)


@overload
def primitive(body: Body, /) -> Op: ...
@overload
def primitive(**words: Any) -> Decorator: ...
def primitive(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare any other op; give `pullback`, and where worth it `pushforward`, next.

    `laws` as for `linear`.  A rule is a function ``(F, g, names...)`` of the cotangent, arguments, parameters and `y`, the
    output; that of a pushforward takes the tangent `t` of its argument.  Without one, the pullback is applied twice::

        @primitive(real=True, laws=lambda draw: (draw.array("n"),))
        def ball(xp, x, /):
            """A vector moved into the unit ball, x / sqrt(1 + x . x), (n) -> (n)."""
            return x / xp.sqrt(1 + xp.sum(x * x))

        def ball_pullback(F, g, x, y):
            return (g - y * F.sum(g * y)) / F.sqrt(1 + F.sum(x * x))

        ball.pullback(x=ball_pullback)
    '''
    return _declare("primitive", body, words)


@overload
def constant(body: Body, /) -> Op: ...
@overload
def constant(**words: Any) -> Decorator: ...
def constant(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare an op whose derivative is zero wherever it exists: a comparison, an index, a rounding.

    `laws` as for `linear`::

        @constant(laws=lambda draw: (draw.array("n"),))
        def halves(xp, x, /):
            """Each element rounded to the nearest half."""
            return xp.round(x * 2) / 2
    '''
    return _declare("constant", body, words)


@overload
def composite(body: Body, /) -> Op: ...
@overload
def composite(**words: Any) -> Decorator: ...
def composite(body: Body | None = None, /, **words: Any) -> Any:
    '''Declare an op that is written in other ops of its namespace `F`: all else is derived from them.

    `laws` as for `linear`::

        @composite(laws=lambda draw: (draw.array("n", 3),))
        def length(F, x, /):
            """The root of the sum of squares along the last axis, (..., n) -> (...)."""
            return F.sqrt(F.sum(x * x, axis=-1))
    '''
    return _declare("composite", body, words)
