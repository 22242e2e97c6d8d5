"""Writing what real PyTorch reads: a zip archive of a pickle and of the memory of each storage, uncompressed and aligned."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from types import FunctionType
from typing import Any, ClassVar, final

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._checkpoint import modules
from tapegrad.torch._checkpoint.names import STORAGE_OF, UNTYPED, Name
from tapegrad.torch._dtypes import dtype as Dtype
from tapegrad.torch._dtypes import dtype_of
from tapegrad.torch._size import Size

_ALIGNMENT = 64
_HEADER = 30  # bytes of a zip entry's header before its name
_PADDING = 0x4246  # the id of the extra field that pads a header

#: Python's own pickler, since C's looks every name up before it writes it.
_Machine: Any = pickle._Pickler


@final
class _Storage:
    """Memory that is written once, whoever views it."""

    __slots__ = ("array", "count", "key", "kind")

    def __init__(self, key: str, array: np.ndarray[Any, Any]) -> None:
        self.key = key
        self.array = array
        typed = STORAGE_OF.get(array.dtype)
        self.kind = Name("torch", typed) if typed else Name("torch.storage", UNTYPED)
        self.count = array.size if typed else array.nbytes


class _Pickler(_Machine):  # type: ignore[misc]
    """A pickler that writes tensors as PyTorch does, and names of PyTorch's, which are not here, by their names."""

    dispatch: ClassVar[dict[type, Any]] = _Machine.dispatch.copy()

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, _Storage] = {}
        self._names: dict[tuple[str, str], Name] = {}

    def name(self, module: str, name: str) -> Name:
        """The one object for a name, so that the pickle writes it once."""
        return self._names.setdefault((module, name), Name(module, name))

    def save_name(self, found: Name) -> None:
        self.write(pickle.GLOBAL + f"{found.module}\n{found.name}\n".encode())
        self.memoize(found)

    def save_dtype(self, found: Any) -> None:
        self.write(pickle.GLOBAL + f"torch\n{repr(found).removeprefix('torch.')}\n".encode())
        self.memoize(found)

    def save_global(self, obj: Any, name: Any = None) -> None:
        """A class or function by name; one of the facade by the name that it has for users."""
        public = modules.public_name(obj) if name is None else None
        if public is None:
            super().save_global(obj, name)
        else:
            self.write(pickle.GLOBAL + "\n".join((*public, "")).encode())
            self.memoize(obj)

    dispatch[Name] = save_name
    dispatch[Dtype] = save_dtype
    dispatch[FunctionType] = save_global

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not _Storage:
            return None
        return ("storage", self.name(obj.kind.module, obj.kind.name), obj.key, "cpu", obj.count)

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is Size:
            return self.name("torch", "Size"), (tuple(obj),)
        if kind.__name__ == "device" and kind.__module__.startswith("tapegrad.torch"):
            index = () if obj.index is None else (obj.index,)
            return self.name("torch", "device"), (obj.type, *index)
        if _arrays.is_parameter(obj):
            data = self.tensor(_arrays.raw(obj), False)
            return self.name("torch._utils", "_rebuild_parameter"), (_Reduced(data), obj.requires_grad, OrderedDict())
        if getattr(obj, "is_sparse", False) is True:
            layout = _Reduced((self.name("torch.serialization", "_get_layout"), ("torch.sparse_coo",)))
            parts = obj._indices(), obj._values(), Size(obj.shape), obj.is_coalesced()
            return self.name("torch._utils", "_rebuild_sparse_tensor"), (layout, parts)
        if _arrays.is_tensor(obj):
            return self.tensor(_arrays.raw(obj), bool(obj.requires_grad))
        return NotImplemented

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool) -> Any:
        """The call that rebuilds a tensor from its storage."""
        storage, offset, strides = self.stored(array)
        arguments: Any = (storage, offset, tuple(array.shape), strides, requires_grad, OrderedDict())
        if storage.kind.name == UNTYPED:
            return self.name("torch._utils", "_rebuild_tensor_v3"), (*arguments, dtype_of(array.dtype))
        return self.name("torch._utils", "_rebuild_tensor_v2"), arguments

    def stored(self, array: np.ndarray[Any, Any]) -> tuple[_Storage, int, tuple[int, ...]]:
        """The storage of an array, and its offset and strides there in elements."""
        owner, size = _owner(array), array.itemsize
        start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if owner.dtype != array.dtype or any(s < 0 or s % size for s in array.strides) or start % size:
            owner, start = np.ascontiguousarray(array).reshape(array.shape), 0
            array = owner
        storage = self.storages.get(id(owner))
        if storage is None:  # which keeps the owner, so that its id stays its own
            storage = self.storages[id(owner)] = _Storage(str(len(self.storages)), owner)
        return storage, start // size, tuple(s // size for s in array.strides)


@final
class _Reduced:
    """Something that is pickled as the call that makes it."""

    __slots__ = ("call",)

    def __init__(self, call: Any) -> None:
        self.call = call


def _save_reduced(self: _Pickler, found: _Reduced) -> None:
    self.save_reduce(*found.call)


_Pickler.dispatch[_Reduced] = _save_reduced


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The contiguous array that has the memory of this one, or a copy."""
    base = array
    while type(base.base) is np.ndarray:
        base = base.base
    return base if base.flags.c_contiguous else np.ascontiguousarray(array)


def write_zip(obj: Any, file: Any, name: str, protocol: int) -> None:
    """Write an object to a file that is open for writing, as an archive whose entries start with `name`."""
    data = io.BytesIO()
    pickler = _Pickler(data, protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _entry(archive, f"{name}/data.pkl", data.getvalue())
        _entry(archive, f"{name}/.format_version", b"1")
        _entry(archive, f"{name}/.storage_alignment", str(_ALIGNMENT).encode())
        _entry(archive, f"{name}/byteorder", sys.byteorder.encode())
        for storage in pickler.storages.values():
            _entry(archive, f"{name}/data/{storage.key}", storage.array.reshape(-1).view(np.uint8).data)
        _entry(archive, f"{name}/version", b"3\n")


def _entry(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """Add an entry whose bytes start at a multiple of the alignment, so that they can be mapped into memory."""
    info = zipfile.ZipInfo(name)
    zip64 = 20 if len(data) > zipfile.ZIP64_LIMIT else 0
    assert archive.fp is not None
    after = archive.fp.tell() + _HEADER + len(name.encode()) + zip64 + 4
    padding = -after % _ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=bool(zip64)) as entry:
        entry.write(data)
