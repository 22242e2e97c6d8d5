"""Tensors as other dtypes, on other devices; their sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched
from tapegrad.torch._devices import CPU, moved
from tapegrad.torch._devices import device as Device
from tapegrad.torch._dtypes import DEFAULT, NAMES, numpy_of
from tapegrad.torch._dtypes import dtype as DType
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, define, function, method
from tapegrad.torch._layout import VIEWS
from tapegrad.torch._size import Size
from tapegrad.torch._sparse import sparse_coo_tensor, to_sparse
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap
from tapegrad.torch._views import laid_out, take
from tapegrad.torch._warnings import warn_once

#: The legacy names of kinds of tensors.
LEGACY = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "BoolTensor": "bool", "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128",
}  # fmt: skip
_LEGACY_NAME = {dtype: name for name, dtype in LEGACY.items()}


def parse_to(*args: Any, **words: Any) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, whether to copy, and memory format, of the arguments of `to`."""
    device, dtype = words.pop("device", None), words.pop("dtype", None)
    copy, format_ = words.pop("copy", False), words.pop("memory_format", None)
    words.pop("non_blocking", None)
    other = words.pop("other", None)
    if words:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(words))}'")
    rest = list(args)
    if other is not None:
        rest.insert(0, other)
    flags = []
    for a in rest:
        if isinstance(a, bool):
            flags.append(a)
        elif isinstance(a, DType):
            dtype = a
        elif isinstance(a, Core):
            device, dtype = getattr(a, "device", CPU), a.dtype
        elif a is None:
            continue
        elif isinstance(a, (str, int, Device)):
            device = a
        else:
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"({', '.join(type(v).__name__ for v in args)}), but expected one of: (device, dtype), (dtype), (tensor)"
            )
    if len(flags) > 1:
        copy = flags[1]
    return device, dtype, copy, format_


@method
def to(self: Any, *args: Any, **words: Any) -> Any:
    """The values in another dtype or on another device; the tensor itself where nothing changes."""
    device, dtype, copy, _ = parse_to(*args, **words)
    x = self if device is None else moved(self, device)
    if dtype is not None and numpy_of(dtype) != x.array.dtype:
        if x.array.dtype.kind == "c" and numpy_of(dtype).kind != "c":
            warn_once("imaginary", "Casting complex values to real discards the imaginary part")
            x = S.real(x)
        return S.astype(x, numpy_of(dtype))
    return x.clone() if copy and x is self else x


def _as(name: str, doc: str) -> Any:
    dtype = NAMES[name]
    wanted = dtype.numpy

    def convert(self: Any, memory_format: Any = None) -> Any:
        kind = self.array.dtype
        if kind is wanted or kind == wanted:
            return self
        return self.to(dtype) if kind.kind == "c" else S.astype(self, wanted)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = doc
    return convert


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool", "cfloat", "cdouble"):
    METHODS[_name] = _as(_name, f"The values as {NAMES[_name]}; the tensor itself if it is that already.")
METHODS["byte"] = _as("uint8", "The values as torch.uint8.")
METHODS["char"] = _as("int8", "The values as torch.int8.")


