"""Functions of any number of arrays, given one after the other; they give lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """The arrays repeated to the shape that they have in common.

    Raises ShapeError where there is none.
    """
    tensors = [asarray(x) for x in arrays]
    shapes = [x.shape for x in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"broadcast_arrays: shapes {', '.join(map(str, shapes))} do not broadcast") from None
    return [F.broadcast_to(x, shape) for x in tensors]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of all points of a grid, an array for each axis, from the coordinates along the axes.

    * `arrays`: of one axis each (or none, for a single number), all of one dtype.
    * `indexing`: "ij": axis i of the results belongs to array i; "xy": the first two change places.

    >>> import tapegrad as tg
    >>> tg.meshgrid(tg.asarray([1, 2, 3]), tg.asarray([10, 20]))[1]
    Tensor([[10, 10, 10],
            [20, 20, 20]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(indexing=...): expected 'xy' or 'ij', got {indexing!r}")
    tensors = [asarray(x) for x in arrays]
    many = [x.shape for x in tensors if x.ndim > 1]
    if many:
        raise ShapeError(f"meshgrid: expected arrays of one axis, got shape {many[0]}")
    if len({x.dtype for x in tensors}) > 1:
        raise ShapeError(f"meshgrid: expected arrays of one dtype, got {', '.join(str(x.dtype) for x in tensors)}")
    rank = len(tensors)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = [1, 0]
    apart = [
        F.reshape(x, tuple(x.size if i == place else 1 for i in range(rank)))
        for x, place in zip(tensors, places, strict=True)
    ]
    return broadcast_arrays(*apart)
