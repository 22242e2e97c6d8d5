"""What PyTorch calls, inside its files, the memory of each dtype."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tapegrad import dtypes

#: Storage classes of `torch`, by the dtype of their numbers.
STORAGES: dict[str, np.dtype[Any]] = {
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.as_dtype("bfloat16"),
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
STORAGE_OF = {dtype: name for name, dtype in STORAGES.items()}
UNTYPED = "UntypedStorage"


@final
class Name:
    """A module and a name in it, which need not exist here, as a pickle writes a class or function."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *_: Any) -> Any:  # a pickle takes only what looks callable
        raise TypeError(f"{self.module}.{self.name} stands for a name in a file; it can't be called")
