"""Into tensors: `tf.constant`, `tf.convert_to_tensor`, `tf.cast`, with TensorFlow's dtypes for Python's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.dtypes import is_inexact
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import placed
from tapegrad.registry.places import is_at_hand
from tapegrad.registry.space import NUMPY, SCALARS, SPACES, default_space
from tapegrad.tf.conversions import converted, is_registered
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.errors import UnimplementedError, invalid
from tapegrad.tf.shapes import TensorShape, lengths
from tapegrad.tf.style import S, core_dtype, mismatch, scalar_of, short
from tapegrad.tf.tensor import Tensor, made

_KINDS = {bool: "b", int: "i", float: "f", complex: "c", str: "s", bytes: "s"}


def fresh(raw: Any) -> Tensor:
    """A tensor of an array that was computed on the host, where new arrays are made."""
    return made(_placed(raw))


def _placed(raw: Any) -> Any:
    """An array where new arrays are made; strings stay on the host."""
    space = default_space()
    return raw if space is NUMPY or raw.dtype.kind == "O" else placed(raw)


def host(value: Any) -> Any:
    """The values of what a user gives as a tensor, as an array of NumPy's.  Raises TypeError for a tensor without values."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return value
    raw = value.read()[0] if isinstance(value, core.Tensor) else _on_host(value)[0]
    return raw if type(raw) is np.ndarray else np.asarray(raw)


def integer(value: Any) -> int:
    """An axis or a count as a Python integer; raises as TensorFlow does for fractions, texts, None and what is no number."""
    if type(value) is int:
        return value
    if isinstance(value, float | complex):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int32")
    if isinstance(value, core.Tensor | np.ndarray | np.generic | str | bytes):
        kind = value.read()[0].dtype if isinstance(value, core.Tensor) else np.asarray(value).dtype
        if kind.kind not in "iub":
            name = "string" if kind.kind in "OUS" else as_dtype(kind).name
            raise invalid(None, f"Value for attr 'Tidx' of {name} is not in the list of allowed values: int32, int64")
        return int(value)
    if hasattr(value, "__index__"):
        return int(value)
    raise ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")


def truths(value: Any, op: str, place: int = 0) -> Tensor:
    """Truth values: a tensor has to be of them, and what is no tensor has to be made of them."""
    x = convert(value) if hasattr(value, "dtype") else convert(value, np.dtype(np.bool_))
    if x.array.dtype.kind != "b":
        words = f"as input #{place}(zero-based) was expected to be a bool tensor but is a {x.dtype.name} tensor"
        raise invalid(op, f"cannot compute {op} {words}")
    return x


