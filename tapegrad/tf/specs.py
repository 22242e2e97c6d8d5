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


class Composite:
    """A value of several tensors that stands where a tensor does: in structures, in datasets, in `tf.cast` and `tf.shape`.

    What a class of such values has: its tensors, its lengths, what is known of it; and, for datasets, its rows and one of rows.
    """

    __slots__ = ()

    def _components(self) -> list[Any]:
        """Its tensors, as `tf.nest.flatten(x, expand_composites=True)` gives them."""
        raise NotImplementedError

    def _map_values(self, f: Any) -> Any:
        """The same with a function of its values."""
        raise NotImplementedError

    def _lengths(self, dtype: Any) -> Any:
        """What `tf.shape` gives of it."""
        raise NotImplementedError

    def _size(self) -> int:
        """What `tf.size` gives of it."""
        raise NotImplementedError

    def _spec(self) -> TypeSpec:
        """What is known of it."""
        raise NotImplementedError

    def _count(self) -> int:
        """The number of its rows."""
        raise NotImplementedError

    def _row(self, i: int) -> Any:
        """One of its rows."""
        raise NotImplementedError

    @classmethod
    def _stacked(cls, rows: list[Any]) -> Any:
        """One whose rows are these."""
        raise NotImplementedError


class Described:
    """What has a shape and a dtype."""

    __slots__ = ()

    _shape: TensorShape
    _dtype: DType

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype


class CompositeSpec(Described, TypeSpec):
    """What is known of such a value."""

    def _batched(self, size: int | None) -> TypeSpec:
        """What is known of a batch of such values."""
        raise NotImplementedError

    def _unbatched(self) -> TypeSpec:
        """What is known of the rows."""
        raise NotImplementedError


@export("TensorSpec")
class TensorSpec(Described, TypeSpec):
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


@export("type_spec_from_value")
def spec_of(value: Any) -> Any:
    """What is known of a value; a spec as it is."""
    if isinstance(value, Composite):
        return value._spec()
    return value if isinstance(value, TypeSpec) else TensorSpec.from_tensor(value)
