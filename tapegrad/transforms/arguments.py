"""What transforms take and give: arguments to differentiate by, values that can be differentiated, words for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DTypeError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.lengths import brought_to, may_agree
from tapegrad.registry.misfit import guided
from tapegrad.registry.space import SCALARS
from tapegrad.sparse import SparseRows
from tapegrad.tree import flatten
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_ELSEWHERE = {"in_dims": "in_axes", "out_dims": "out_axes", "fun": "f", "func": "f", "inputs": "primals", "v": "tangents"}
#: Of transforms that give a function, and of those that evaluate one: the error for arguments that do not fit.
guided_to_call = guided(_ELSEWHERE, "{name}(f)(x, ...)")
guided_at = guided(_ELSEWHERE, "{name}(f, (x,), (t,))")


class Chosen(NamedTuple):
    """The arguments of one call, with those that are differentiated by as tensors of their own."""

    args: list[Any]
    leaves: list[Any]  # tensors that nobody else refers to; None where a structure holds None
    rebuild: Callable[[list[Any]], Any]  # from one value for each leaf to the structure of what was chosen


def named(f: Any) -> str:
    """The name of a function, for messages."""
    return getattr(f, "__name__", None) or type(f).__name__


def shown(value: Any) -> str:
    """An argument that is not what was expected, for messages: an array by its type alone."""
    return type(value).__name__ if hasattr(value, "shape") else repr(value)


def check_function(what: str, f: Any) -> None:
    if not callable(f):
        raise ArgumentError(f"{what}(f, ...): expected a function, got {type(f).__name__}; write {what}(f)(x)")


def check_argnums(what: str, argnums: Any) -> None:
    """Refuse what can't be a choice of positional arguments, before the function is called."""
    for n in argnums if isinstance(argnums, tuple | list) else (argnums,):
        if type(n) is bool or not isinstance(n, int | np.integer):
            raise ArgumentError(
                f"{what}(f, argnums=...): expected an integer or a tuple of integers, got {shown(argnums)}"
                f"{'' if isinstance(n, str | None) else f'; {what}(f) gives a function: write {what}(f)(x)'}"
            )


def choose(what: str, f: Any, args: Sequence[Any], argnums: Any) -> Chosen:
    """The arguments of a call of `f`; those at `argnums` anew, with the history that they have, to be watched."""
    numbers = [_position(what, f, n, len(args)) for n in (argnums if isinstance(argnums, tuple | list) else (argnums,))]
    if len(set(numbers)) < len(numbers):
        raise ArgumentError(f"{what}(argnums={argnums!r}): an argument is there twice")
    if not numbers:
        raise ArgumentError(f"{what}(argnums={argnums!r}): expected at least one argument")
    structure = tuple(args[n] for n in numbers) if isinstance(argnums, tuple | list) else args[numbers[0]]
    found, rebuild = flatten(structure)
    leaves = [_leaf(what, f, argnums, x) for x in found]
    filled = rebuild(leaves)
    given = list(args)
    for n, value in zip(numbers, filled if isinstance(argnums, tuple | list) else (filled,), strict=True):
        given[n] = value
    return Chosen(given, leaves, rebuild)


def _position(what: str, f: Any, n: int, count: int) -> int:
    if not -count <= n < count:
        raise ArgumentError(
            f"{what}({named(f)}, argnums={n}): expected {-count} <= argnums < {count}, for {named(f)} was called with {count} "
            f"positional argument{'s' if count != 1 else ''}; what is given by keyword is constant"
        )
    return int(n) % count


def _leaf(what: str, f: Any, argnums: Any, x: Any) -> Any:
    if x is None:
        return None
    if not is_number(x):
        raise ArgumentError(
            f"{what}({named(f)}, argnums={argnums!r}): expected tensors or numbers in what is differentiated by, got "
            f"{type(x).__name__} {x!r:.60}; give it as another argument"
        )
    made = asarray(x)
    if not is_inexact(made.array.dtype):
        raise DTypeError(
            f"{what}({named(f)}, argnums={argnums!r}): expected floating arguments, got {made.array.dtype}; integers have no "
            "derivative, so write tapegrad.astype(x, tapegrad.float32), or a float such as 3.0"
        )
    return anew(made)


