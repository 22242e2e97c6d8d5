"""Functions of NumPy arrays whose derivative is written beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing.systems.base import EVERYTHING, System, added_in_place, as_array, is_float, outputs
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull


@final
class Plain(System):
    """A NumPy function with ``vjp(g, *xs)``, or ``vjp(g, y, *xs)`` if it takes one more; or one that
    returns ``(value, pullback)``.

    `jvp` is ``jvp(t, *xs)``; `second` is the derivative of `vjp`, ``second(h, g, *xs)``: gradients for g and each x.
    """

    shows = EVERYTHING | {"aliases"}  # gradients are the caller's; a framework copies what it adds to

    def __init__(
        self,
        name: str,
        call: Callable[[list[Any]], Any],
        active: Sequence[int],
        sources: Sequence[Any],
        *,
        arguments: Callable[[list[Any]], Sequence[Any]],
        vjp: Callable[..., Any] | None,
        jvp: Callable[..., Any] | None = None,
        second: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(name, call, active, [*sources, *(f for f in (vjp, jvp, second) if f is not None)])
        self.arguments = arguments
        self.vjp = vjp
        self.push = jvp
        self.twice = second
        self.has_jvp = jvp is not None
        self.takes_output: bool | None = None if vjp is not None else False

    def value(self, xs: Arrays) -> list[Any]:
        y = self.call(list(xs))
        if self.vjp is None:
            y = _pair(y, self.name)[0]
        if type(y) is np.ndarray and y.dtype.kind in "fc":
            return [y]
        return [a for a in map(as_array, outputs(y, self.name)) if is_float(a)]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        y = self.call(list(xs))
        pull: Callable[..., Any]
        if self.vjp is None:
            y, pull = _pair(y, self.name)
        elif self._takes_output(xs):
            vjp, arguments = self.vjp, self.arguments(list(xs))
            pull = lambda g: vjp(g, y, *arguments)  # noqa: E731
        else:
            vjp, arguments = self.vjp, self.arguments(list(xs))
            pull = lambda g: vjp(g, *arguments)  # noqa: E731
        if type(y) is np.ndarray:
            return [y], lambda gs: self._gradients(pull(gs[0]), len(xs))
        raws = outputs(y, self.name)
        leaves = list(map(as_array, raws))
        floating = [i for i, a in enumerate(leaves) if is_float(a)]
        single = type(y) not in (tuple, list) and not isinstance(y, dict)
        rebuild = flatten(y)[1] if not single else None

        def spread(gs: Arrays) -> list[Any]:
            if rebuild is None:
                return self._gradients(pull(gs[0]), len(xs))
            full: list[Any] = [None] * len(leaves)
            for i, g in zip(floating, gs, strict=True):
                full[i] = g
            return self._gradients(pull(rebuild(full)), len(xs))

        return [leaves[i] for i in floating], spread

    def _takes_output(self, xs: Arrays) -> bool:
        if self.takes_output is None:
            assert self.vjp is not None
            self.takes_output = _takes_one_more(self.vjp, len(self.arguments(list(xs))))
        return self.takes_output

    def _gradients(self, found: Any, leaves: int) -> list[Any]:
        """Those of the active leaves, from what a user's pullback gives."""
        parts = _leaves(found)
        if len(parts) == len(self.active):
            chosen = parts
        elif len(parts) == leaves:
            chosen = [parts[i] for i in self.active]
        else:
            raise ArgumentError(
                f"the vjp of {self.name} gave {len(parts)} gradients; return one for each of the {len(self.active)} "
                f"floating arguments, or for each of the {leaves} arguments (None for one that has none)"
            )
        return [c if c is None or type(c) is np.ndarray else np.asarray(c) for c in chosen]

    def in_other_orders(self, xs: Arrays, g: Any) -> Iterator[tuple[str, list[Any]]]:
        """What the vjp gives for its arguments in another order, and how that is written."""
        if self.vjp is None:
            return
        arguments = list(self.arguments(list(xs)))
        y = self.call(list(xs))
        orders = {"xs, g": [*arguments, g], "xs, y, g": [*arguments, y, g], "g, xs, y": [g, *arguments, y]}
        orders |= {"y, g, xs": [y, g, *arguments], "y, xs, g": [y, *arguments, g]}
        for order, given in orders.items():
            try:
                yield order, self._gradients(self.vjp(*_copied(given)), len(xs))
            except Exception:  # whatever it raises, this is not its order
                continue
        try:
            slopes = self._gradients(self.vjp(*_copied(arguments)), len(xs))
            yield "xs", [None if c is None else g * c for c in slopes]
        except Exception:  # nor does it take the arguments alone
            return

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        return added_in_place(self, xs, gs)

    def for_constants(self, xs: Arrays, gs: Arrays) -> list[tuple[int, Any]]:
        others = [i for i, x in enumerate(xs) if i not in self.active and isinstance(x, np.ndarray)]
        if not others or self.vjp is None or len(gs) != 1:
            return []
        y = self.call(list(xs))
        extra = (y,) if self._takes_output(xs) else ()
        found = self.vjp(gs[0], *extra, *self.arguments(list(xs)))
        parts = _leaves(found)
        return [(i, parts[i]) for i in others] if len(parts) == len(xs) else []

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        assert self.push is not None
        full: list[Any] = [None] * len(xs)
        for i, t in zip(self.active, ts, strict=True):
            full[i] = t
        given = list(self.arguments(full))
        t = self.push(given[0] if len(given) == 1 else tuple(given), *self.arguments(list(xs)))
        return [a for a in map(as_array, outputs(t, f"the jvp of {self.name}")) if is_float(a)]

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        if self.twice is None or self.vjp is None or len(gs) != 1:
            return None
        vjp, takes, call = self.vjp, self._takes_output(xs), self.call
        n = len(xs)

        def pullback(leaves: list[Any]) -> Any:
            arguments = self.arguments(list(leaves[:n]))
            extra = (call(list(leaves[:n])),) if takes else ()
            found = self._gradients(vjp(leaves[n], *extra, *arguments), n)
            return tuple(np.zeros_like(leaves[i]) if c is None else c for i, c in zip(self.active, found, strict=True))

        twice = self.twice

        def pull(h: Any, *leaves: Any) -> Any:
            found = twice(h[0] if len(h) == 1 else h, leaves[n], *self.arguments(list(leaves[:n])))
            parts = list(found)
            return (*parts[1:], parts[0])

        return Plain(
            f"the vjp of {self.name}",
            pullback,
            [*self.active, n],
            (),
            arguments=lambda leaves: leaves,
            vjp=pull,
        )