def at_hand(value: Any) -> Any:
    """What a user gives as a tensor, as an array of NumPy's where the host holds it; else the raw array.

    Values on another device do not travel here for a look at them, and those of a function that is being traced are not there.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return value
    raw = value.read()[0] if isinstance(value, core.Tensor) else _on_host(value)[0]
    return np.asarray(raw) if is_at_hand(raw) else raw


def convert_raw(value: Any, dtype: np.dtype[Any] | None = None, *, prefer: bool = False) -> tuple[Any, Any]:
    """The raw array and the node of what a user gives as a tensor; what is no tensor yet goes where new arrays are made.

    `dtype` is what it has to be; with `prefer`, what NumPy's arrays become though they are of another one.
    """
    raw, node = _on_host(value, dtype, prefer=prefer)
    if default_space() is NUMPY or not isinstance(raw, np.ndarray | np.generic) or isinstance(value, core.Tensor):
        return raw, node
    return _placed(raw), node


def _on_host(value: Any, dtype: np.dtype[Any] | None = None, *, prefer: bool = False) -> tuple[Any, Any]:
    """The same, with new arrays on the host."""
    kind = type(value)
    if kind in SCALARS:
        if dtype is None:
            return np.asarray(value, core_dtype(value))[()], None
        return scalar_of(value, dtype), None
    if isinstance(value, core.Tensor) or hasattr(kind, "__tapegrad_tensor__"):
        raw, node = core.standing_for(value).read()
        return _as_asked(raw, value, dtype), node
    if kind.__module__.startswith("tensorflow."):  # TensorFlow's own
        raw, node = asarray(value).read()  # a tape may know what TensorFlow has computed
        return _as_asked(raw, value, dtype), node
    if hasattr(kind, "__tf_tensor__"):
        return _on_host(value.__tf_tensor__(None if dtype is None else as_dtype(dtype)), dtype)
    if isinstance(value, list | tuple | range):
        return _sequence(value, dtype, prefer)
    found = converted(value, None if dtype is None else as_dtype(dtype))
    return (_without_history(value, dtype), None) if found is NotImplemented else _on_host(found, dtype)


def _as_asked(raw: Any, value: Any, dtype: np.dtype[Any] | None) -> Any:
    """The raw array of a tensor, if it is of the dtype that it has to be."""
    if dtype is not None and raw.dtype != dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {as_dtype(raw.dtype).name}: {value!r}"
        )
    return raw


def _without_history(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """The raw array of what is neither tensor nor sequence nor number of Python."""
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    if isinstance(value, str | bytes):
        return _text(value, dtype)
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, dtype)
    if type(value) in SPACES:
        return value
    if isinstance(value, dict | set) or not (hasattr(value, "__array__") or hasattr(value, "__array_interface__")):
        raise ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")
    return _array(np.asarray(value), dtype)


def _array(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """An array of NumPy's, copied: its owner may write to it."""
    if value.dtype.kind in "OSU":
        found = np.frompyfunc(_encoded, 1, 1)(value)
        if dtype is not None and dtype.kind != "O":
            raise ValueError(f"Cannot convert an array of {value.dtype} to a tensor of dtype {short(dtype)}")
        return found if isinstance(found, np.ndarray) else np.asarray(found, object)
    if value.dtype.kind not in "biufc" and value.dtype.name != "bfloat16":
        raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported numpy type {value.dtype}).")
    if dtype is not None and dtype.kind == "O":
        raise TypeError(f"Cannot convert an array of {value.dtype} to a tensor of dtype string")
    if dtype is not None and value.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"Cannot convert an array of {value.dtype} to a tensor of dtype {short(dtype)}")
    wanted = dtype or (value.dtype if value.dtype.isnative else value.dtype.newbyteorder("="))
    return np.array(value, dtype=wanted, order="C")[()]


def _encoded(x: Any) -> bytes:
    if isinstance(x, str):
        return x.encode()
    if isinstance(x, bytes):
        return x
    raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {type(x).__name__}).")


def _text(value: Any, dtype: np.dtype[Any] | None) -> Any:
    if dtype is not None and dtype.kind != "O":
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {short(dtype)}")
    found = np.empty((), object)
    found[()] = _encoded(value)
    return found


def _sequence(value: Any, dtype: np.dtype[Any] | None, prefer: bool) -> tuple[Any, Any]:
    kinds: set[Any] = set()
    _look(value, kinds)
    if Tensor in kinds:
        x = _packed(value, dtype if dtype is not None else _first_dtype(value))
        return x.array, x.node
    if type(None) in kinds:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    letters = {k if isinstance(k, str) else "?" for k in kinds}
    if "s" in letters:
        return _strings(value, letters, dtype), None
    first = _first_leaf(value)
    if isinstance(first, bool | np.bool_) and letters & {"i", "f", "c"} and dtype is None:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    try:
        raw = np.array(value)
    except ValueError as error:
        raise ValueError(f"Can't convert non-rectangular Python sequence to Tensor. ({error})") from None
    if raw.dtype.kind == "O":
        raise ValueError(f"Can't convert Python sequence to Tensor: {value!r}")
    if dtype is not None:
        plain = "n" not in letters
        if plain and raw.size and _loses(raw.dtype, dtype):
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {short(dtype)}")
        if raw.dtype.kind == "i" and dtype.kind in "iu" and raw.size and raw.dtype != dtype:
            info = np.iinfo(dtype)
            if raw.min() < info.min or raw.max() > info.max:
                raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {short(dtype)}: it does not fit")
        return raw.astype(dtype, copy=False), None
    return _by_default(raw, first), None


