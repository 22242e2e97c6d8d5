"""`torch.Size`: a shape."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """A tuple of lengths, with the number of elements."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if type(key) is slice else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: Any) -> Any:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__
