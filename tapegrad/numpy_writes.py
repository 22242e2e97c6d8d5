"""NumPy's functions that write into an array: a tensor takes the new value with its history, the write among it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, DetachedError
from tapegrad.numpy_compositions import read, values_of
from tapegrad.ops.exchange import is_recorded
from tapegrad.ops.inplace import fitting, rebind
from tapegrad.registry.op import OPS
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable


def _writing(name: str, write: Callable[..., None]) -> Callable[..., None]:
    """The function, for what it writes into: an array that is no tensor takes values alone, and no history."""

    def run(x: Any, *args: Any, **words: Any) -> None:
        if isinstance(x, Tensor):
            write(x, *args, **words)
            return
        if any(isinstance(v, Tensor) and is_recorded(v.read()[1]) for v in (*args, *words.values())):
            raise DetachedError(
                f"np.{name}: a NumPy array cannot keep the derivative of a recorded tensor; make the array a tensor"
            )
        getattr(np, name)(x, *map(_plain, args), **{k: _plain(v) for k, v in words.items()})

    return run


def _plain(v: Any) -> Any:
    return values_of(v) if isinstance(v, Tensor) else v


def _put_flat(x: Tensor, places: Any, values: Any, what: str) -> None:
    """Values in places of the flattened tensor, over and over again if they are fewer."""
    v = F.reshape(fitting(x, read(values), what), (-1,))
    if not places.size:
        return
    if not v.size:
        raise ArgumentError(f"{what}: expected values to write, got none")
    if v.size != places.size:
        v = F.take(v, np.arange(places.size) % v.size, axis=0)
    y = OPS["put"].entry(F.reshape(x, (-1,)), v, (places.reshape(-1),))
    rebind(x, F.reshape(y, x.shape))


def _copyto(x: Tensor, source: Any, /, *, casting: str = "same_kind", where: Any = True) -> None:
    v = read(source)
    if casting == "unsafe":
        v = F.astype(v, x.dtype)
    elif not np.can_cast(v.dtype, x.dtype, casting):  # type: ignore[arg-type]  # NumPy says which words there are
        raise ArgumentError(f"np.copyto(casting={casting!r}): expected a value that {x.dtype} takes by that rule, got {v.dtype}")
    v = F.broadcast_to(fitting(x, v, "np.copyto"), x.shape)
    rebind(x, v if where is True else F.where(read(values_of(where)), v, x))


def _put(x: Tensor, indices: Any, values: Any, /, *, mode: str = "raise") -> None:
    numbers = values_of(indices)
    places: Any = np.take(np.arange(x.size), numbers if numbers.size else np.arange(0), mode=mode)  # type: ignore[call-overload]
    _put_flat(x, places, values, "np.put")


def _putmask(x: Tensor, mask: Any, values: Any, /) -> None:
    """The value for a place is the one of the same number, not the next one."""
    v = F.reshape(fitting(x, read(values), "np.putmask"), (-1,))
    chosen = np.broadcast_to(values_of(mask), x.shape).astype(bool)
    if not chosen.any():
        return
    whole = F.reshape(F.take(v, np.arange(x.size) % v.size, axis=0), x.shape)
    rebind(x, F.where(read(chosen), whole, x))


def _place(x: Tensor, mask: Any, values: Any, /) -> None:
    _put_flat(x, np.flatnonzero(values_of(mask)), values, "np.place")


def _fill_diagonal(x: Tensor, value: Any, /, wrap: bool = False) -> None:
    chosen = np.zeros(x.shape, bool)
    np.fill_diagonal(chosen, True, wrap=wrap)
    _put_flat(x, np.flatnonzero(chosen), value, "np.fill_diagonal")


def _put_along_axis(x: Tensor, indices: Any, values: Any, /, axis: int | None) -> None:
    places = np.take_along_axis(np.arange(x.size).reshape(x.shape), values_of(indices), axis)
    _put_flat(x, places, F.broadcast_to(read(values), places.shape), "np.put_along_axis")


WRITES: dict[str, Callable[..., None]] = {
    "copyto": _writing("copyto", _copyto),
    "put": _writing("put", _put),
    "putmask": _writing("putmask", _putmask),
    "place": _writing("place", _place),
    "fill_diagonal": _writing("fill_diagonal", _fill_diagonal),
    "put_along_axis": _writing("put_along_axis", _put_along_axis),
}