def _loses(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether numbers of Python would lose a fraction or an imaginary part, or booleans are meant as numbers."""
    order = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3, "O": 9}
    return order[found.kind] > order[wanted.kind] or (wanted.kind == "b") != (found.kind == "b") or wanted.kind == "O"


def _by_default(raw: Any, first: Any) -> Any:
    """A list of numbers in the dtype that TensorFlow gives it: NumPy's scalars are numbers of Python to it, but a first one
    that is floating says how wide the others are."""
    if first is None:
        return raw.astype(np.float32)  # an empty list
    kind = raw.dtype.kind
    if kind in "iu":
        narrow = not raw.size or (raw.min() >= -(2**31) and raw.max() < 2**31)
        return raw.astype(np.int32 if narrow else np.int64)
    if kind == "f":
        return raw.astype(first.dtype if isinstance(first, np.floating) else np.float32, copy=False)
    return raw.astype(np.complex128, copy=False) if kind == "c" else raw


def _first_leaf(value: Any) -> Any:
    """The first number in nested sequences and arrays; None in an empty one."""
    while isinstance(value, list | tuple | range | np.ndarray):
        if not len(value) if not isinstance(value, np.ndarray) else not value.size:
            return None
        value = value[0] if not isinstance(value, np.ndarray) else value.flat[0]
    return value


def _look(value: Any, found: set[Any]) -> None:
    """Into `found`: a letter for each kind of number of Python, "n" for NumPy's, `Tensor` for tensors."""
    for v in value:
        kind = type(v)
        letter = _KINDS.get(kind)
        if letter is not None:
            found.add(letter)
        elif isinstance(v, list | tuple | range):
            _look(v, found)
        elif isinstance(v, core.Tensor) or hasattr(kind, "__tapegrad_tensor__") or hasattr(kind, "__tf_tensor__"):
            found.add(Tensor)
        elif isinstance(v, np.ndarray | np.generic):
            found.add("s" if v.dtype.kind in "OSU" else "n")
        elif v is None:
            found.add(type(None))
        else:
            found.add(Tensor if is_registered(v) else "n")


def _strings(value: Any, letters: set[str], dtype: np.dtype[Any] | None) -> Any:
    if letters != {"s"}:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if dtype is not None and dtype.kind != "O":
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {short(dtype)}")
    shape = np.shape(value)
    found = np.empty(shape, object)
    flat = value
    for _ in shape[1:]:
        flat = [x for row in flat for x in row]
    found.ravel()[:] = [_encoded(x) for x in flat]
    return found


def _first_dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of the first tensor in nested sequences."""
    for v in value:
        if isinstance(v, list | tuple):
            found = _first_dtype(v)
            if found is not None:
                return found
        elif isinstance(v, core.Tensor) or hasattr(type(v), "__tapegrad_tensor__"):
            return core.standing_for(v).array.dtype
    return None


def _packed(value: Any, dtype: Any) -> Tensor:
    """Nested sequences with tensors in them as one tensor, which is recorded where they are."""
    if isinstance(value, list | tuple):
        parts = [_packed(v, dtype) for v in value]
        for k, x in enumerate(parts):
            if x.array.dtype != parts[0].array.dtype:
                raise mismatch("Pack", k, parts[0].array.dtype, x.array.dtype)
        return S.stack(parts)
    if isinstance(value, core.Tensor):  # keeps its own dtype
        dtype = None
    return made(*convert_raw(value, dtype, prefer=True))


def convert(value: Any, dtype: np.dtype[Any] | None = None, *, prefer: bool = False) -> Tensor:
    """What a user gives, as a tensor: one that is a tensor already is given back itself."""
    if type(value) is Tensor and (dtype is None or value.array.dtype == dtype):
        return value
    raw, node = convert_raw(value, dtype, prefer=prefer)
    return made(raw, node)


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """A tensor of a number, nested lists, an array, a variable or slices; a tensor as it is.

    Raises ValueError for a tensor of another dtype: nothing is cast silently.
    """
    if dtype is None and dtype_hint is not None:
        try:
            return convert(value, numpy_dtype(dtype_hint), prefer=True)
        except (TypeError, ValueError):
            return convert(value)
    found = convert(value, numpy_dtype(dtype))
    return found if found is value or found.node is None else identity(found)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor of these values, in the shape that is given: one value fills it."""
    wanted = numpy_dtype(dtype)
    if wanted is not None and isinstance(value, core.Tensor) and value.array.dtype != wanted:
        raise TypeError(
            f"Expected tensor {value} with dtype {as_dtype(wanted)!r}, but got dtype {as_dtype(value.array.dtype)!r}; "
            "write tf.cast(tensor, dtype)"
        )
    found = convert(value, wanted)
    if found.node is not None and found is not value:
        found = identity(found)
    if shape is None:
        return found
    size = lengths(shape)
    if found.array.shape == size:
        return found
    if found.array.size == 1:
        return S.broadcast_to(S.reshape(found, ()), size)
    if found.array.size != TensorShape(size).num_elements():
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {found!r} (converted from {value!r}) has "
            f"{found.array.size:d} elements, but got `shape` {size} with {TensorShape(size).num_elements()} elements)."
        )
    return S.reshape(found, size)


