"""Types for annotations, by PyTorch's names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from tapegrad.torch import _dtypes, _info
from tapegrad.torch._devices import device as _device
from tapegrad.torch._size import Size
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.autograd.graph import GradientEdge

_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_dtype, _layout = _dtypes.dtype, _info.layout
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int]
_dispatchkey: TypeAlias = str
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
PySymType: TypeAlias = int | float | bool
Storage: TypeAlias = Any
py_sym_types = (int, float, bool)

__all__ = ["Device", "FileLike", "Number", "Storage"]
