"""Tensors from data: `tensor` copies, `as_tensor` and `from_numpy` share memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.watching import watch
from tapegrad.torch._devices import check_device, moved
from tapegrad.torch._dtypes import DEFAULT, default_of, dtype, numpy_of
from tapegrad.torch._recorder import ALONE, own
from tapegrad.torch._tensor import Tensor, adopt, fresh, wrap

_NUMBERS = frozenset([bool, int, float, complex])


def track(x: Any) -> Any:
    """Let a tensor be a leaf that requires a gradient."""
    kind = x.array.dtype.kind
    if kind not in "fcV":
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if own(x.node) is None:
        node = watch(x, ALONE)
        _remember(node, x)
    return x


def _remember(node: Any, x: Any) -> None:
    import weakref

    if node.p is None or own(node) is node:
        node.s = weakref.ref(x)


def tensor(
    data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A tensor of a copy of these values, without history."""
    check_device(device)
    if isinstance(data, Core):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    x = fresh(raw_from(data, None if dtype is None else numpy_of(dtype), copy=True), device)
    return requiring(x) if requires_grad else x


def requiring(x: Any) -> Any:
    """The same as a leaf, refused where the dtype has no derivative."""
    if x.array.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return track(x)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Any:
    """A tensor of these values, which shares their memory where it can; a tensor is given back as it is."""
    x = _as_tensor(data, None if dtype is None else numpy_of(dtype), device)
    return x if device is None else moved(x, device)


def _as_tensor(data: Any, wanted: Any, device: Any) -> Any:
    if isinstance(data, Tensor):
        return data if wanted is None or data.array.dtype == wanted else _cast(data, wanted)
    if isinstance(data, Core):
        return adopt(data) if type(data) is Core else wrap(*data.read())
    if isinstance(data, np.ndarray) and (wanted is None or data.dtype == wanted):
        return from_numpy(data)
    return fresh(raw_from(data, wanted, copy=False), device)


def _cast(x: Any, wanted: Any) -> Any:
    from tapegrad.torch._tensor import STYLE

    return STYLE.astype(x, wanted)


def from_numpy(array: Any, /) -> Any:
    """A tensor on the memory of a NumPy array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    _check_array(array)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    from tapegrad.torch._exposed import expose

    x = wrap(np.asarray(array).view())
    return expose(x, True)


def _check_array(array: Any) -> None:
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}. The only supported "
            "types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool."
        )
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte "
                         "orders is currently not supported.")  # fmt: skip


def raw_from(data: Any, wanted: Any, *, copy: bool) -> Any:
    """A raw array of a tensor, an array, a number or nested sequences of them."""
    kind = type(data)
    if kind in _NUMBERS:
        return (default_of(kind) if wanted is None else wanted).type(data) if kind is not complex else _complex(data, wanted)
    if isinstance(data, Core):
        data = data.read()[0]
    if isinstance(data, np.generic):
        _check_array(np.asarray(data))
        return data if wanted is None or data.dtype == wanted else data.astype(wanted)
    if isinstance(data, np.ndarray):
        _check_array(data)
        found = np.array(data, dtype=wanted, order="C") if copy else np.asarray(data, dtype=wanted)
        return found[()] if found.ndim == 0 else found
    if isinstance(data, str | bytes) or data is None:
        raise TypeError(f"new(): invalid data type '{kind.__name__}'" if isinstance(data, str) else
                        "Could not infer dtype of NoneType")  # fmt: skip
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return raw_from(np.asarray(data), wanted, copy=copy)
    return _nested(data, wanted)


def _complex(data: complex, wanted: Any) -> Any:
    return (default_of(complex) if wanted is None else wanted).type(data)


def _first(data: Any) -> Any:
    """An array as deep as the first items of nested sequences are."""
    depth, at = [], data
    while isinstance(at, list | tuple):
        depth.append(len(at))
        at = at[0] if at else None
    return np.empty(depth)


def _uneven(data: Any, shape: tuple[int, ...], level: int) -> str | None:
    """What is said of the first sequence whose length is not that of its level."""
    if not isinstance(data, list | tuple):
        return None
    if level >= len(shape):
        return None
    if len(data) != shape[level]:
        return f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})"
    return next((text for d in data if (text := _uneven(d, shape, level + 1)) is not None), None)


def _nested(data: Any, wanted: Any) -> Any:
    known: list[Any] = []
    plain = _plain(data, known)
    try:
        found = np.array(plain)
    except (ValueError, TypeError, OverflowError) as error:
        uneven = _uneven(plain, np.shape(_first(plain)), 0)
        raise ValueError(uneven or f"expected sequences of equal length at every level: {error}") from error
    if found.dtype.kind not in "biufc":
        if found.dtype.kind == "O":
            raise TypeError("expected numbers or sequences of them; too many dimensions or unequal lengths")
        raise TypeError(f"new(): invalid data type '{found.dtype}'")
    if wanted is None and found.dtype.kind in "fc":
        wanted = _of_floats(found.dtype, [d for d in known if d.kind in "fcV"])
    if wanted is None and not found.size:
        wanted = DEFAULT[0].numpy
    if wanted is not None and found.dtype != wanted:
        found = found.astype(wanted)
    return found[()] if found.ndim == 0 else found


def _of_floats(found: Any, known: list[Any]) -> Any:
    """The dtype of floats of which some, or none, have one of their own: Python's count for nothing beside them."""
    if not known:
        return DEFAULT[0].numpy if found.kind == "f" else DEFAULT[0].to_complex().numpy
    return found if any(d.kind == "V" for d in known) else np.result_type(*known)


def _plain(data: Any, known: list[Any]) -> Any:
    """Nested lists with what NumPy knows in the place of tensors, which are numbers there; `known` gets the dtypes that are met."""
    if isinstance(data, Core):
        raw = np.asarray(data.read()[0])
        if raw.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        known.append(raw.dtype)
        return raw.reshape(())
    if isinstance(data, np.ndarray | np.generic):
        known.append(data.dtype)
        return data
    if isinstance(data, list | tuple) or _is_sequence(data):
        if set(map(type, data)) <= _NUMBERS:  # in C, where a look at each takes a call
            return data
        return [_plain(v, known) for v in data]
    if not hasattr(data, "__float__") and not isinstance(data, complex):
        raise TypeError(f"must be real number, not {type(data).__name__}")
    return data


def _is_sequence(data: Any) -> bool:
    return hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | dict)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor that shares the memory of another library's, given as an object with `__dlpack__` or as its capsule."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach().clone() if copy else ext_tensor.detach()
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = _Capsule(ext_tensor)
    x = from_numpy(np.from_dlpack(ext_tensor))
    x = x.clone() if copy else x
    return x if device is None else moved(x, device)


class _Capsule:
    """What `np.from_dlpack` takes, of a capsule of memory of the CPU."""

    def __init__(self, capsule: Any) -> None:
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError(f"from_dlpack(ext_tensor): expected an object with __dlpack__ or a capsule, got {type(capsule).__name__}")
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
