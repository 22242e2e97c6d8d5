"""Tensors from shapes and ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._construct import from_numpy, raw_from, requiring, tensor
from tapegrad.torch._devices import device_of
from tapegrad.torch._dtypes import DEFAULT, default_of, dtype_of, numpy_of
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, function
from tapegrad.torch._inplace import in_place
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, fresh, wrap


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
    kind = default_of(type(value)) if dtype is None else numpy_of(dtype)
    return finished(np.full(lengths((size,)), value, kind), requires_grad, out, device)


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
        return finished(make(raw.shape, kind), requires_grad, None, device_of(raw) if device is None else device)

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
    return full(tuple(raw.shape), fill_value, dtype=dtype or dtype_of(raw.dtype), device=where, requires_grad=requires_grad)


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
    n = math.ceil((end - start) / step) if not whole else max(-(-(end - start) // step), 0)
    raw = np.arange(start, end, step) if whole else start + np.arange(n) * step
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
    if isinstance(start, complex) or isinstance(end, complex):
        kind = DEFAULT[0].to_complex().numpy if dtype is None else _numpy(dtype)
        return finished(np.linspace(start, end, int(steps)).astype(kind), requires_grad, out, device)
    return finished(_even(float(start), float(end), int(steps), _numpy(dtype)), requires_grad, out, device)


def _even(a: float, b: float, n: int, kind: Any) -> Any:
    """Counted from the nearer end, in the dtype's own arithmetic, as PyTorch does."""
    if n == 1:
        return np.array([a], kind)
    if kind.kind in "iu":
        return np.linspace(a, b, n).astype(kind)
    wide = kind if kind.kind == "f" and kind.itemsize >= 4 else np.dtype(np.float32)
    step = wide.type((wide.type(b) - wide.type(a)) / wide.type(max(n - 1, 1)))
    i = np.arange(n)
    low = wide.type(a) + step * i.astype(wide)
    high = wide.type(b) - step * (n - 1 - i).astype(wide)
    return np.where(i < n // 2, low, high).astype(kind)


@function
def logspace(
    start: float,
    end: float,
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
    return finished(np.logspace(float(start), float(end), steps, base=base).astype(_numpy(dtype)), requires_grad, out, device)


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


def _window(name: str, f: Any) -> None:
    def window(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Any:
        n = window_length
        if n < 2:
            return finished(np.ones(n, _numpy(dtype)), requires_grad, None, device)
        t = np.arange(n) / (n if periodic else n - 1)
        return finished(f(t).astype(_numpy(dtype)), requires_grad, None, device)

    window.__name__ = window.__qualname__ = name
    FUNCTIONS[name] = window


_window("hann_window", lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t))
_window("hamming_window", lambda t: 0.54 - 0.46 * np.cos(2 * np.pi * t))
_window("blackman_window", lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t))
_window("bartlett_window", lambda t: 1 - np.abs(2 * t - 1))


@function
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **words: Any) -> Any:
    """The window of Kaiser, a quotient of Bessel functions."""
    n = window_length + 1 if periodic and window_length > 1 else window_length
    found = np.kaiser(n, beta)[:window_length].astype(_numpy(dtype))
    return finished(found, words.get("requires_grad", False), None, words.get("device"))


# -- like another ----------------------------------------------------------------------------------------------
def _new(name: str) -> Any:
    make = FUNCTIONS[name.removeprefix("new_")]

    def create(self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **words: Any) -> Any:
        for known in ("layout", "pin_memory"):
            words.pop(known, None)
        where = self.device if device is None else device
        return make(*size, dtype=dtype or self.dtype, device=where, requires_grad=requires_grad, **words)

    create.__name__ = create.__qualname__ = name
    return create


for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    METHODS[_name] = _new(_name)


def _new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A copy of some values in this tensor's dtype."""
    x = fresh(raw_from(data, numpy_of(dtype or self.dtype), copy=True), self.device if device is None else device)
    return requiring(x) if requires_grad else x


def _legacy_new(self: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of this dtype, of a shape or of values."""
    from tapegrad.torch._legacy import construct

    return construct(self.dtype, args, {"device": self.device if device is None else device})


METHODS["new_tensor"] = _new_tensor
METHODS["new"] = _legacy_new


def _fill(self: Any, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.array.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.array.shape)} dimensions."
            )
        return S.broadcast_to(S.astype(value, self.array.dtype), self.array.shape)
    return wrap(_full(self.array, value))


def _full(raw: Any, value: Any) -> Any:
    made = np.full(raw.shape, value, raw.dtype)
    return made if made.ndim else made[()]


METHODS["fill_"] = in_place(_fill, "fill_")
METHODS["zero_"] = in_place(lambda self: wrap(_full(self.array, 0)), "zero_")
FUNCTIONS["fill"] = lambda input, value: _fill(input, value)
FUNCTIONS["zero_"] = METHODS["zero_"]
