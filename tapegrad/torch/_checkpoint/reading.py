"""Reading PyTorch's files safely: a pickle may name only what is listed here, and make nothing else.

What the list holds are tensors and what they consist of, containers, and NumPy's scalars and arrays of numbers.  A
pickle may set the state only of what it has made itself.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._checkpoint import modules
from tapegrad.torch._checkpoint.names import STORAGES, UNTYPED
from tapegrad.torch._dtypes import NAMES as DTYPES
from tapegrad.torch._size import Size

_MAGIC = 0x1950A86A20F9469CFC6C  # starts the format of sequential pickles
_PROTOCOL = 1001

#: Python's own pickle machine, in which setting a state can be restricted.
_Machine: Any = pickle._Unpickler

#: Classes that `add_safe_globals` allows besides, by the name under which a pickle asks for them.
ALLOWED: dict[str, Any] = {}


@final
class _StorageType:
    """A storage class as a pickle names it: the dtype, or None where the tensor says it."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype[Any] | None) -> None:
        self.dtype = dtype


# -- what rebuilds tensors ---------------------------------------------------------------------------------
def _tensor(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, hooks: Any = None, marks: Any = None
) -> Any:
    """A view of a storage; `marks` say whether PyTorch left it to the reader to conjugate or to negate what is there."""
    array = _view(storage, offset, tuple(size), tuple(stride))
    if marks and marks.get("conj"):
        array = np.conj(array)
    if marks and marks.get("neg"):
        array = np.negative(array)
    return _arrays.made(array, requires_grad=bool(requires_grad))


def _tensor_v3(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: Any, marks: Any = None
) -> Any:
    return _tensor(storage.view(dtype.numpy), offset, size, stride, requires_grad, hooks, marks)


def _layout(name: str) -> Any:
    if name not in ("torch.strided", "torch.sparse_coo"):
        raise pickle.UnpicklingError(f"load(f): tensors of layout {name} are not read")
    return getattr(_arrays.facade(), name.removeprefix("torch."))


def _sparse(layout: Any, parts: Any) -> Any:
    indices, values, size, *coalesced = parts
    facade = _arrays.facade()
    if layout is not facade.sparse_coo:
        raise pickle.UnpicklingError(f"load(f): sparse tensors of layout {layout} are not read")
    made = facade.sparse_coo_tensor(indices, values, tuple(size))
    return made.coalesce() if coalesced and coalesced[0] else made


def _view(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The array of this offset, size and strides in elements; all of it has to lie in the storage."""
    if not isinstance(storage, np.ndarray) or len(size) != len(stride) or any(n < 0 for n in (offset, *size, *stride)):
        raise pickle.UnpicklingError(f"load(f): a tensor has offset {offset}, size {size} and strides {stride}")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= storage.size:
        raise pickle.UnpicklingError(
            f"load(f): expected the last element of a tensor to lie in its storage of {storage.size} elements, "
            f"got place {last} (offset {offset}, size {size}, strides {stride})"
        )
    steps = tuple(s * storage.itemsize for s in stride)
    return np.ndarray(size, storage.dtype, storage if storage.size else None, offset * storage.itemsize, steps)


def _parameter(data: Any, requires_grad: bool = True, *_: Any) -> Any:
    return _arrays.parameter(data, requires_grad=bool(requires_grad))


def _from_type(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor with attributes, which are put on it where it is an object of the plain class."""
    made = function(*arguments)
    if isinstance(state, dict):
        for name, value in state.items():
            if name in ("persistent", "_is_buffer", "requires_grad"):
                setattr(made, name, value)
    return made


def _plain_dtype(*arguments: Any) -> _Dtype:
    return _Dtype(np.dtype(*arguments))


class _Dtype:
    """A dtype of NumPy's, to which a pickle adds its byte order; those of objects are refused."""

    __slots__ = ("numpy",)

    def __init__(self, numpy: np.dtype[Any]) -> None:
        if numpy.kind not in "biufcSU":
            raise pickle.UnpicklingError(f"load(f): arrays of dtype {numpy} are not read")
        self.numpy = numpy

    def __setstate__(self, state: Any) -> None:
        self.numpy = self.numpy.newbyteorder(state[1]) if state[1] in ("<", ">") else self.numpy


def _numpy_scalar(dtype: _Dtype, data: bytes) -> Any:
    return np.frombuffer(data, dtype.numpy)[0]


class _NumpyArray:
    """An array that is being read; its state says all."""

    __slots__ = ("array",)

    def __init__(self, *_: Any) -> None:
        self.array: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        array = np.frombuffer(data, dtype.numpy).copy()
        self.array = array.reshape(shape, order="F" if fortran else "C")


def _encode(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"load(f): bytes in {encoding!r} are not read")
    return text.encode(encoding)


def _device(*arguments: Any) -> Any:
    return _arrays.facade().device(*arguments)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch.serialization._get_layout": _layout,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.Size": lambda sizes=(): Size(sizes),
    "torch.device": _device,
    "_codecs.encode": _encode,
    "collections.defaultdict": lambda factory=None, *items: defaultdict(_factory(factory), *items),
    "numpy.dtype": _plain_dtype,
    **{f"numpy.{core}.multiarray.scalar": _numpy_scalar for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray._reconstruct": _NumpyArray for core in ("core", "_core")},
}
_TYPES: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    **{
        f"{m}.{t.__name__}": t for m in ("builtins", "__builtin__") for t in (set, frozenset, complex, bytearray, slice)
    },
    **{f"{m}.{t.__name__}": t for m in ("builtins", "__builtin__") for t in (int, float, bool, str, list, dict, tuple)},
}
#: Names that are passed on and never called.
_WORDS = ("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer")


