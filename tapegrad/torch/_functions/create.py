"""Tensors from shapes and ranges."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from tapegrad.kernels.batched import Batched
from tapegrad.registry.space import space_of_type
from tapegrad.torch import _rounding as rounded
from tapegrad.torch._construct import from_numpy, requiring, tensor
from tapegrad.torch._devices import device_of
from tapegrad.torch._dtypes import DEFAULT, default_of, dtype_of, numpy_of
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, function
from tapegrad.torch._memory_order import memory_order, permuted, restored
from tapegrad.torch._tensor import Tensor, fresh


def lengths(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Lengths that are given one by one or as one sequence."""
    if len(size) == 1 and not isinstance(size[0], (int, np.integer)):
        if isinstance(size[0], Tensor) and not size[0].shape:
            return (int(size[0]),)
        size = tuple(size[0])
    return tuple(map(_length, size))


def _length(n: Any) -> int:
    try:
        k: int = n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"size must be a tuple of ints, but found element of type {type(n).__name__}") from None
    if k < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {k}")
    return k


def _numpy(dtype: Any) -> np.dtype[Any]:
    return DEFAULT[0].numpy if dtype is None else numpy_of(dtype)


def finished(raw: Any, requires_grad: bool = False, out: Any = None, device: Any = None) -> Any:
    """A tensor of an array on a device, as a leaf if it is asked for; or written into `out`."""
    x = fresh(raw[()] if type(raw) is np.ndarray and not raw.ndim else raw, device if out is None else out.device)
    if out is not None:
        from tapegrad.torch._functions._build import into

        # As many elements as `out` has are written in its shape: it may be part of something larger.
        alike = x.array.ndim == 1 and out.array.shape != x.array.shape and out.numel() == x.numel()
        return into("create", out, x.reshape(out.array.shape) if alike else x)
    return requiring(x) if requires_grad else x


def _shaped(make: Any, name: str, doc: str) -> Any:
    def create(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        **words: Any,
    ) -> Any:
        if words:
            size = (words.pop("size"),) if "size" in words else size
            if words:
                raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(words))}'")
        if not size:
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        return finished(make(lengths(size), _numpy(dtype)), requires_grad, out, device)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


_MAKERS = {
    "zeros": (np.zeros, "Zeros of a shape."),
    "ones": (np.ones, "Ones of a shape."),
    "empty": (np.zeros, "A tensor of a shape, with values that mean nothing."),
}
for _name, (_make, _doc) in _MAKERS.items():
    FUNCTIONS[_name] = _shaped(_make, _name, _doc)