def anew(x: Any) -> Any:
    """A tensor of the same value and history, to which nobody else refers; a facade's tensor stays one."""
    out: Any = tensor(None) if isinstance(x, Variable | SparseRows) else object.__new__(type(x))
    out.array, out.node = x.read()
    out.like = None
    return out


def is_number(x: Any) -> bool:
    return isinstance(x, Tensor | np.ndarray | np.generic) or type(x) in SCALARS or hasattr(x, "__dlpack__")


def outputs(what: str, f: Any, y: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """What `f` gave as tensors, None where it gave None, and the function that puts others in their place."""
    leaves, rebuild = flatten(y)
    found = []
    for v in leaves:
        if v is not None and not is_number(v):
            raise ArgumentError(
                f"{what}({named(f)}): expected {named(f)} to return tensors, or a structure of them, got {type(v).__name__}"
                f"{_generator(v)}"
            )
        found.append(v if v is None or isinstance(v, Tensor) else asarray(v))
    return found, rebuild


def _generator(v: Any) -> str:
    return "; it is a generator function, so call the transform in it" if type(v).__name__ == "generator" else ""


def pair(what: str, f: Any, given: Any) -> tuple[Any, Any]:
    """What a function gives beside its value, where it says that it does."""
    if not isinstance(given, tuple) or len(given) != 2:
        kind = f"a tuple of {len(given)}" if isinstance(given, tuple) else type(given).__name__
        raise ArgumentError(f"{what}({named(f)}, has_aux=True): expected {named(f)} to return (value, aux), got {kind}")
    return given


def scalar(what: str, f: Any, y: Any) -> Tensor:
    """The value of a function that is to have a gradient."""
    if isinstance(y, tuple) and len(y) == 2:
        raise ArgumentError(
            f"{what}({named(f)}): expected {named(f)} to return one tensor, got a tuple of 2; if the second is no part of "
            "the value, write has_aux=True"
        )
    if y is None or not is_number(y):
        raise ArgumentError(f"{what}({named(f)}): expected {named(f)} to return a 0-d tensor, got {type(y).__name__}{_generator(y)}")
    y = y if isinstance(y, Tensor) else asarray(y)
    if y.shape != ():
        raise ShapeError(
            f"{what}({named(f)}): expected {named(f)} to return a 0-d tensor, got shape {y.shape}; take tapegrad.sum or "
            "tapegrad.mean of it, or use tapegrad.jacobian or tapegrad.vjp"
        )
    if not is_inexact(y.array.dtype):
        raise DTypeError(
            f"{what}({named(f)}): expected {named(f)} to return a floating value, got {y.array.dtype}, which has no derivative"
        )
    if y.array.dtype.kind == "c":
        raise DTypeError(
            f"{what}({named(f)}): expected {named(f)} to return a real value, got {y.array.dtype}; take tapegrad.real or "
            "tapegrad.abs of it, or use tapegrad.vjp with a cotangent"
        )
    found: Tensor = y
    return found


def alike(what: str, part: str, given: Any, leaves: Sequence[Any]) -> list[Any]:
    """One tensor for each of `leaves`, of its shape and dtype; None where that is None, or is no floating one."""
    found, _ = flatten(given)
    if len(found) != len(leaves):
        raise ShapeError(f"{what}: expected {part} of {len(leaves)} leaves, got {len(found)}")
    return [_fitted(what, part, t, x) for t, x in zip(found, leaves, strict=True)]


def _fitted(what: str, part: str, t: Any, x: Any) -> Any:
    if x is None or not is_inexact(x.array.dtype):
        return None
    if t is None:
        raise ArgumentError(f"{what}: expected a tensor in {part} for each floating one, got None; write tapegrad.zeros_like(x)")
    made = asarray(t, dtype=None if isinstance(t, Tensor | np.ndarray | np.generic) else x.array.dtype)
    if made.shape != x.shape and may_agree(made.shape, x.shape):
        made = brought_to(made, x.shape)
    if made.shape != x.shape or (made.array.dtype != x.array.dtype and (made.array.dtype.kind == "c" or not is_inexact(made.array.dtype))):
        raise ShapeError(f"{what}: expected {part} like {x.array.dtype} {x.shape}, got {made.array.dtype} {made.shape}")
    return anew(asarray(made, dtype=x.array.dtype))
