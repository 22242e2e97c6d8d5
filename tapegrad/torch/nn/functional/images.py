"""Convolution, pooling, and what else works on images, which are channels-first here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad.nn as _core
from tapegrad.torch._devices import several
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import adopt, wrap
from tapegrad.torch.nn.functional._windows import (
    adaptive_size,
    check_convolution,
    check_floats,
    check_not_empty,
    check_windows,
    per_axis,
    unpooled_size,
)

__all__: list[str] = []
_FIRST = "channels_first"


def _tuple(v: Any, n: int) -> Any:
    """A parameter for each axis."""
    if isinstance(v, (int, float)):
        return (v,) * n
    found = tuple(v)
    return found * n if len(found) == 1 and n > 1 else found


def _kernel(weight: Any, n: int) -> Any:
    """(O, C, *K) as (*K, C, O)."""
    return S.permute_dims(weight, (*range(2, n + 2), 1, 0))


def _batched(x: Any, n: int, name: str) -> tuple[Any, bool]:
    """Images with a batch axis, and whether it was there."""
    rank = len(x.array.shape)
    if rank == n + 2:
        return x, True
    if rank == n + 1:
        return S.expand_dims(x, axis=0), False
    raise RuntimeError(
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(x.array.shape)}"
    )


def _unbatched(y: Any, batched: bool) -> Any:
    return y if batched else S.squeeze(y, 0)


def _one_dtype(x: Any, weight: Any, bias: Any) -> None:
    apart = type(x.array) is not np.ndarray and several() and x.device != weight.device
    if x.array.dtype == weight.array.dtype and not apart:
        return
    from tapegrad.torch._functions._build import METHODS

    a, b = (METHODS["type"](t).removeprefix("" if apart else "torch.") for t in (x, weight))
    raise RuntimeError(f"Input type ({a}) and weight type ({b}) should be the same")


def _conv(n: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    _one_dtype(x, weight, bias)
    x, batched = _batched(x, n, f"conv{n}d")
    c, w = x.array.shape[1], weight.array.shape
    check_convolution(n, w, bias, _tuple(stride, n), padding if isinstance(padding, str) else _tuple(padding, n),
                      _tuple(dilation, n), groups)  # fmt: skip
    if w[1] * groups != c:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w)}, expected input{list(x.array.shape)} to have {w[1] * groups} channels, "
            f"but got {c} channels instead"
        )
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError("Invalid padding string: 'same' or 'valid' is expected")
        if padding == "same" and any(s != 1 for s in _tuple(stride, n)):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        pads: Any = padding
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(_tuple(dilation, n), w[2:], strict=True)]
            pads = tuple((t // 2, t - t // 2) for t in total)
    else:
        pads = _tuple(padding, n)
        room = [s + 2 * p for s, p in zip(x.array.shape[2:], pads, strict=True)]
        need = [d * (k - 1) + 1 for d, k in zip(_tuple(dilation, n), w[2:], strict=True)]
        if any(r < k for r, k in zip(room, need, strict=True)):
            shown = ["({})".format(" x ".join(map(str, v))) for v in (room, need)]
            raise RuntimeError(
                f"Calculated padded input size per channel: {shown[0]}. Kernel size: {shown[1]}. Kernel size can't be greater than "
                "actual input size"
            )
    y = adopt(
        _core.conv(
            x, _kernel(weight, n), stride=_tuple(stride, n), padding=pads, dilation=_tuple(dilation, n), groups=groups, layout=_FIRST
        )
    )
    if bias is not None:
        y = S.add(y, S.reshape(bias, (-1, *(1,) * n)))
    return _unbatched(y, batched)


def _conv_transpose(
    n: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Any:
    _one_dtype(x, weight, bias)
    x, batched = _batched(x, n, f"conv_transpose{n}d")
    c, w = x.array.shape[1], weight.array.shape
    if w[0] != c:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w)}, expected input{list(x.array.shape)} to have {w[0]} channels, but got {c} "
            "channels instead"
        )
    stride, dilation, more = _tuple(stride, n), _tuple(dilation, n), _tuple(output_padding, n)
    if any(a >= max(s, d) for a, s, d in zip(more, stride, dilation, strict=True)):
        raise RuntimeError("output padding must be smaller than either stride or dilation")
    y = adopt(
        _core.conv_transpose(
            x, _kernel(weight, n), stride=stride, padding=_tuple(padding, n), output_padding=more, dilation=dilation,
            groups=groups, layout=_FIRST,
        )
    )  # fmt: skip
    if bias is not None:
        y = S.add(y, S.reshape(bias, (-1, *(1,) * n)))
    return _unbatched(y, batched)


# -- pooling ---------------------------------------------------------------------------------------------------
def _stride(stride: Any, window: Any, n: int) -> Any:
    return _tuple(window if stride is None or (isinstance(stride, (list, tuple)) and not stride) else stride, n)


def _max_pool(
    n: int, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool
) -> Any:
    x, batched = _batched(x, n, f"max_pool{n}d")
    name = f"max_pool{n}d"
    window, padding, dilation = (
        per_axis(name, w, v, n) for w, v in (("kernel_size", window), ("padding", padding), ("dilation", dilation))
    )
    stride = _stride(stride, window, n)
    check_windows(name, x, window, stride, padding, dilation, ceil_mode)
    f = _core.max_pool_with_indices if return_indices else _core.max_pool
    y = adopt(
        f(
            x, window, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode, layout=_FIRST,
        )
    )  # fmt: skip
    if return_indices:
        return _unbatched(y[0], batched), _unbatched(y[1], batched)
    return _unbatched(y, batched)


def _avg_pool(
    n: int, x: Any, window: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor: Any = None
) -> Any:
    x, batched = _batched(x, n, f"avg_pool{n}d")
    name = f"avg_pool{n}d"
    window, padding = (per_axis(name, w, v, n) for w, v in (("kernel_size", window), ("padding", padding)))
    stride = _stride(stride, window, n)
    check_windows(name, x, window, stride, padding, (1,) * n, ceil_mode)
    words = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode, "layout": _FIRST}
    if divisor is not None:
        if divisor == 0:
            raise RuntimeError("divisor must be not zero")
        if ceil_mode:  # the windows that reach beyond the padding find zeros there
            x = S.pad(x, ((0, 0), (0, 0), *_reached(x.array.shape[2:], window, stride, padding)))
            words["padding"] = (0,) * n
        y = adopt(_core.avg_pool(x, window, count_include_pad=True, **{**words, "ceil_mode": False}))
        return _unbatched(S.multiply(y, math.prod(window) / divisor), batched)
    return _unbatched(adopt(_core.avg_pool(x, window, count_include_pad=count_include_pad, **words)), batched)


def _reached(shape: Any, window: Any, stride: Any, padding: Any) -> list[tuple[int, int]]:
    """How far windows reach beyond each axis, if the last one needs to begin on it alone."""
    reached = []
    for m, w, step, p in zip(shape, window, stride, padding, strict=True):
        count = -((w - m - 2 * p) // step) + 1
        count -= (count - 1) * step >= m + p
        reached.append((p, max((count - 1) * step + w - m - p, 0)))
    return reached


def _adaptive(name: str, n: int, x: Any, size: Any) -> tuple[Any, bool, Any]:
    """The images as a batch, whether they were one, and the size of what is asked for; refused where nothing can be pooled."""
    x, batched = _batched(x, n, name)
    check_floats(name, x)
    check_not_empty(name, n, x, channels=False)
    return x, batched, adaptive_size(size, x.array.shape[2:])


def _adaptive_avg(n: int, x: Any, size: Any) -> Any:
    x, batched, size = _adaptive(f"adaptive_avg_pool{n}d", n, x, size)
    if 0 in size:
        return _unbatched(_none_of(x, size), batched)
    if all(k == 1 for k in size):  # one window: a plain mean takes an eighth of the time
        return _unbatched(S.mean(x, axis=tuple(range(2, n + 2)), keepdims=True), batched)
    return _unbatched(adopt(_core.adaptive_avg_pool(x, size, layout=_FIRST)), batched)


def _adaptive_max(n: int, x: Any, size: Any, return_indices: bool) -> Any:
    x, batched, size = _adaptive(f"adaptive_max_pool{n}d", n, x, size)
    if 0 in size:
        y = _unbatched(_none_of(x, size), batched)
        return (y, y.detach().long()) if return_indices else y
    if not return_indices:
        return _unbatched(adopt(_core.adaptive_max_pool(x, size, layout=_FIRST)), batched)
    index = wrap(_adaptive_argmax(np.asarray(x.array), size))
    spatial = x.array.shape[2:]
    flat = S.reshape(x, (*x.array.shape[:2], math.prod(spatial)))
    y = S.take_along_axis(flat, index.reshape(*x.array.shape[:2], -1), axis=2)
    return _unbatched(S.reshape(y, index.array.shape), batched), _unbatched(index, batched)


def _none_of(x: Any, size: Any) -> Any:
    """No windows at all: nothing, with a history."""
    return S.reshape(S.getitem(x, (..., slice(0, 0))), (*x.array.shape[:2], *size))


def _adaptive_argmax(raw: Any, size: Any) -> Any:
    spatial = raw.shape[2:]
    found = np.empty((*raw.shape[:2], *size), np.int64)
    places = np.arange(math.prod(spatial)).reshape(spatial)
    for i in np.ndindex(*size):
        part = tuple(
            slice(j * n // k, -(-(j + 1) * n // k)) for j, n, k in zip(i, spatial, size, strict=True)
        )
        window = raw[(..., *part)].reshape(*raw.shape[:2], -1)
        found[(..., *i)] = places[part].reshape(-1)[window.argmax(-1)]
    return found


def _unpool(n: int, x: Any, indices: Any, window: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    """Values put back where a pooling with indices took them from, among zeros."""
    x, batched = _batched(x, n, f"max_unpool{n}d")
    name, spatial = f"max_unpool{n}d", x.array.shape[2:]
    check_not_empty(name, n, x)
    if tuple(indices.array.shape[-n:]) != tuple(spatial):
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(spatial)}) "
                           f"but got indices tensor with shape: {list(indices.array.shape)}")  # fmt: skip
    index = np.asarray(indices.array).reshape(*x.array.shape[:2], math.prod(spatial))
    window, padding = (per_axis(name, w, v, n) for w, v in (("kernel_size", window), ("padding", padding)))
    stride = per_axis(name, "stride", _stride(stride, window, n), n)
    size = unpooled_size(spatial, window, stride, padding, output_size)
    total = math.prod(size)
    if index.size and (index.max() >= total or index.min() < 0):
        raise RuntimeError(f"Found an invalid max index: {int(index.max())} (output volumes are of size {'x'.join(map(str, size))}")
    lead = x.array.shape[:2]
    where = (*np.ogrid[tuple(slice(0, k) for k in lead)],)
    where = (where[0][..., None], where[1][..., None], index)
    flat = S.put(wrap(np.zeros((*lead, total), x.array.dtype)), S.reshape(x, (*lead, math.prod(spatial))), where)
    return _unbatched(S.reshape(flat, (*lead, *size)), batched)


def _lp_pool(n: int, x: Any, norm_type: float, window: Any, stride: Any, ceil_mode: bool) -> Any:
    k = math.prod(_tuple(window, n))
    y = _avg_pool(n, S.pow(x, float(norm_type)), window, stride, 0, ceil_mode, True)
    return S.pow(S.multiply(S.multiply(S.sign(y), S.relu(S.abs(y))), float(k)), 1.0 / norm_type)


# -- patches ---------------------------------------------------------------------------------------------------
def _unfold(x: Any, window: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    x, batched = _batched(x, 2, "unfold")
    y = adopt(
        _core.unfold(
            x, _tuple(window, 2), stride=_tuple(stride, 2), padding=_tuple(padding, 2), dilation=_tuple(dilation, 2), layout=_FIRST
        )
    )
    return _unbatched(S.reshape(y, (*y.array.shape[:2], math.prod(y.array.shape[2:]))), batched)


def _fold(x: Any, size: Any, window: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    batched = len(x.array.shape) == 3
    x = x if batched else S.expand_dims(x, axis=0)
    size, window = _tuple(size, 2), _tuple(window, 2)
    if x.array.shape[1] % math.prod(window):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.array.shape[1]} and kernel_size={window}."
        )
    stride, padding, dilation = _tuple(stride, 2), _tuple(padding, 2), _tuple(dilation, 2)
    places = [
        (m + 2 * p - d * (k - 1) - 1) // s + 1
        for m, k, s, p, d in zip(size, window, stride, padding, dilation, strict=True)
    ]
    if any(k < 1 for k in places):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={window}, dilation={dilation}, padding={padding}, stride={stride}, calculated "
            f"shape of the array of sliding blocks as {tuple(places)}, which is too small (non-positive)"
        )
    if math.prod(places) != x.array.shape[2]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={window}, dilation={dilation}, padding={padding}, stride={stride}, expected "
            f"size of input's dimension 2 to match the calculated number of sliding blocks {places[0]} * {places[1]} = "
            f"{math.prod(places)}, but got input.size(2)={x.array.shape[2]}."
        )
    x = S.reshape(x, (*x.array.shape[:2], *places))
    y = adopt(_core.fold(x, size, window, stride=stride, padding=padding, dilation=dilation, layout=_FIRST))
    return _unbatched(y, batched)


def _table() -> dict[str, str]:
    found = {
        "unfold(input, kernel_size, dilation=1, padding=0, stride=1)": "_unfold(input, kernel_size, dilation, padding, stride)",
        "fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)":
            "_fold(input, output_size, kernel_size, dilation, padding, stride)",
    }  # fmt: skip
    for n in (1, 2, 3):
        found |= {
            f"conv{n}d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)":
                f"_conv({n}, input, weight, bias, stride, padding, dilation, groups)",
            f"conv_transpose{n}d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)":
                f"_conv_transpose({n}, input, weight, bias, stride, padding, output_padding, groups, dilation)",
            f"max_pool{n}d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)":
                f"_max_pool({n}, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)",
            f"max_pool{n}d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, "
            "return_indices=False)":
                f"_max_pool({n}, input, kernel_size, stride, padding, dilation, ceil_mode, True)",
            f"avg_pool{n}d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
            + (", divisor_override=None)" if n > 1 else ")"):
                f"_avg_pool({n}, input, kernel_size, stride, padding, ceil_mode, count_include_pad"
                + (", divisor_override)" if n > 1 else ")"),
            f"adaptive_avg_pool{n}d(input, output_size)": f"_adaptive_avg({n}, input, output_size)",
            f"adaptive_max_pool{n}d(input, output_size, return_indices=False)":
                f"_adaptive_max({n}, input, output_size, return_indices)",
            f"max_unpool{n}d(input, indices, kernel_size, stride=None, padding=0, output_size=None)":
                f"_unpool({n}, input, indices, kernel_size, stride, padding, output_size)",
            f"lp_pool{n}d(input, norm_type, kernel_size, stride=None, ceil_mode=False)":
                f"_lp_pool({n}, input, norm_type, kernel_size, stride, ceil_mode)",
        }  # fmt: skip
    return found


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
for _signature, _body in _table().items():
    _name = _signature.partition("(")[0]
    globals()[_name] = compiled(_signature, _body, _NAMES, out=False, where="torch.nn.functional")
    __all__.append(_name)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