@method
def type(self: Any, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """The legacy name of the dtype; or the values in a dtype, given as such, as a legacy name or class."""
    if dtype is None:
        return f"torch.{'cuda.' if self.is_cuda else ''}{_LEGACY_NAME.get(self.dtype._name, 'Tensor')}"
    return self.to(device_named(dtype), as_dtype(dtype))


def device_named(given: Any) -> str | None:
    """The device that a legacy name or class means; None if it means none."""
    name = given if isinstance(given, str) else getattr(given, "legacy", "")
    if not name or isinstance(given, DType):
        return None
    return "cuda" if name.startswith("torch.cuda.") else "cpu"


def as_dtype(given: Any) -> Any:
    """The dtype that a legacy name or class means."""
    if isinstance(given, DType):
        return given
    if isinstance(given, str):
        name = given.rpartition(".")[2]
        if name not in LEGACY:
            raise ValueError(f"invalid type: '{given}'")
        return NAMES[LEGACY[name]]
    found = getattr(given, "dtype", None)
    if isinstance(found, DType):
        return found
    if given in (float, int, bool):
        return NAMES[{float: "float64", int: "int64", bool: "bool"}[given]]
    if getattr(given, "__name__", "") in LEGACY:
        return NAMES[LEGACY[given.__name__]]
    return DEFAULT[0]


@method
def type_as(self: Any, tensor: Any) -> Any:
    """The values in another tensor's dtype, where that tensor is."""
    return self.to(tensor)


@method
def cpu(self: Any, memory_format: Any = None) -> Any:
    """The tensor on the CPU."""
    return moved(self, CPU)


@method
def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """The tensor on a GPU."""
    return self.to("cuda" if device is None else Device("cuda", device) if isinstance(device, int) else device)


# -- size ------------------------------------------------------------------------------------------------------
@method
def dim(self: Any) -> int:
    """The number of axes."""
    return len(self.array.shape)


@method
def numel(self: Any) -> int:
    """The number of elements."""
    return math.prod(self.array.shape)


METHODS["ndimension"] = dim
METHODS["nelement"] = numel
FUNCTIONS["numel"] = lambda input: numel(input)
METHODS["element_size"] = lambda self: self.array.dtype.itemsize
METHODS["itemsize"] = property(lambda self: self.array.dtype.itemsize)
METHODS["nbytes"] = property(lambda self: self.array.dtype.itemsize * numel(self))
METHODS["get_device"] = lambda self: -1
METHODS["dim_order"] = lambda self: tuple(range(dim(self)))


def _is_contiguous(self: Any, memory_format: Any = None) -> bool:
    if isinstance(self.array, Batched):
        return True
    return bool(laid_out(self).flags.c_contiguous)


def _contiguous(self: Any, memory_format: Any = None) -> Any:
    if _is_contiguous(self):
        return self
    y = self.clone()
    if isinstance(y.array, np.ndarray):
        y.array = np.ascontiguousarray(y.array)
    return y


METHODS["is_contiguous"] = _is_contiguous
METHODS["contiguous"] = _contiguous
for _name in ("is_signed",):
    METHODS[_name] = lambda self: self.dtype.is_signed
METHODS["is_pinned"] = lambda self: False
METHODS["is_shared"] = lambda self: False
METHODS["pin_memory"] = METHODS["share_memory_"] = lambda self, *_: self
METHODS["is_set_to"] = lambda self, other: self.data_ptr() == other.data_ptr() and self.shape == other.shape
METHODS["is_same_size"] = lambda self, other: self.array.shape == other.array.shape
for _name in ("is_xpu", "is_mps", "is_quantized", "is_mkldnn", "is_meta", "is_nested", "is_sparse_csr", "is_xla"):
    METHODS[_name] = property(lambda self: False)
METHODS["is_cpu"] = property(lambda self: True)
METHODS["layout"] = property(lambda self: _layout())
METHODS["names"] = property(lambda self: (None,) * dim(self))
METHODS["dense_dim"] = dim
METHODS["to_sparse"] = to_sparse
FUNCTIONS["sparse_coo_tensor"] = sparse_coo_tensor
METHODS["to_dense"] = lambda self, dtype=None, **_: self if dtype is None else self.to(dtype)


def _layout() -> Any:
    from tapegrad.torch._info import strided

    return strided


# -- as functions ----------------------------------------------------------------------------------------------
@function
def is_tensor(obj: Any, /) -> bool:
    """Whether this is a tensor."""
    return isinstance(obj, Tensor)


@function
def is_nonzero(input: Any) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


@function
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and values."""
    a, b = input.read()[0], other.read()[0]
    return a.shape == b.shape and bool(np.array_equal(np.asarray(a), np.asarray(b)))


def is_signed(input: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(input.dtype.is_signed)


def is_conj(input: Any) -> bool:
    """Whether the numbers are still to be conjugated: never, it is done at once."""
    return False


for _function in (is_signed, is_conj):
    FUNCTIONS[_function.__name__] = METHODS[_function.__name__] = _function
FUNCTIONS["is_neg"] = METHODS["is_neg"] = is_conj
METHODS["is_nonzero"] = is_nonzero
METHODS["__reversed__"] = lambda self: self.flip(0) if self.dim() else self
METHODS["equal"] = equal
METHODS["nonzero_static"] = lambda self, *, size, fill_value=-1: _static(self, size, fill_value)
FUNCTIONS["nonzero_static"] = lambda input, *, size, fill_value=-1: _static(input, size, fill_value)


def _static(x: Any, size: int, fill_value: int) -> Any:
    found = np.argwhere(np.asarray(x.read()[0]))[:size]
    made = np.full((size, dim(x)), fill_value, np.int64)
    made[: len(found)] = found
    return wrap(made)


define(
    {
        "clone(input, *, memory_format=None)": "input.clone()",
        "detach(input)": "input.detach()",
        "is_floating_point(input)": "input.is_floating_point()",
        "is_conj(input)": "input.is_conj()",
        "is_neg(input)": "input.is_neg()",
        "is_complex(input)": "input.is_complex()",
        "view_as_real(input)": "_view_as_real(input)",
        "view_as_complex(input)": "_view_as_complex(input)",
        "is_inference(input)": "input.is_inference()",
        "is_same_size(input, other)": "input.array.shape == other.array.shape",
    },
    {"_view_as_real": lambda x: _view_as_real(x), "_view_as_complex": lambda x: _view_as_complex(x)},
    methods=False,
    out=False,
)


def _view_as_real(x: Any) -> Any:
    if not x.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return take(x, _as_pairs, lambda _, new: _as_complex(new))


def _as_pairs(t: Any) -> Any:
    """Real and imaginary parts along a new last axis; on the memory of the numbers, where they are in order."""
    y = S.stack([S.real(t), S.imag(t)], axis=-1)
    raw = t.array
    if isinstance(raw, np.ndarray) and raw.flags.c_contiguous:
        y.array = raw.reshape(-1).view(y.array.dtype).reshape(*raw.shape, 2)
    return y


def _as_complex(t: Any) -> Any:
    """Complex numbers of pairs along the last axis; on the memory of the pairs."""
    y = FUNCTIONS["complex"](S.getitem(t, (..., 0)), S.getitem(t, (..., 1)))
    raw = t.array
    if isinstance(raw, np.ndarray) and raw.strides[-1] == raw.itemsize:
        y.array = raw.view(y.array.dtype)[..., 0]
    return y


def _view_as_complex(x: Any) -> Any:
    if not x.array.shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    steps = VIEWS["stride"](x)
    if steps[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step in steps[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return take(x, _as_complex, lambda _, new: _as_pairs(new))


METHODS["sum_to_size"] = lambda self, *size: _summed_to(self, tuple(Size(size[0] if isinstance(size[0], (tuple, list)) else size)))


def _summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The tensor summed over axes so that it has this shape; truth values and integers are added up in int64."""
    if x.array.dtype.kind in "bui" and tuple(x.array.shape) != shape:
        x = S.astype(x, np.dtype(np.int64))
    return S.sum_to(x, shape)
