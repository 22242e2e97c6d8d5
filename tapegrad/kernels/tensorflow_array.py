"""TensorFlow's tensors as the core knows arrays: with NumPy's shape, dtype, operators and promotion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np
import tensorflow as tf

from tapegrad.errors import SymbolicValueError
from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels import tensorflow_later as later
from tapegrad.kernels.tensorflow_calls import BF16, EAGER, F32, F64, NUMPY_OF, constant
from tapegrad.kernels.tensorflow_lengths import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class TFArray:
    """A `tf.Tensor`, eager or symbolic, with NumPy's shape, dtype, operators and promotion.

    * `bare`: the tensor itself.
    * `dtype`: an object of NumPy's.
    * `shape`: a tuple, made when it is first asked for.  A length that only the running graph knows is a `Size`.

    Nothing is ever written to; `x += y` gives a new array.
    """

    #: What tells the engine that it may write `x += y`: nothing else sees it.
    immutable = True
    add_to = None
    __slots__ = ("__weakref__", "_count", "_most", "_shape", "_summands", "bare", "dtype")
    __array_ufunc__ = None  # an operator of NumPy's array leaves the work to this class

    bare: Any
    dtype: np.dtype[Any]
    _shape: tuple[Any, ...] | None
    #: Those of a sum that has been put off, the first `_count` of them: arrays share the list.  A tuple of one: `put_off_reading`.
    _summands: Any
    _count: int
    _most: int  # with more than so many they are added up at once

    #: Gives the kernel of this name; set where the kernels are collected.
    kernel: Callable[[str], Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        """What no slot holds: the tensor of a sum that has been put off."""
        if name != "bare":
            raise AttributeError(f"'TFArray' object has no attribute {name!r}", name=name, obj=self)
        summands = self._summands
        if summands is None:
            raise AttributeError("'TFArray' object has no attribute 'bare' yet", name=name, obj=self)
        if type(summands) is tuple:
            found = self.bare = summands[0].whole()
        else:
            found = self.bare = later.total(summands[: self._count], self._shape or ())
        self._summands = None
        return found

    def plus(self, other: TFArray) -> TFArray | None:
        """The sum with an array of the same shape, put off until it is read; None for what is not put off."""
        d = self.dtype
        if d is not other.dtype or not (d is F32 or d is F64):
            return None
        s = self._shape or self._known_shape()
        if s is None or s != (other._shape or other._known_shape()):
            return None
        summands = self._summands
        if summands is None:
            most = later.most(s)
            if not most:
                return None
            summands = [self.bare]
        else:
            count, most = self._count, self._most
            if count >= most or type(summands) is tuple:
                summands, most = [self.bare], later.most(s)
            elif count < len(summands):  # another array has added to this one already
                summands = summands[:count]
        if type(other._summands) is list:
            summands.extend(other._summands[: other._count])
            most = min(most, other._most)
        else:
            summands.append(other.bare)
        return put_off(summands, d, s, most)

    def times(self, other: TFArray) -> TFArray | None:
        """The product with an array of the same shape, put off until it is read; None for what is not put off."""
        d = self.dtype
        if d is not other.dtype or not (d is F32 or d is F64):
            return None
        s = self._shape or self._known_shape()
        if s is None or s != (other._shape or other._known_shape()) or not (most := later.most(s)):
            return None
        a, b = self.bare, other.bare
        return put_off([later.Product(a, b)], d, s, most) if type(a) is EAGER and type(b) is EAGER else None

    def _known_shape(self) -> tuple[Any, ...] | None:
        """The shape, unless a graph would have to be asked."""
        return self._shape if self._shape is not None or type(self.bare) is not EAGER else self.shape

    @property
    def shape(self) -> tuple[Any, ...]:
        if self._shape is None:
            self._shape = shape_of(self.bare)
        return self._shape

    @property
    def symbolic(self) -> bool:
        """Whether it is of a graph that is being built, and has no values yet."""
        return type(self._summands) is tuple or type(self.bare) is not EAGER

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return math.prod(self.shape)

    @property
    def device(self) -> str:
        """The name of the device, such as "GPU:0"; "" for a symbolic tensor of which the graph is to decide."""
        return "" if type(self._summands) is tuple else calls.short(str(self.bare.device))

    @property
    def real(self) -> Any:
        return TFArray.kernel("real")(self)

    @property
    def imag(self) -> Any:
        return TFArray.kernel("imag")(self)

    @property
    def T(self) -> Any:
        return TFArray.kernel("permute_dims")(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Any:
        return TFArray.kernel("matrix_transpose")(self)

    def copy(self) -> TFArray:
        """The same, for nothing is ever written to."""
        return self

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return TFArray.kernel("astype")(self, np.dtype(dtype))

    def reshape(self, *shape: Any) -> Any:
        return TFArray.kernel("reshape")(self, shape[0] if len(shape) == 1 else shape)

    def conj(self) -> Any:
        return TFArray.kernel("conj")(self)

    def __getitem__(self, index: Any) -> Any:
        return TFArray.kernel("getitem")(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return int(self.shape[0])

    # -- to the host, which only a user asks for -----------------------------------------------------
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The values: the tensor's own memory, read-only, where it is the host's."""
        bare = self.bare
        if type(bare) is not EAGER:
            raise SymbolicValueError(
                f"{bare.name!r} is a symbolic tensor of a tf.function that is being traced: it has no values yet, for an `if`, "
                "float(x) or x.numpy() to read; write tapegrad.where(condition, a, b) for an `if`, compute with the tensor for "
                "a number, look at it with tf.print(x.raw), or give the function a Python number, which is traced as it is"
            )
        # the buffer protocol does not know bfloat16
        found = bare.numpy() if self.dtype is BF16 else np.asarray(memoryview(bare))
        return np.array(found, dtype=dtype, copy=copy)

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __index__(self) -> int:
        return np.asarray(self).__index__()

    def __repr__(self) -> str:
        return f"TFArray({self.bare!r})"

    def __reduce__(self) -> Any:
        return _restored, (np.array(np.asarray(self)),)

    __hash__ = object.__hash__


