"""What packages import of `vmap` by the name that it had before `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.torch._missing import refusing
from tapegrad.torch.func import vmap


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """`vmap`; outputs that are None stay None, where `allow_none_pass_through`."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        kinds: list[bool] = []
        single = False

        def without_none(*items: Any) -> Any:
            nonlocal single
            found = func(*items)
            single = not isinstance(found, tuple)
            outputs = (found,) if single else found
            kinds[:] = [y is None for y in outputs]
            return tuple(y for y in outputs if y is not None)

        rest = iter(vmap(without_none, in_dims, out_dims)(*args))
        whole = tuple(None if absent else next(rest) for absent in kinds)
        return whole[0] if single else whole

    return mapped


__getattr__ = refusing(globals())

__all__ = ["vmap"]