def _factory(factory: Any) -> Any:
    if factory is not None and factory not in (int, float, bool, str, list, dict, set, tuple, OrderedDict):
        raise pickle.UnpicklingError(f"load(f): a defaultdict of {factory!r} is not read")
    return factory


def _found(module: str, name: str, *, whole: bool) -> Any:
    full = f"{module}.{name}"
    if full in ALLOWED:
        return ALLOWED[full]
    if full in _TYPES:
        return _TYPES[full]
    if full in _FUNCTIONS:
        return _FUNCTIONS[full]
    if module == "torch" and name in DTYPES:
        return DTYPES[name]
    if module == "torch" and name in STORAGES:
        return _StorageType(STORAGES[name])
    if full in ("torch.storage.UntypedStorage", f"torch.{UNTYPED}"):
        return _StorageType(None)
    if full in _WORDS:
        return full
    if whole and (found := modules.found(module, name)) is not None:
        return found
    raise pickle.UnpicklingError(
        f"Weights only load failed: the file asks for {full}, which is not among what a file may name "
        f"(Unsupported global: GLOBAL {full} was not an allowed global by default). A file can run any code through the "
        f"classes and functions that it names. If you trust it, allow the class: torch.serialization.add_safe_globals"
        f"([{name}]), or load a file of the state_dict() alone."
    )


