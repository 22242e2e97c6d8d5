"""What a dataset gives, one by one: structures of tensors; how they are stacked, cut, padded and described."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.registry.space import NUMPY, default_space
from tapegrad.tf import nest
from tapegrad.tf.convert import convert, fresh, host, integer
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import DataLossError, InvalidArgumentError
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.specs import Composite, CompositeSpec, TensorSpec, TypeSpec
from tapegrad.tf.tensor import Tensor, made


def element(x: Any) -> Any:
    """A structure as one of tensors: what a function or a generator gave.  A list is a tensor, a tuple a structure."""
    if type(x) is Tensor and isinstance(x.array, np.ndarray | np.generic):
        return x
    if isinstance(x, TypeSpec) or hasattr(x, "_make_iterator"):
        return x
    if isinstance(x, dict):
        return type(x)((k, element(v)) for k, v in x.items()) if type(x) is not dict else {k: element(v) for k, v in x.items()}
    if isinstance(x, tuple) and not isinstance(x, TensorShape):
        parts = [element(v) for v in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if x is None or isinstance(x, Composite):
        return x
    found = convert(x).array
    return made(found if isinstance(found, np.ndarray | np.generic) else np.asarray(found)[()])


def count_of(value: Any) -> int:
    """A number of elements, which is an int64 to TensorFlow: raises TypeError for fractions and texts, ValueError for None."""
    if type(value) is float or isinstance(value, str | bytes):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int64")
    return integer(value)


def called(function: Any) -> Any:
    """A function that is called with elements; raises ValueError for what cannot be called."""
    if not callable(function):
        raise ValueError(f"Argument `func` must be a callable. Received func={function!r} (of type {type(function)})")
    return function


def placed(x: Any) -> Any:
    """An element where new arrays are made, as a program gets it; in datasets all is on the host."""
    if default_space() is NUMPY:
        return x
    return nest.map_structure(lambda t: fresh(t.array) if type(t) is Tensor else t, x)


def stacked(rows: list[Any]) -> Any:
    """Elements as one batch."""
    first = rows[0]
    if type(first) is Tensor:
        raws = [r.array for r in rows]
        try:
            if raws[0].dtype.kind == "O":
                return made(np.stack([np.asarray(r, object) for r in raws]))
            return made(np.stack(raws) if raws[0].shape else np.asarray(raws))
        except ValueError:
            k = next(k for k, r in enumerate(raws) if r.shape != raws[0].shape)
            text = f"Cannot batch tensors with different shapes in component 0. First element had shape {list(raws[0].shape)} "
            raise InvalidArgumentError(None, None, f"{text}and element {k} had shape {list(raws[k].shape)}.") from None
    if isinstance(first, Composite):
        return first._stacked(rows)
    leaves = [nest.flatten(r) for r in rows]
    return nest.pack_sequence_as(first, [stacked(list(xs)) if xs[0] is not None else None for xs in zip(*leaves, strict=True)])


def rows_of(batch: Any) -> Any:
    """The elements of a batch, one by one."""
    leaves = nest.flatten(batch)
    for i in range(leaves[0]._count() if isinstance(leaves[0], Composite) else leaves[0].array.shape[0]):
        yield nest.pack_sequence_as(batch, [x._row(i) if isinstance(x, Composite) else made(part(x.array, i)) for x in leaves])


def part(raw: Any, i: int) -> Any:
    """A row of an array; of strings a row that is an array still."""
    found = raw[i]
    return found if hasattr(found, "dtype") else np.asarray(found, object)


def padded(rows: list[Any], shapes: Any, values: Any) -> Any:
    """Elements as one batch, each filled up to the longest, or to a shape."""
    leaves = [nest.flatten(r) for r in rows]
    count = len(leaves[0])
    wanted: list[Any] = [None] * count if shapes is None else padded_shapes(rows[0], shapes)
    fill: list[Any] = [None] * count if values is None else nest.flatten(values)
    fill = fill * count if len(fill) == 1 else fill
    found = []
    for k, xs in enumerate(zip(*leaves, strict=True)):
        raws = [x.array for x in xs]
        size = np.max([r.shape for r in raws], axis=0) if raws[0].shape else np.zeros(0, int)
        if wanted[k] is not None:
            size = np.asarray([n if w is None else w for n, w in zip(size, wanted[k], strict=True)], int)
        string = raws[0].dtype.kind == "O"
        value = (b"" if string else 0) if fill[k] is None else host(convert(fill[k], raws[0].dtype, prefer=True)).item()
        batch = np.full((len(raws), *size.tolist()), value, raws[0].dtype)
        for place, r in zip(batch, raws, strict=True):
            if np.any(np.asarray(r.shape) > size):
                raise DataLossError(None, None, "Attempted to pad to a smaller size than the input element.")
            if r.shape:
                place[tuple(slice(0, n) for n in r.shape)] = r
        if not raws[0].shape:
            batch = np.stack([np.asarray(r, raws[0].dtype) for r in raws])
        found.append(made(batch))
    return nest.pack_sequence_as(rows[0], found)


def padded_shapes(element: Any, shapes: Any) -> list[TensorShape]:
    """A shape for each leaf of an element; a length of -1 is unknown."""
    if not nest.is_nested(element):
        return [_padded_shape(shapes)]
    if isinstance(element, dict):
        return [s for k in sorted(element) for s in padded_shapes(element[k], shapes[k])]
    return [s for e, w in zip(element, shapes, strict=True) for s in padded_shapes(e, w)]


def _padded_shape(shape: Any) -> TensorShape:
    if isinstance(shape, TensorShape):
        return shape
    if isinstance(shape, core.Tensor | np.ndarray) or (isinstance(shape, list | tuple) and shape and isinstance(shape[0], list)):
        raw = host(shape)
        text = f"Padded shape {shape} must be a `tf.int64` vector tensor, but its"
        if raw.ndim != 1:
            raise ValueError(f"{text} shape was {raw.shape}.")
        if raw.dtype.kind not in "iu":
            raise TypeError(f"{text} element type was {raw.dtype}.")
        shape = raw.tolist()
    return TensorShape(shape if not isinstance(shape, list | tuple) else [None if n == -1 else n for n in shape])


# -- specs ------------------------------------------------------------------------------------------------
def spec(x: Any) -> Any:
    """What is known of an element."""
    return nest.map_structure(_one, x)


def _one(v: Any) -> Any:
    if isinstance(v, TypeSpec) or v is None:
        return v
    if hasattr(v, "_make_iterator"):
        return DatasetSpec(v.element_spec)
    if isinstance(v, Composite):
        return v._spec()
    return TensorSpec(v.array.shape if isinstance(v, core.Tensor) else v.shape, as_dtype(v.array.dtype))


def batched_spec(x: Any, size: int | None, inner: Any = None) -> Any:
    """What is known of a batch of such elements."""

    def batch(s: Any) -> TypeSpec:
        if isinstance(s, CompositeSpec):
            return s._batched(size)
        return TensorSpec([size, *s.shape] if s.shape.rank is not None else None, s.dtype)

    return nest.map_structure(batch, x)


def unbatched_spec(x: Any) -> Any:
    """What is known of the elements of such a batch."""
    return nest.map_structure(lambda s: s._unbatched() if isinstance(s, CompositeSpec) else TensorSpec(s.shape[1:], s.dtype), x)


class DatasetSpec(TypeSpec):
    """What is known of a dataset in a dataset."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"