def identity(input: Any, name: str | None = None) -> Any:
    """The same values, as a tensor of its own."""
    if hasattr(input, "_map_values"):
        return input._map_values(identity)
    x = convert(input)
    return made(x.array) if x.node is None else S.reshape(x, x.array.shape)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """The values in another dtype; a fraction is cut off, an imaginary part dropped."""
    if hasattr(x, "_map_values"):
        return x._map_values(lambda v: cast(v, dtype))
    wanted = as_dtype(dtype).numpy
    x = convert(x)
    own = x.array.dtype
    if own == wanted:
        return x
    if own.kind == "O" or wanted.kind == "O":
        raise UnimplementedError(None, None, f"Cast {as_dtype(own).name} to {as_dtype(wanted).name} is not supported [Op:Cast]")
    if is_inexact(own) and is_inexact(wanted):
        return S.cast(x, wanted)
    if own.kind == "c":
        x = S.real(x)
    return S.convert(x, wanted)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The values in another dtype, held within its range first."""
    wanted = as_dtype(dtype)
    x = convert(value)
    own = as_dtype(x.array.dtype)
    if own.is_complex or wanted.is_complex:
        return cast(x, dtype)
    low, high = max(own.min, wanted.min), min(own.max, wanted.max)
    return cast(S.minimum(S.maximum(x, own.numpy.type(low)), own.numpy.type(high)), dtype)


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor, a variable, slices, or a sparse or ragged one."""
    return isinstance(x, core.Tensor) or any(hasattr(type(x), k) for k in ("__tapegrad_tensor__", "_as_dense", "_components"))


def all_tensors(values: Any) -> bool:
    """Whether there are plain tensors of the facade alone: a loop, for a generator costs more than the usual two of them."""
    for v in values:  # noqa: SIM110
        if type(v) is not Tensor:
            return False
    return True


def tensors_of(values: Any) -> list[Tensor]:
    """A sequence of tensors, the others in the dtype of the first that has one of its own."""
    if isinstance(values, core.Tensor):
        return list(S.unstack(convert(values)))
    values = list(values)
    if values and all_tensors(values):
        return values
    dtype = _first_dtype(values)
    if dtype is None:
        found = [convert(v) for v in values]
        dtypes = {x.array.dtype for x in found}
        if len(dtypes) > 1:
            dtype = next((x.array.dtype for v, x in zip(values, found, strict=True) if isinstance(v, np.ndarray)), None)
            if dtype is None:
                wide = np.result_type(*dtypes)
                dtype = np.dtype(np.float32) if wide.kind == "f" else wide  # numbers of Python
            found = [convert(v, dtype, prefer=True) for v in values]
        return found
    return [v if type(v) is Tensor else convert(v, None if isinstance(v, core.Tensor) else dtype, prefer=True) for v in values]
