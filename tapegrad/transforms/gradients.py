"""The gradient of a function, by one reverse sweep."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tapegrad.sparse import SparseRows
from tapegrad.tape import GradientTape
from tapegrad.transforms.arguments import check_argnums, check_function, choose, guided_to_call, pair, scalar

if TYPE_CHECKING:
    from collections.abc import Callable


@guided_to_call
def value_and_grad(f: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of `f` and its gradient: ``(value, gradient)``.

    * `f`: gives a 0-d tensor; with `has_aux`, a pair of that and anything else, and so does the new function:
      ``((value, aux), gradient)``.
    * `argnums`: which positional arguments to differentiate by: an integer, or a tuple of them for a tuple of gradients;
      negative ones count from the end.

    An argument is a tensor, a number, or a structure of them; its gradient has the same structure.  It is zero where the
    value does not depend on it, and None for None.  A `Variable` is taken at its present value.

    Raises ArgumentError for arguments that are not there, DTypeError for integers, ShapeError if the value is not 0-d.

    >>> import tapegrad as tg
    >>> def loss(w, x):
    ...     return tg.sum((w["scale"] * x + w["shift"]) ** 2)
    >>> w = {"scale": tg.asarray(1.5), "shift": tg.asarray([0.5, -1.0])}
    >>> tg.value_and_grad(loss)(w, tg.asarray([2.0, 1.0]))
    (Tensor(12.5, dtype=float32), {'scale': Tensor(15., dtype=float32), 'shift': Tensor([7., 1.], dtype=float32)})
    """
    return _differentiated("value_and_grad", f, argnums, has_aux)


@guided_to_call
def grad(f: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `f`; with `has_aux`, ``(gradient, aux)``.

    Arguments are those of `value_and_grad`.

    >>> import tapegrad as tg
    >>> f = lambda x: x**3
    >>> tg.grad(f)(1.5), tg.grad(tg.grad(f))(1.5)
    (Tensor(6.75, dtype=float32), Tensor(9., dtype=float32))
    """
    both = _differentiated("grad", f, argnums, has_aux)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _differentiated(what: str, f: Callable[..., Any], argnums: Any, has_aux: bool) -> Callable[..., Any]:
    check_function(what, f)
    check_argnums(what, argnums)

    @functools.wraps(f)
    def both(*args: Any, **kwargs: Any) -> Any:
        chosen = choose(what, f, args, argnums)
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x for x in chosen.leaves if x is not None])
            given = f(*chosen.args, **kwargs)
        value, aux = pair(what, f, given) if has_aux else (given, None)
        y = scalar(what, f, value)
        found = tape.gradient(y, chosen.leaves, unconnected_gradients="zero")
        gradient = chosen.rebuild([dense(g) for g in found])
        return ((y, aux) if has_aux else y), gradient

    return both


def dense(g: Any) -> Any:
    """A gradient as a plain tensor, whatever rows it is made of."""
    return g.to_dense() if type(g) is SparseRows else g


__all__ = ["dense", "grad", "value_and_grad"]
