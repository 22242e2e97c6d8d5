"""`tf.TensorSpec`: shape and dtype of tensors that do not exist yet."""

from __future__ import annotations

from typing import Any

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert
from tapegrad.tf.dtypes import DType, as_dtype, float32
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape


@export("TypeSpec")
class TypeSpec:
    """What is known of a value before it exists."""


@export("TensorSpec")
class TensorSpec(TypeSpec):
    """Shape, with None for unknown lengths, dtype and name of a tensor."""

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The same with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """What a tensor is."""
        x = convert(tensor)
        return cls(x.shape, x.dtype, name)

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name that was given."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, fits."""
        x = spec_or_tensor
        if not isinstance(x, core.Tensor | TensorSpec):
            return False
        return self._dtype == as_dtype(x.dtype) and self._shape.is_compatible_with(
            tuple(x.shape) if isinstance(x, core.Tensor) else x.shape
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return self._shape == other._shape and self._dtype == other._dtype and self._name == other._name

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __reduce__(self) -> Any:
        return TensorSpec, (self._shape, self._dtype, self._name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


def spec_of(x: Any) -> TensorSpec:
    """The spec of a value as a tensor."""
    return x if isinstance(x, TensorSpec) else TensorSpec.from_tensor(x)