def _copied(given: Sequence[Any]) -> list[Any]:
    """Arguments of one call: a function of another kind, such as a ufunc, may write to what it is given."""
    return [x.copy() if type(x) is np.ndarray else x for x in given]


def _leaves(found: Any) -> Any:
    """The gradients in what a pullback gives."""
    if type(found) is tuple and all(type(c) is np.ndarray for c in found):
        return found
    return flatten(found)[0] if isinstance(found, tuple | list | dict) else [found]


def _pair(y: Any, name: str) -> tuple[Any, Any]:
    if type(y) is tuple and len(y) == 2 and callable(y[1]):
        return y
    raise ArgumentError(
        f"{name} is a NumPy function, and nothing says what its derivative is: give check(..., vjp=lambda g, x: ...), or let "
        f"{name} return (value, pullback); for a function of a framework, give its arrays, or framework='torch'"
    )


def _takes_one_more(vjp: Any, arguments: int) -> bool:
    """Whether a vjp takes the output between the cotangent and the arguments."""
    code = getattr(vjp, "__code__", None)
    if code is None:
        return False
    names = code.co_varnames[1 if hasattr(vjp, "__self__") else 0 : code.co_argcount]
    if code.co_flags & 0x04:  # *args
        return len(names) > 1 and names[1] == "y"
    return len(names) - len(vjp.__defaults__ or ()) == arguments + 2
