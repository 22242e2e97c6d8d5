"""Constructors from before there were dtypes: `torch.Tensor(2, 3)`, `torch.FloatTensor([1.5])`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import _dtypes
from tapegrad.torch._construct import raw_from
from tapegrad.torch._dtypes import dtype, dtype_of
from tapegrad.torch._tensor import Tensor, fresh, wrap


def construct(kind: dtype, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """A tensor of lengths, or of data, as its arguments are."""
    words.pop("device", None)
    if "size" in words:
        args = (words.pop("size"),)
    if "data" in words or "other" in words:
        args = (words.pop("data", None) or words.pop("other"),)
    if words:
        raise TypeError(f"new() received an invalid keyword argument: {', '.join(words)}")
    if not args:
        return fresh(np.empty(0, kind.numpy))
    if all(isinstance(a, int | np.integer) and not isinstance(a, bool) for a in args):
        return fresh(np.empty(tuple(int(a) for a in args), kind.numpy)) if args else None
    if len(args) > 1:
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")
    (given,) = args
    from tapegrad.torch._size import Size

    if isinstance(given, Size):
        return fresh(np.empty(tuple(given), kind.numpy))
    if isinstance(given, Core):
        if dtype_of(given.array.dtype) is not kind:
            raise TypeError(f"expected {kind} (got {dtype_of(given.array.dtype)})")
        return given.detach() if isinstance(given, Tensor) else wrap(given.read()[0])
    if isinstance(given, float | complex | bool | str) or given is None:
        raise TypeError(f"new(): data must be a sequence (got {type(given).__name__})")
    return fresh(np.atleast_1d(raw_from(given, kind.numpy, copy=True)))


class _Typed(type):
    """A class whose instances are the tensors of one dtype."""

    kind: dtype

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.kind

    def __call__(cls, *args: Any, **words: Any) -> Any:
        return construct(cls.kind, args, words)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_KINDS = {
    "FloatTensor": _dtypes.float32, "DoubleTensor": _dtypes.float64, "HalfTensor": _dtypes.float16, "LongTensor": _dtypes.int64,
    "IntTensor": _dtypes.int32, "ShortTensor": _dtypes.int16, "CharTensor": _dtypes.int8, "ByteTensor": _dtypes.uint8,
    "BoolTensor": _dtypes.bool_, "BFloat16Tensor": _dtypes.bfloat16, "ComplexFloatTensor": _dtypes.complex64,
    "ComplexDoubleTensor": _dtypes.complex128,
}  # fmt: skip
#: `torch.FloatTensor` and its like, by name.
TYPES: dict[str, Any] = {name: _Typed(name, (), {"kind": kind, "dtype": kind}) for name, kind in _KINDS.items()}
