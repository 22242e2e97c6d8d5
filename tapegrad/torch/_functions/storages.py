"""The memory of tensors as an object: what `storage()` and `untyped_storage()` give, and `torch.FloatStorage` and its like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.torch import _dtypes
from tapegrad.torch._devices import device_of
from tapegrad.torch._dtypes import dtype_of
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, function
from tapegrad.torch._storage import owner
from tapegrad.torch._tensor import Tensor, wrap
from tapegrad.torch._views import give_memory, laid_out
from tapegrad.torch._write_checks import check


class _Memory:
    """All the memory that a tensor has a part of, as elements of one dtype: two are equal if they are the same memory."""

    __slots__ = ("_x",)
    _x: Any

    def _whole(self) -> Any:
        """A tensor on all of it, without history."""
        raw = laid_out(self._x)
        n = owner(raw).size
        return self._x.data.as_strided((n,), (1,), 0) if n else self._x.data.reshape(-1)

    def _array(self) -> Any:
        give_memory(self._x)
        return owner(np.asarray(self._x.read()[0])).ravel(order="K")

    def data_ptr(self) -> int:
        """The address of its first byte."""
        from tapegrad.torch._layout import data_ptr, storage_offset

        return data_ptr(self._x) - storage_offset(self._x) * self._x.array.dtype.itemsize

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    @property
    def device(self) -> Any:
        return device_of(self._x.array)

    is_cuda = property(lambda self: self.device.type == "cuda")

    def nbytes(self) -> int:
        """How many bytes it has."""
        return int(owner(laid_out(self._x)).nbytes)

    def is_shared(self) -> bool:
        """Whether other processes have it too."""
        return False

    def share_memory_(self) -> Any:
        """Itself: processes that are started get copies."""
        return self

    def resize_(self, size: int) -> Any:
        """Refused, unless nothing changes: the memory is NumPy's, and others may look at it."""
        if size != self.nbytes():
            raise NotImplementedError(
                f"resize_(size): expected size == {self.nbytes()}, which this storage has, got {size}: memory that tensors share is not "
                "given up here; let go of the tensors instead"
            )
        return self

    def cpu(self) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Memory) and self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    def __hash__(self) -> int:
        return hash(self.data_ptr())


class UntypedStorage(_Memory):
    """Memory as bytes: of a tensor, or a new one of so many bytes, or of these."""

    __slots__ = ()

    def __init__(self, given: Any = 0, *, device: Any = None) -> None:
        made = np.zeros(given, np.uint8) if isinstance(given, int) else np.array(list(given), np.uint8)
        self._x = wrap(made)

    def size(self) -> int:
        """How many bytes it has."""
        return self.nbytes()

    __len__ = size

    def _bytes(self) -> Any:
        return self._array().view(np.uint8)

    def tolist(self) -> list[int]:
        """The bytes."""
        found: list[int] = self._bytes().tolist()
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, i: Any) -> Any:
        return self._bytes()[i].tolist()

    def element_size(self) -> int:
        return 1

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Write another storage's bytes into this one."""
        self._whole().view(_dtypes.NAMES["uint8"]).copy_(wrap(source._array().view(np.uint8)))
        return self

    def fill_(self, value: int) -> Any:
        """Write one value into each byte."""
        self._whole().view(_dtypes.NAMES["uint8"]).fill_(value)
        return self

    def clone(self) -> Any:
        """The same bytes elsewhere."""
        return _of(UntypedStorage, wrap(self._array().copy()))

    def __repr__(self) -> str:
        return f"<torch.UntypedStorage of {self.nbytes()} bytes>"


class TypedStorage(_Memory):
    """Memory as numbers of a dtype."""

    __slots__ = ()
    _kind: Any = None

    def __init__(self, given: Any = 0, *, dtype: Any = None, device: Any = None, wrap_storage: Any = None) -> None:
        kind = (dtype or self._kind or _dtypes.DEFAULT[0]).numpy
        if wrap_storage is not None:
            self._x = wrap(wrap_storage._array().view(kind))
        else:
            self._x = wrap(np.zeros(given, kind) if isinstance(given, int) else np.array(list(given), kind))

    @property
    def dtype(self) -> Any:
        return dtype_of(self._x.array.dtype)

    def size(self) -> int:
        """How many numbers it has."""
        return int(owner(laid_out(self._x)).size)

    __len__ = size

    def element_size(self) -> int:
        return int(self._x.array.dtype.itemsize)

    def untyped(self) -> Any:
        """The same memory as bytes."""
        return _of(UntypedStorage, self._x)

    def tolist(self) -> list[Any]:
        """The numbers."""
        found: list[Any] = self._whole().tolist()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, i: Any) -> Any:
        return self.tolist()[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        self._whole()[i] = value

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Write another storage's numbers into this one."""
        self._whole().copy_(source._whole())
        return self

    def fill_(self, value: Any) -> Any:
        """Write one number everywhere."""
        self._whole().fill_(value)
        return self

    def clone(self) -> Any:
        """The same numbers elsewhere."""
        return _of(type(self), wrap(self._array().copy()))

    def __repr__(self) -> str:
        lines = "\n".join(f" {v}" for v in self.tolist())
        return f"{lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _of(kind: Any, x: Any) -> Any:
    made = object.__new__(kind)
    made._x = x
    return made


METHODS["untyped_storage"] = lambda self: _of(UntypedStorage, self)
METHODS["storage"] = METHODS["_typed_storage"] = METHODS["typed_storage"] = lambda self: _of(TypedStorage, self)
FUNCTIONS["UntypedStorage"], FUNCTIONS["TypedStorage"] = UntypedStorage, TypedStorage
for _name, _kind in {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}.items():  # fmt: skip
    _made = {"_kind": _dtypes.NAMES[_kind], "__slots__": (), "__doc__": f"Memory as numbers of torch.{_kind}."}
    FUNCTIONS[f"{_name}Storage"] = type(f"{_name}Storage", (TypedStorage,), {**_made, "__module__": "torch"})


@function
def is_storage(obj: Any, /) -> bool:
    """Whether this stands for a tensor's memory."""
    return isinstance(obj, _Memory)


def tensor_on(storage: Any, offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """A tensor on a storage: all of it, or elements from an offset on in a shape, by these steps."""
    whole = storage._whole()
    if size is None:
        return whole[offset:] if offset else whole
    shape = (size,) if isinstance(size, int) else tuple(size)
    if stride is None:
        steps, step = [], 1
        for n in reversed(shape):
            steps.append(step)
            step *= max(n, 1)
        stride = tuple(reversed(steps))
    return whole.as_strided(shape, tuple(stride), offset)


def _set(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Let this tensor have the memory of another, or of a storage."""
    check(self, constant=True)
    if isinstance(source, _Memory):
        source = tensor_on(source, storage_offset, size, stride)
    elif isinstance(source, Tensor) and size is not None:
        source = tensor_on(_of(TypedStorage, source), storage_offset, size, stride)
    self.data = self.new_empty(0) if source is None else source
    return self


METHODS["set_"] = _set
METHODS["_cdata"] = property(id)  # by which libraries tell whether two names are one tensor
