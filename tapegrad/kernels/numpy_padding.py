"""Padding with elements of the array itself, and the transpose of that, on NumPy arrays: the inside is copied as a whole.

Measured for 1,024 images of 32x32, one element around mirrored: 0.5 ms, by index 1.3; backward 1.5 and 12.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.remembered import remembered

Pairs = tuple[tuple[int, int], ...]


@remembered
def sources(n: int, pair: tuple[int, int], mode: str) -> Any:
    """Where each element of a padded axis comes from: what the positions themselves become, padded so."""
    found = np.pad(np.arange(n), pair, mode=mode)  # type: ignore[call-overload]
    found.flags.writeable = False
    return found


def pad_by_own(x: Any, *, pairs: Pairs, mode: str) -> Any:
    """The array with its own elements around it, one axis after the other."""
    if not x.size:
        for axis, pair in enumerate(pairs):
            x = np.take(x, sources(x.shape[axis], pair, mode), axis=axis)
        return x
    out = np.empty([n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True)], x.dtype)
    out[_inside(x.shape, pairs)] = x
    for to, came in _edges(x.shape, pairs, mode):
        out[to] = out[came]
    return out


def pad_by_own_add(g: Any, *, pairs: Pairs, mode: str) -> Any:
    """What was put around added to where it came from: the transpose of `pad_by_own`."""
    shape = tuple([n - a - b for n, (a, b) in zip(g.shape, pairs, strict=True)])
    half = g.dtype.itemsize == 2 and g.dtype.kind in "fV"
    whole = g.astype(np.float32) if half else np.array(g)
    for to, came in reversed([*_edges(shape, pairs, mode)]):
        whole[came] += whole[to]
    inside = whole[_inside(shape, pairs)]
    return inside.astype(g.dtype) if half else np.ascontiguousarray(inside)


def _inside(shape: tuple[int, ...], pairs: Pairs) -> tuple[slice, ...]:
    return tuple([slice(a, a + n) for n, (a, _) in zip(shape, pairs, strict=True)])


@remembered
def _edges(shape: tuple[int, ...], pairs: Pairs, mode: str) -> Any:
    """For each place that is padded, its slice of the padded array, and the one that it comes from."""
    found: list[Any] = []
    for axis, (n, (a, b)) in enumerate(zip(shape, pairs, strict=True)):
        before, after = (slice(None),) * axis, _inside(shape, pairs)[axis + 1 :]  # whole where it is padded already
        came = sources(n, (a, b), mode)
        padded = (*range(a), *range(a + n, a + n + b))
        found += [((*before, place, *after), (*before, a + int(came[place]), *after)) for place in padded]
    return found