def put_off(summands: list[Any], dtype: np.dtype[Any], shape: tuple[Any, ...], most: int) -> TFArray:
    """An array of which the summands are known, and computed when it is read, or when there would be more than `most`."""
    y = TFArray()
    y._summands = summands
    y._count = len(summands)
    y._most = most
    y.dtype = dtype
    y._shape = shape
    return y


def put_off_reading(source: Any, dtype: np.dtype[Any], shape: tuple[Any, ...]) -> TFArray:
    """An array whose tensor is `source.whole()`, asked for when it is read: `tensorflow_stored`."""
    y = TFArray()
    y._summands = (source,)
    y._count = y._most = 1
    y.dtype = dtype
    y._shape = shape
    return y


def waiting(x: TFArray) -> Any:
    """The source of an array whose reading was put off, while nobody has read it; else None."""
    summands = x._summands
    return summands[0] if type(summands) is tuple else None


def made(bare: Any, dtype: np.dtype[Any], shape: tuple[Any, ...] | None = None) -> TFArray:
    """An array of a tensor whose dtype is known."""
    x = TFArray()
    x.bare = bare
    x.dtype = dtype
    x._shape = shape
    x._summands = None
    return x


def wrapped(bare: Any) -> TFArray:
    """An array of any tensor of TensorFlow's; a variable is read."""
    if isinstance(bare, tf.Variable):
        bare = bare.value() if hasattr(bare, "value") else tf.convert_to_tensor(bare)
    try:
        return made(bare, NUMPY_OF[bare.dtype])
    except KeyError:
        raise TypeError(f"expected a tensor of numbers, got one of TensorFlow's dtype {bare.dtype.name}") from None


def static_value(bare: Any) -> Any:
    """What a symbolic tensor is in every call, as an array of NumPy's; None where that is not known."""
    return tf.get_static_value(bare)


def _restored(values: Any) -> TFArray:
    return wrapped(constant(values))
