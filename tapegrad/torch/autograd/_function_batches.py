"""A Function with a rule of its own for batches, inside `vmap`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.kernels.batched import Batched
from tapegrad.registry.space import F
from tapegrad.torch._tensor import STYLE


class VmapInfo(NamedTuple):
    """What a rule is told of the batch."""

    batch_size: int
    randomness: str


def run_vmap(cls: Any, args: tuple[Any, ...]) -> Any:
    """Call the rule on whole batches of the innermost `vmap`."""
    level: Any = max(a.array.level for a in args if isinstance(a, Core) and type(a.array) is Batched)
    values: list[Any] = []
    dims: list[int | None] = []
    for a in args:
        if isinstance(a, Core) and type(a.array) is Batched and a.array.level == level:
            values.append(STYLE.adopt(F.unbatch(linked(a.array, a.node), level)))
            dims.append(0)
        else:
            values.append(a)
            dims.append(None)
    given = cls.vmap(VmapInfo(level.size, level.randomness), tuple(dims), *values)
    if not isinstance(given, tuple) or len(given) != 2:
        what = f"{len(given)} returns" if isinstance(given, tuple) else f"a {type(given)}"
        raise RuntimeError(
            f"{cls.__name__}.vmap: Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got {what} instead"
        )
    out, out_dims = given
    if not isinstance(out, tuple):
        return _entered(out, out_dims, level)
    each = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(out)
    return tuple(_entered(y, d, level) for y, d in zip(out, each, strict=True))


def _entered(y: Any, dim: int | None, level: Any) -> Any:
    if dim is None or not isinstance(y, Core):
        return y
    plain = linked(y.array, y.node)
    return STYLE.adopt(F.enbatch(F.moveaxis(plain, dim, 0) if dim else plain, level))