@function
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """One value, in a shape."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not str")
    kind = default_of(type(value)) if dtype is None else numpy_of(dtype)
    return finished(np.full(lengths((size,)), value, kind), requires_grad, out, device)


def _with_strides(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of a shape whose elements lie in memory by these steps, with values that mean nothing."""
    shape, steps = lengths((size,)), tuple(int(s) for s in stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: got size {list(shape)} and stride {list(steps)}")
    memory = sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1 if math.prod(shape) else 0
    x = finished(np.zeros(memory, _numpy(dtype)), False, None, device).as_strided(shape, steps, 0).detach()
    return requiring(x) if requires_grad else x


FUNCTIONS["empty_strided"] = _with_strides
METHODS["new_empty_strided"] = lambda self, size, stride, *, dtype=None, device=None, **words: _with_strides(
    size, stride, dtype=dtype or self.dtype, device=device or self.device, **words
)


@function
def empty_permuted(size: Any, physical_layout: Any, **words: Any) -> Any:
    """A tensor of a shape whose axes lie in memory in this order, the outermost first."""
    shape, order = lengths((size,)), tuple(physical_layout)
    if sorted(order) != list(builtins.range(len(shape))):
        raise RuntimeError(f"empty_permuted: expected physical_layout to name each axis of {list(shape)} once, got {list(order)}")
    steps, step = [0] * len(shape), 1
    for axis in reversed(order):
        steps[axis] = step
        step *= max(shape[axis], 1)
    return _with_strides(shape, steps, **words)


def in_batches(x: Any, raw: Any) -> Any:
    """A new tensor with one value for all items of the batches that an array is in: each may be given another."""
    if type(raw) is Batched:
        x = in_batches(x, raw.value)
        x.array = Batched(space_of_type(type(x.array)).expand_dims(x.array, axis=0), raw.level)
    return x


def _like(name: str, doc: str) -> Any:
    def create(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        pin_memory: bool = False,
    ) -> Any:
        raw = input.read()[0]
        kind = raw.dtype if dtype is None else numpy_of(dtype)
        make = np.ones if name == "ones_like" else np.zeros
        order = memory_order(input)
        made = make(raw.shape, kind) if order is None else restored(make(permuted(raw.shape, order), kind), order)
        return in_batches(finished(made, requires_grad, None, device_of(raw) if device is None else device), raw)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


for _name, _doc in {
    "zeros_like": "Zeros of a tensor's shape and dtype.",
    "ones_like": "Ones of a tensor's shape and dtype.",
    "empty_like": "A tensor of another's shape and dtype, with values that mean nothing.",
}.items():
    FUNCTIONS[_name] = _like(_name, _doc)


@function
def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """One value, in a tensor's shape and dtype."""
    raw = input.read()[0]
    where = device_of(raw) if device is None else device
    made = full(tuple(raw.shape), fill_value, dtype=dtype or dtype_of(raw.dtype), device=where, requires_grad=requires_grad)
    return in_batches(made, raw)


@function
def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """start, start + step, ..., below `end`."""
    if end is None:
        start, end = 0, start
    ends = [v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (start, end, step)]
    start, end, step = ends
    if not step:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, int) for v in ends)
    kind = (np.dtype(np.int64) if whole else DEFAULT[0].numpy) if dtype is None else numpy_of(dtype)
    if not whole and kind.kind in "iu":  # the count is of the numbers as given, but for int64 of what is left of them
        counted = [int(v) for v in ends] if kind == np.int64 else ends
        n = math.ceil((counted[1] - counted[0]) / counted[2])
        return finished((int(start) + np.arange(n) * int(step)).astype(kind), requires_grad, out, device)
    n = math.ceil((end - start) / step) if not whole else max(-(-(end - start) // step), 0)
    exact = whole and (kind.kind != "f" or max(abs(start), abs(end)) < 1 << 24)
    raw = np.arange(start, end, step) if exact else rounded.steps(float(start), float(step), n, kind)
    return finished(raw.astype(kind, copy=False), requires_grad, out, device)


@function
def range(start: Any = 0, end: Any = None, step: Any = 1, **words: Any) -> Any:
    """The older `arange`, with its end."""
    import warnings

    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
                  "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).", stacklevel=2)  # fmt: skip
    if not step:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = math.floor((end - start) / step) + 1
    made = (start + np.arange(n) * step).astype(_numpy(words.get("dtype")))
    return finished(made, words.get("requires_grad", False), words.get("out"), words.get("device"))


@function
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`steps` values from `start` to `end`, evenly spaced."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if isinstance(start, complex) or isinstance(end, complex) or (dtype is not None and dtype.is_complex):
        kind = DEFAULT[0].to_complex().numpy if dtype is None else _numpy(dtype)
        return finished(np.linspace(start, end, int(steps)).astype(kind), requires_grad, out, device)
    return finished(rounded.even(float(start), float(end), int(steps), _numpy(dtype)), requires_grad, out, device)


@function
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Powers of `base` with evenly spaced exponents."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    kind = _numpy(dtype)
    if kind.kind in "iu":
        start, end = int(start), int(end)
    first, last = (v if isinstance(v, complex) else float(v) for v in (start, end))
    return finished(np.logspace(first, last, steps, base=base).astype(kind), requires_grad, out, device)


@function
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Ones on the diagonal of a matrix of zeros."""
    for name, length in (("n", n), ("m", m)):
        if length is not None and length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    return finished(np.eye(n, m, dtype=_numpy(dtype)), requires_grad, out, device)


@function
def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of one number."""
    return tensor(float(s) if dtype is None else s, dtype=dtype, device=device, requires_grad=requires_grad)


@function
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Any:
    """A tensor of anything that holds numbers, sharing its memory where it can."""
    from tapegrad.torch._construct import as_tensor

    x = tensor(obj, dtype=dtype, device=device) if copy and not isinstance(obj, Tensor) else as_tensor(obj, dtype, device)
    if copy and x is obj:
        x = x.clone()
    return x.requires_grad_() if requires_grad else x


@function
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A tensor on the memory of a buffer."""
    x = from_numpy(np.frombuffer(buffer, numpy_of(dtype), count, offset))
    return x.requires_grad_() if requires_grad else x


@function
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """Where the lower triangle of a matrix is, (2, n)."""
    return fresh(np.stack(np.tril_indices(row, offset, col)).astype(np.int64 if dtype is None else numpy_of(dtype)), device)


@function
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """Where the upper triangle of a matrix is, (2, n)."""
    return fresh(np.stack(np.triu_indices(row, offset, col)).astype(np.int64 if dtype is None else numpy_of(dtype)), device)
