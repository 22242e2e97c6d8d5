"""Constructors from before there were dtypes: `torch.Tensor(2, 3)`, `torch.FloatTensor([1.5])`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import _dtypes
from tapegrad.torch._construct import raw_from
from tapegrad.torch._devices import device_of, gpus, moved, no_gpu
from tapegrad.torch._dtypes import dtype, dtype_of
from tapegrad.torch._tensor import Tensor, fresh, wrap


def construct(kind: dtype, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """A tensor of lengths, or of data, as its arguments are."""
    where = words.pop("device", None)
    if "size" in words:
        args = (words.pop("size"),)
    if "data" in words or "other" in words:
        args = (words.pop("data", None) or words.pop("other"),)
    if words:
        raise TypeError(f"new() received an invalid keyword argument: {', '.join(words)}")
    if not args:
        return fresh(np.empty(0, kind.numpy), where)
    if all(isinstance(a, int | np.integer) and not isinstance(a, bool) for a in args):
        return fresh(np.empty(tuple(int(a) for a in args), kind.numpy), where)
    if len(args) > 1:
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")
    (given,) = args
    from tapegrad.torch._size import Size

    if isinstance(given, Size):
        return fresh(np.empty(tuple(given), kind.numpy), where)
    if isinstance(given, Core):
        if dtype_of(given.array.dtype) is not kind:
            raise TypeError(f"expected {kind} (got {dtype_of(given.array.dtype)})")
        made = given.detach() if isinstance(given, Tensor) else wrap(given.read()[0])
        return made if where is None else moved(made, where)
    if hasattr(given, "_whole"):
        return given._whole()  # a storage: the tensor has its memory
    if isinstance(given, float | complex | bool | str) or given is None:
        raise TypeError(f"new(): data must be a sequence (got {type(given).__name__})")
    return fresh(np.atleast_1d(raw_from(given, kind.numpy, copy=True)), where)


class _Typed(type):
    """A class whose instances are the tensors of one dtype on one kind of device."""

    kind: dtype
    place: str
    legacy: str

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.kind and device_of(x.array).type == cls.place

    def __call__(cls, *args: Any, **words: Any) -> Any:
        where = words.pop("device", None)
        if cls.place == "cuda":
            where = where or "cuda"
            if not gpus():
                raise TypeError(f"type {cls.legacy} not available. {no_gpu()}")
        return construct(cls.kind, args, {**words, "device": where})

    def __repr__(cls) -> str:
        return f"<class '{cls.legacy}'>"


_KINDS = {
    "FloatTensor": _dtypes.float32, "DoubleTensor": _dtypes.float64, "HalfTensor": _dtypes.float16, "LongTensor": _dtypes.int64,
    "IntTensor": _dtypes.int32, "ShortTensor": _dtypes.int16, "CharTensor": _dtypes.int8, "ByteTensor": _dtypes.uint8,
    "BoolTensor": _dtypes.bool_, "BFloat16Tensor": _dtypes.bfloat16, "ComplexFloatTensor": _dtypes.complex64,
    "ComplexDoubleTensor": _dtypes.complex128,
}  # fmt: skip


def _types(place: str, module: str) -> dict[str, Any]:
    return {
        name: _Typed(name, (), {"kind": kind, "dtype": kind, "place": place, "legacy": f"{module}.{name}", "__module__": module})
        for name, kind in _KINDS.items()
    }


#: `torch.FloatTensor` and its like, by name; and those of `torch.cuda`.
TYPES = _types("cpu", "torch")
CUDA_TYPES = _types("cuda", "torch.cuda")