class _Unpickler(_Machine):  # type: ignore[misc]
    """An unpickler that finds only what is listed, and gets storages from `storage_of`."""

    dispatch: ClassVar[dict[int, Any]] = _Machine.dispatch.copy()

    def __init__(
        self,
        file: Any,
        storage_of: Callable[[Any, str, str, int], Any],
        encoding: str = "utf-8",
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(file, encoding=encoding)
        self._storage_of = storage_of
        self._whole = whole
        self.has_arrays = False

    def find_class(self, module: str, name: str) -> Any:
        found = _found(module, name, whole=self._whole)
        self.has_arrays |= found is _NumpyArray
        return found

    def load_state(self) -> None:
        """Give the last object but one the last one as its state."""
        made = self.stack[-2]
        kind = type(made)
        if kind not in (OrderedDict, _Dtype, _NumpyArray, *ALLOWED.values()) and not modules.is_class_of_whole(kind):
            raise pickle.UnpicklingError(f"load(f): a state for an object of type {kind.__name__} is not read")
        self.load_build()

    def load_call(self) -> None:
        """Call the last object but one with the last one as its arguments."""
        _check_callable(self.stack[-2])
        self.load_reduce()

    def _instantiate(self, klass: Any, args: Any) -> None:
        # What opcodes of old call.
        _check_callable(klass)
        super()._instantiate(klass, args)

    dispatch[pickle.BUILD[0]] = load_state
    dispatch[pickle.REDUCE[0]] = load_call

    def persistent_load(self, saved: Any) -> Any:
        if not isinstance(saved, tuple) or len(saved) < 5 or saved[0] != "storage":
            raise pickle.UnpicklingError(f"load(f): expected a storage, got {saved!r}")
        _, kind, key, location, count, *view = saved
        if not isinstance(kind, _StorageType):
            raise pickle.UnpicklingError(f"load(f): expected the class of a storage, got {kind!r}")
        array = self._storage_of(kind.dtype, str(key), location, count)
        if view and view[0] is not None:
            _, offset, size = view[0]
            array = array[offset : offset + size]
        return array

    def read(self) -> Any:
        """The object that the pickle makes."""
        found = self.load()
        return _finished(found, set()) if self.has_arrays else found


def _check_callable(function: Any) -> None:
    if not any(function is f for f in (*_FUNCTIONS.values(), *_TYPES.values(), *ALLOWED.values())):
        raise pickle.UnpicklingError(f"load(f): {function!r} may be named in a file, but not be called")


def read(file: Any, located: Callable[[str], None], encoding: str, *, whole: bool = False) -> Any:
    """The object in a file that is open for reading; `located` is told the device of each storage.

    With `whole`, a file may name classes of modules that the program knows.
    """
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if head == b"PK\x03\x04":
        return _read_zip(file, located, encoding, whole)
    if _is_tar(file):
        raise RuntimeError(
            "load(f): this is a tar archive, PyTorch's format of 2016, which is not read; "
            "save it anew with a PyTorch of today: torch.save(torch.load(path), path)"
        )
    return _read_pickles(file, located, encoding, whole)


def _is_tar(file: Any) -> bool:
    """Whether a tar archive begins here."""
    import tarfile

    start = file.tell()
    head = file.read(512)
    file.seek(start)
    return len(head) == 512 and head[257:262] == b"ustar" and tarfile.is_tarfile(io.BytesIO(head + file.read()))


def _read_zip(file: Any, located: Callable[[str], None], encoding: str, whole: bool) -> Any:
    with zipfile.ZipFile(file) as archive:
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        if "data.pkl" not in names:
            text = "a compiled program (TorchScript)" if "constants.pkl" in names else "no file of torch.save"
            raise RuntimeError(f"load(f): this archive is {text}: it has no data.pkl")
        order = archive.read(names["byteorder"]).decode() if "byteorder" in names else "little"
        storages: dict[str, Any] = {}

        def storage_of(dtype: Any, key: str, location: str, count: int) -> Any:
            located(location)
            if key not in storages:
                data = bytearray(archive.read(names[f"data/{key}"]))
                storages[key] = _ordered(np.frombuffer(data, dtype or np.uint8), order)
            return storages[key]

        return _Unpickler(io.BytesIO(archive.read(names["data.pkl"])), storage_of, encoding, whole=whole).read()


def _ordered(array: np.ndarray[Any, Any], order: str) -> np.ndarray[Any, Any]:
    return array.byteswap() if (order == "little") != (np.little_endian) else array


def _read_pickles(file: Any, located: Callable[[str], None], encoding: str, whole: bool) -> Any:
    """The format before archives: magic number, protocol, the machine, the object, the storages' keys, their numbers."""

    def no_storage(*_: Any) -> Any:
        raise pickle.UnpicklingError("load(f): a storage where none belongs")

    def plain() -> Any:
        return _Unpickler(file, no_storage, encoding).load()

    try:
        magic = plain()
    except (pickle.UnpicklingError, EOFError, UnicodeDecodeError, ValueError, IndexError, KeyError) as error:
        raise pickle.UnpicklingError(f"load(f): this is no file of torch.save: {error}") from error
    if magic != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (protocol := plain()) != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {protocol}")
    little = bool(plain().get("little_endian", True))
    storages: dict[str, Any] = {}

    def storage_of(dtype: Any, key: str, location: str, count: int) -> Any:
        located(location)
        if key not in storages:
            storages[key] = np.zeros(count, dtype or np.uint8)
        return storages[key]

    start = file.tell()
    _Unpickler(
        file, storage_of, encoding, whole=whole
    ).read()  # says which storages there are, whose numbers come after it
    for key in plain():
        array = storages[str(key)]
        (count,) = struct.unpack("<q" if little else ">q", file.read(8))
        if count * array.itemsize != array.nbytes:
            raise RuntimeError(f"load(f): storage {key} has {count} elements, expected {array.size}")
        data = np.frombuffer(file.read(array.nbytes), array.dtype)
        array[...] = _ordered(data, "little" if little else "big")
    end = file.tell()
    file.seek(start)
    found = _Unpickler(file, storage_of, encoding, whole=whole).read()
    file.seek(end)
    return found


def _finished(x: Any, seen: set[int]) -> Any:
    """The object with NumPy's arrays in the place of what stood for them while reading."""
    if isinstance(x, _NumpyArray):
        return x.array
    if type(x) is tuple:
        return tuple(_finished(y, seen) for y in x)
    if id(x) not in seen and isinstance(x, dict | list):
        seen.add(id(x))
        for key, value in list(x.items() if isinstance(x, dict) else enumerate(x)):
            x[key] = _finished(value, seen)
    return x
