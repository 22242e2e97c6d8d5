"""What a derivative is asked of: targets, sources and cotangents as they are given, and what stands for none."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

import numpy as np

from tapegrad.core.foreign import WATCHING
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.registry.space import F, space_of_type
from tapegrad.tree import flatten

Unconnected = Literal["none", "zero"]


def check_mode(unconnected: str) -> None:
    """Refuse what is no word for sources that the target does not depend on."""
    if unconnected not in ("none", "zero"):
        raise ValueError(f"unconnected_gradients is 'none' or 'zero', got {unconnected!r}")


def check_target(what: str, target: Any, name: str = "target") -> None:
    """Refuse what is no Tensor."""
    if not isinstance(target, Tensor):
        raise ArgumentError(f"{what}({name}, ...): expected a Tensor as {name}, got {type(target).__name__}")


def targets_of(target: Any) -> list[Any]:
    """The tensors of which a derivative is asked, None among them."""
    if isinstance(target, Tensor):
        return [target]
    if target is None:
        raise ArgumentError("gradient(target, ...): expected a Tensor or a structure of them, got None")
    leaves, _ = flatten(target)
    for y in leaves:
        if y is not None and not isinstance(y, Tensor):
            raise ArgumentError(
                f"gradient(target, ...): expected Tensors, got {type(y).__name__}; "
                "a number or a NumPy array has no history, so convert after the derivative is taken"
            )
    return leaves


def check_sources(leaves: list[Any]) -> None:
    """Refuse what is neither a Tensor nor None."""
    for x in leaves:
        if x is not None and not isinstance(x, Tensor):
            raise ArgumentError(
                f"gradient(..., sources): expected Tensors or Variables, got {type(x).__name__}{way_out(x)}"
            )


def way_out(x: Any) -> str:
    """What to do with something that is no Tensor, and can't be watched."""
    if is_foreign(x):
        return "; call tape.watch with it before it is used"
    if isinstance(x, int | float | complex | np.ndarray | np.generic):
        return "; write x = tapegrad.asarray(x), and watch and use that"
    return "; structures are lists, tuples, dicts, named tuples, and types that optree knows in the namespace 'tapegrad'"


def is_foreign(x: Any) -> bool:
    """Whether another library records this by itself, for a tape that watches it."""
    if isinstance(x, Tensor) or x is None:
        return False
    kind = type(x)
    if kind not in WATCHING:
        with contextlib.suppress(ArgumentError):
            space_of_type(kind)  # from now on it is known, if it is an array
    return kind in WATCHING


def cotangents_of(given: Any, target: Any, count: int) -> list[Any]:
    """The cotangent of each target, in their order; None for ones."""
    if given is None:
        return [None] * count
    if isinstance(given, dict) and isinstance(target, dict) and given.keys() != target.keys():
        raise ShapeError(f"output_gradients: expected the target's keys {list(target)}, got {list(given)}")
    leaves, _ = flatten(given)
    if len(leaves) != count:
        raise ShapeError(f"output_gradients: expected one for each of {count} targets, got {len(leaves)}")
    return leaves


def absent(x: Any, shape: tuple[int, ...], unconnected: str, rest: tuple[int, ...] | None = None) -> Any:
    """The Jacobian for a source that the target does not depend on."""
    if x is None or unconnected == "none":
        return None
    return F.zeros((*shape, *(x.array.shape if rest is None else rest)), dtype=x.array.dtype)


def zeros_for(x: Any) -> Any:
    """The gradient for a source that the target does not depend on, where zeros are asked for."""
    return None if x is None else F.zeros_like(tensor(x.array))


def warn(text: str, *args: object) -> None:
    """Log a warning of tapegrad's."""
    import logging  # takes 3 ms, and is rarely wanted

    logging.getLogger("tapegrad").warning(text, *args)
