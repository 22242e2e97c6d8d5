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
    """Declare an op that acts on each element, after broadcasting; give `partials` next.

    * `domain`: (lowest, highest) value of the argument, or a dict of them by name; where laws are tested.
    * `kinks`: values at which the derivative jumps, or a function of the raw arrays that is zero there; the docstring
      says which value is taken.
    * `real`: takes no complex numbers.
    * `singular`: a partial can be infinite or NaN where the value is not: a zero cotangent then gives zero.
    * `masks`: it chooses between its arguments, so that zero cotangents stand for what was not chosen: from there on a zero
      cotangent gives zero in every op.
    * `symbol`: the Python operator that computes the same on arrays.
    """
    return _declare("elementwise", body, words)


@overload
def linear(body: Body, /) -> Op: ...
@overload
def linear(**words: Any) -> Decorator: ...
def linear(body: Body | None = None, /, **words: Any) -> Any:
    """Declare an op that is linear in its arrays taken together; give `adjoint` next.

    `laws` gives arguments for the tests: a function of a `Draw` (see `tapegrad.testing`) that returns arrays, and
    last a dict of parameters if there are any; for an op that is not public and cannot be called by itself, a text that
    says where it is tested.  `masks` as for `elementwise`; with the name of a parameter, where that is an array of booleans.
    """
    return _declare("linear", body, words)


@overload
def multilinear(body: Body, /) -> Op: ...
@overload
def multilinear(**words: Any) -> Decorator: ...
def multilinear(body: Body | None = None, /, **words: Any) -> Any:
    """Declare an op that is linear in each array while the others are held; give `adjoint` next."""
    return _declare("multilinear", body, words)


@overload
def primitive(body: Body, /) -> Op: ...
@overload
def primitive(**words: Any) -> Decorator: ...
def primitive(body: Body | None = None, /, **words: Any) -> Any:
    """Declare any other op; give `pullback`, and where worth it `pushforward`, next."""
    return _declare("primitive", body, words)


@overload
def constant(body: Body, /) -> Op: ...
@overload
def constant(**words: Any) -> Decorator: ...
def constant(body: Body | None = None, /, **words: Any) -> Any:
    """Declare an op whose derivative is zero wherever it exists: a comparison, an index, a rounding."""
    return _declare("constant", body, words)


@overload
def composite(body: Body, /) -> Op: ...
@overload
def composite(**words: Any) -> Decorator: ...
def composite(body: Body | None = None, /, **words: Any) -> Any:
    """Declare an op that is written in other ops of its namespace `F`: all else is derived from them."""
    return _declare("composite", body, words)
