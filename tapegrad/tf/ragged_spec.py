"""`tf.RaggedTensorSpec`: what is known of a ragged tensor before it exists."""

from __future__ import annotations

from typing import Any

from tapegrad.tf.dtypes import DType, as_dtype, float32, int64
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.specs import CompositeSpec, TensorSpec


@export("RaggedTensorSpec")
class RaggedTensorSpec(CompositeSpec):
    """Shape, with None for unknown lengths, dtype, and how many axes have rows of different lengths."""

    __slots__ = ("_dtype", "_rank", "_row_splits_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = float32, ragged_rank: int | None = None, row_splits_dtype: Any = int64) -> None:
        self._shape, self._dtype, self._row_splits_dtype = TensorShape(shape), as_dtype(dtype), as_dtype(row_splits_dtype)
        self._rank = max((self._shape.rank or 2) - 1, 1) if ragged_rank is None else ragged_rank

    @property
    def ragged_rank(self) -> int:
        """How many axes have rows of different lengths."""
        return self._rank

    @property
    def row_splits_dtype(self) -> DType:
        """The type of the ends of rows."""
        return self._row_splits_dtype

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a ragged tensor, or another spec, fits."""
        x = spec_or_value if isinstance(spec_or_value, RaggedTensorSpec) else getattr(spec_or_value, "_spec", object)()
        return isinstance(x, RaggedTensorSpec) and (
            (self._dtype, self._rank, self._row_splits_dtype) == (x._dtype, x._rank, x._row_splits_dtype)
            and self._shape.is_compatible_with(x._shape)
        )

    def _batched(self, size: int | None) -> RaggedTensorSpec:
        return RaggedTensorSpec([size, *self._shape], self._dtype, self._rank + 1, self._row_splits_dtype)

    def _unbatched(self) -> Any:
        if self._rank == 1:
            return TensorSpec(self._shape[1:], self._dtype)
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._rank - 1, self._row_splits_dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedTensorSpec):
            return NotImplemented
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self._dtype, self._rank))

    def __repr__(self) -> str:
        return f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._rank}, {self._row_splits_dtype!r})"
