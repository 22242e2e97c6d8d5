"""Which function of tapegrad a NumPy function means, and what its arguments are called there."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# -- universal functions -------------------------------------------------------------------------------
#: Names of NumPy's and SciPy's that differ from ours; other ufuncs have the same name, or none.
UFUNC_NAMES = {
    "absolute": "abs",
    "fabs": "abs",
    "power": "pow",
    "float_power": "pow",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "psi": "digamma",
}


def _read(x: Any, *, copy: bool | None = None) -> Any:
    """A tensor as it is, and anything else as NumPy reads it: Python floats in double precision."""
    return asarray(x if isinstance(x, Tensor) else np.asarray(x), copy=copy)


def _fmax(x1: Any, x2: Any) -> Any:
    return F.where(F.isnan(x1), x2, F.where(F.isnan(x2), x1, F.maximum(x1, x2)))


def _fmin(x1: Any, x2: Any) -> Any:
    return F.where(F.isnan(x1), x2, F.where(F.isnan(x2), x1, F.minimum(x1, x2)))


def _fmod(x1: Any, x2: Any) -> Any:
    return x1 - F.trunc(F.divide(x1, x2)) * x2


def _logaddexp2(x1: Any, x2: Any) -> Any:
    return F.logaddexp(x1 * math.log(2), x2 * math.log(2)) / math.log(2)


def _heaviside(x1: Any, x2: Any) -> Any:
    x = _read(x1)
    step = F.astype(F.greater(x, 0), np.result_type(x.dtype, np.float16))
    return F.where(F.isnan(x), x, F.where(F.equal(x, 0), x2, step))


#: Ufuncs that are written in several ops.
UFUNC_COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "cbrt": lambda x: F.sign(x) * F.pow(F.abs(x), 1 / 3),
    "deg2rad": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "divmod": lambda x1, x2: (F.floor_divide(x1, x2), F.remainder(x1, x2)),
    "exp2": lambda x: F.pow(2.0, x),
    "fmax": _fmax,
    "fmin": _fmin,
    "fmod": _fmod,
    "heaviside": _heaviside,
    "logaddexp2": _logaddexp2,
    "modf": lambda x: (x - F.trunc(x), F.trunc(x)),
    "rad2deg": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "matvec": lambda x1, x2: F.squeeze(F.matmul(x1, F.expand_dims(x2, axis=-1)), -1),
    "vecmat": lambda x1, x2: F.squeeze(F.matmul(F.expand_dims(F.conj(x1), axis=-2), x2), -2),
}

#: What a ufunc's `reduce` and `accumulate` are.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
ACCUMULATIONS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


# -- other functions: compositions ---------------------------------------------------------------------
def _flat(x: Any) -> Any:
    return F.reshape(x, (-1,))


def _cumulative(name: str) -> Callable[..., Any]:
    def run(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> Any:
        function = getattr(F, name)
        return function(_flat(x), axis=0, dtype=dtype) if axis is None else function(x, axis=axis, dtype=dtype)

    return run


def _diff(x: Any, /, *, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """NumPy takes a number, or anything that it reads as an array, to put before and behind."""
    index = axis % x.ndim if x.ndim else 0
    edge = tuple(1 if i == index else k for i, k in enumerate(x.shape))

    def end(v: Any) -> Any:
        if v is None:
            return None
        v = _read(v)
        return F.broadcast_to(v, edge) if v.ndim == 0 else v

    return F.diff(x, axis=axis, n=n, prepend=end(prepend), append=end(append))


def _around(x: Any, /, *, decimals: int = 0) -> Any:
    if decimals == 0 or x.dtype.kind in "biu":
        return F.round(x)
    return F.round(x * 10.0**decimals) / 10.0**decimals


def _transpose(x: Any, /, *, axes: Any = None) -> Any:
    return F.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def _swapaxes(x: Any, /, *, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return F.permute_dims(x, tuple(order))


def _squeeze(x: Any, /, *, axis: Any = None) -> Any:
    return F.squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def _at_least(rank: int) -> Callable[..., Any]:
    def one(x: Any) -> Any:
        x = _read(x)
        if rank == 3 and x.ndim in (1, 2):
            return F.reshape(x, (1, *x.shape, 1) if x.ndim == 1 else (*x.shape, 1))
        return F.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x

    def run(*arrays: Any) -> Any:
        found = tuple(map(one, arrays))
        return found[0] if len(found) == 1 else found

    return run


def _vstack(arrays: Sequence[Any], /) -> Any:
    return F.concat([_at_least(2)(x) for x in arrays], axis=0)


def _hstack(arrays: Sequence[Any], /) -> Any:
    raised = [_at_least(1)(x) for x in arrays]
    return F.concat(raised, axis=0 if raised[0].ndim == 1 else 1)


def _dstack(arrays: Sequence[Any], /) -> Any:
    return F.concat([_at_least(3)(x) for x in arrays], axis=2)


def _column_stack(arrays: Sequence[Any], /) -> Any:
    columns = [_read(x) for x in arrays]
    return F.concat([F.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in columns], axis=1)


def _append(x: Any, values: Any, /, *, axis: int | None = None) -> Any:
    return F.concat([_read(x), _read(values)], axis=axis)


def _split(x: Any, sections: Any, /, *, axis: int = 0) -> list[Any]:
    return list(F.split(x, tuple(int(i) for i in sections) if hasattr(sections, "__iter__") else int(sections), axis=axis))


def _array_split(x: Any, sections: Any, /, *, axis: int = 0) -> list[Any]:
    if not hasattr(sections, "__iter__"):
        each, more = divmod(x.shape[axis], sections)
        sizes = [each + 1] * more + [each] * (sections - more)
        sections = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return _split(x, sections, axis=axis)


def _fliplr(x: Any, /) -> Any:
    return F.flip(x, axis=1)


def _flipud(x: Any, /) -> Any:
    return F.flip(x, axis=0)


def _diag(x: Any, /, *, k: int = 0) -> Any:
    x = _read(x)
    return F.put_diagonal(x, offset=k) if x.ndim == 1 else F.diagonal(x, offset=k)


def _diagonal(x: Any, /, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return F.diagonal(F.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(x: Any, /, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return F.sum(_diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)


def _ptp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return F.max(x, axis=axis, keepdims=keepdims) - F.min(x, axis=axis, keepdims=keepdims)


def _average(x: Any, /, *, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return F.mean(x, axis=axis, keepdims=keepdims)
    w = _read(weights)
    if w.ndim != x.ndim:
        if w.ndim != 1 or not isinstance(axis, int):
            raise ArgumentError(f"np.average(weights=...): expected weights like x, or along one axis, got {w.shape}")
        w = F.reshape(w, tuple(-1 if i == axis % x.ndim else 1 for i in range(x.ndim)))
    w = F.broadcast_to(w, x.shape)
    return F.sum(x * w, axis=axis, keepdims=keepdims) / F.sum(w, axis=axis, keepdims=keepdims)


def _nan_to_num(x: Any, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    info = np.finfo(x.dtype)
    y = F.where(F.isnan(x), nan, x)
    y = F.where(F.equal(y, math.inf), float(info.max) if posinf is None else posinf, y)
    return F.where(F.equal(y, -math.inf), float(info.min) if neginf is None else neginf, y)


def _dot(x1: Any, x2: Any, /) -> Any:
    a, b = _read(x1), _read(x2)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return F.matmul(a, b)
    return F.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))


def _inner(x1: Any, x2: Any, /) -> Any:
    a, b = _read(x1), _read(x2)
    return F.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,))) if a.ndim and b.ndim else a * b


def _vdot(x1: Any, x2: Any, /) -> Any:
    return F.vecdot(_flat(x1), _flat(x2))


def _outer(x1: Any, x2: Any, /) -> Any:
    return F.expand_dims(_flat(x1), axis=-1) * _flat(x2)


def _norm(x: Any, /, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """NumPy's one function for norms of vectors and of matrices."""
    if axis is None and ord is None:
        y = target("linalg.vector_norm")(_flat(x))
        return F.reshape(y, (1,) * x.ndim) if keepdims else y
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if hasattr(axis, "__iter__") else (axis,)
    if len(axes) == 1:
        return target("linalg.vector_norm")(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    a, b = (i % x.ndim for i in axes)
    moved = F.moveaxis(x, (a, b), (-2, -1))
    y = target("linalg.matrix_norm")(moved, ord="fro" if ord is None else ord, keepdims=keepdims)
    return F.moveaxis(y, (-2, -1), (a, b)) if keepdims else y


def _unique(
    x: Any, /, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    found = F.unique_all(x)
    more = [v for v, wanted in zip(found[1:], (return_index, return_inverse, return_counts), strict=True) if wanted]
    return (found[0], *more) if more else found[0]


def _argwhere(x: Any, /) -> Any:
    return F.stack(F.nonzero(x), axis=-1)


def _flatnonzero(x: Any, /) -> Any:
    return F.nonzero(_flat(x))[0]


def _isclose(x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    values = [np.asarray(x.array) if isinstance(x, Tensor) else x for x in (x1, x2)]
    return _read(np.isclose(values[0], values[1], rtol=rtol, atol=atol, equal_nan=equal_nan))


def _allclose(*args: Any, **words: Any) -> bool:
    return bool(np.all(_isclose(*args, **words).array))


def _array_equal(x1: Any, x2: Any, /, *, equal_nan: bool = False) -> bool:
    values = [np.asarray(x.array) if isinstance(x, Tensor) else x for x in (x1, x2)]
    return np.array_equal(values[0], values[1], equal_nan=equal_nan)


def _where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    return F.nonzero(condition) if x1 is None else F.where(condition, x1, x2)


def _size(x: Any, /, *, axis: int | None = None) -> int:
    return x.size if axis is None else x.shape[axis]


def _text(x: Any, /, **_: Any) -> str:
    return repr(x)


def _copy(x: Any, /) -> Any:
    return _read(x, copy=True)


def _like(name: str) -> Callable[..., Any]:
    def run(x: Any, *value: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> Any:
        x = _read(x)
        if shape is None:
            return getattr(F, f"{name}_like")(x, *value, dtype=dtype, device=device)
        return getattr(F, name)(shape, *value, dtype=dtype or x.dtype, device=device)

    return run


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    name.removeprefix("_"): function
    for name, function in list(globals().items())
    if name.startswith("_") and callable(function) and getattr(function, "__module__", "") == __name__
}
COMPOSITIONS.update(
    cumsum=_cumulative("cumulative_sum"),
    cumprod=_cumulative("cumulative_prod"),
    atleast_1d=_at_least(1),
    atleast_2d=_at_least(2),
    atleast_3d=_at_least(3),
    zeros_like=_like("zeros"),
    ones_like=_like("ones"),
    empty_like=_like("empty"),
    full_like=_like("full"),
    ravel=_flat,
    ndim=lambda x, /: _read(x).ndim,
    shape=lambda x, /: _read(x).shape,
    iscomplexobj=lambda x, /: _read(x).dtype.kind == "c",
    isrealobj=lambda x, /: _read(x).dtype.kind != "c",
)


# -- other functions: the table ------------------------------------------------------------------------
@final
class Word:
    """An argument of a NumPy function."""

    __slots__ = ("name", "ours", "positional", "refused")

    def __init__(self, text: str) -> None:
        self.positional = text[0] == "@"
        self.refused = text[0] == "!"
        name, _, ours = text.lstrip("@!").partition(">")
        self.name = name
        self.ours = ours or name


@final
class Row:
    """A NumPy function: what it is with us, and what its arguments are, in order."""

    __slots__ = ("many", "sequence", "target", "words")

    def __init__(self, target: str, words: str) -> None:
        self.target = target
        self.many = words.startswith("*")
        self.sequence = words.startswith("[")  # the first argument is a sequence of arrays
        self.words = [] if self.many else [Word(w) for w in words.lstrip("[").split()]


#: NumPy's name, our function (with a "~" what is composed above), arguments: "@" arrays, which are positional with us,
#: "name>ours" a name of our own, "!" what has to be left at its default; "[" before a sequence of arrays, "*" any number.
_TABLE = """
sum             sum              @a axis dtype out keepdims !initial !where
prod            prod             @a axis dtype out keepdims !initial !where
max amax        max              @a axis out keepdims !initial !where
min amin        min              @a axis out keepdims !initial !where
mean            mean             @a axis !dtype out keepdims !where
std             std              @a axis !dtype out ddof>correction keepdims !where !mean correction
var             var              @a axis !dtype out ddof>correction keepdims !where !mean correction
all             all              @a axis out keepdims !where
any             any              @a axis out keepdims !where
count_nonzero   count_nonzero    @a axis keepdims
argmax          argmax           @a axis out keepdims
argmin          argmin           @a axis out keepdims
cumsum          ~cumsum          @a axis dtype out
cumprod         ~cumprod         @a axis dtype out
cumulative_sum  cumulative_sum   @x axis dtype out include_initial
cumulative_prod cumulative_prod  @x axis dtype out include_initial
ptp             ~ptp             @a axis out keepdims
average         ~average         @a axis weights !returned keepdims
diff            ~diff            @a n axis prepend append
clip            clip             @a a_min>min a_max>max out min max
where           ~where           @condition @x @y
round around    ~around          @a decimals out
real            real             @val
imag            imag             @val
nan_to_num      ~nan_to_num      @x !copy nan posinf neginf
isclose         ~isclose         @a @b rtol atol equal_nan
allclose        ~allclose        @a @b rtol atol equal_nan
array_equal     ~array_equal     @a1 @a2 equal_nan
reshape         reshape          @a shape !order copy
ravel           ~ravel           @a !order
transpose       ~transpose       @a axes
permute_dims    ~transpose       @a axes
matrix_transpose matrix_transpose @x
swapaxes        ~swapaxes        @a axis1 axis2
moveaxis        moveaxis         @a source destination
expand_dims     expand_dims      @a axis
squeeze         ~squeeze         @a axis
broadcast_to    broadcast_to     @array shape !subok
broadcast_arrays broadcast_arrays *
meshgrid        meshgrid         *
concatenate concat  concat       [@arrays axis out !dtype !casting
stack           stack            [@arrays axis out !dtype !casting
unstack         unstack          @x axis
vstack          ~vstack          [@tup !dtype !casting
hstack          ~hstack          [@tup !dtype !casting
dstack          ~dstack          [@tup
column_stack    ~column_stack    [@tup
append          ~append          @arr @values axis
split           ~split           [@ary @sections axis
array_split     ~array_split     [@ary @sections axis
atleast_1d      ~atleast_1d      *
atleast_2d      ~atleast_2d      *
atleast_3d      ~atleast_3d      *
tile            tile             @A reps>repetitions
repeat          repeat           @a @repeats axis
flip            flip             @m axis
fliplr          ~fliplr          @m
flipud          ~flipud          @m
roll            roll             @a shift axis
rot90           rot90            @m k axes
pad             pad              @array pad_width mode constant_values
tril            tril             @m k
triu            triu             @m k
diag            ~diag            @v k
diagonal        ~diagonal        @a offset axis1 axis2
trace           ~trace           @a offset axis1 axis2 !dtype out
take            take             @a @indices axis out !mode
take_along_axis take_along_axis  @arr @indices axis
nonzero         nonzero          @a
argwhere        ~argwhere        @a
flatnonzero     ~flatnonzero     @a
searchsorted    searchsorted     @a @v side sorter
sort            sort             @a axis !kind !order stable
argsort         argsort          @a axis !kind !order stable
unique          ~unique          @ar return_index return_inverse return_counts !axis
unique_values   unique_values    @x
unique_counts   unique_counts    @x
unique_inverse  unique_inverse   @x
unique_all      unique_all       @x
zeros_like      ~zeros_like      @a dtype !order !subok shape device
ones_like       ~ones_like       @a dtype !order !subok shape device
empty_like      ~empty_like      @prototype dtype !order !subok shape device
full_like       ~full_like       @a @fill_value dtype !order !subok shape device
copy            ~copy            @a !order !subok
astype          astype           @x dtype copy device
shape           ~shape           @a
ndim            ~ndim            @a
size            ~size            @a axis
iscomplexobj    ~iscomplexobj    @x
isrealobj       ~isrealobj       @x
array_repr      ~text            @arr
array_str       ~text            @a
result_type     result_type      *
can_cast        can_cast         @from_ @to
dot             ~dot             @a @b out
inner           ~inner           @a @b
outer           ~outer           @a @b out
vdot            ~vdot            @a @b
kron            kron             @a @b
tensordot       tensordot        @a @b axes
einsum          einsum           *
cross           linalg.cross     @a @b !axisa !axisb !axisc axis
linalg.norm     ~norm            @x ord axis keepdims
linalg.inv      linalg.inv       @a
linalg.pinv     linalg.pinv      @a !rcond !hermitian rtol
linalg.det      linalg.det       @a
linalg.slogdet  linalg.slogdet   @a
linalg.solve    linalg.solve     @a @b
linalg.cholesky linalg.cholesky  @a upper
linalg.eigh     linalg.eigh      @a
linalg.eigvalsh linalg.eigvalsh  @a
linalg.svd      linalg.svd       @a full_matrices
linalg.svdvals  linalg.svdvals   @x
linalg.qr       linalg.qr        @a mode
linalg.matrix_power linalg.matrix_power @a n
linalg.matrix_rank linalg.matrix_rank @A !tol !hermitian rtol
linalg.matrix_norm linalg.matrix_norm @x keepdims ord
linalg.vector_norm linalg.vector_norm @x axis keepdims ord
linalg.diagonal linalg.diagonal  @x offset
linalg.trace    linalg.trace     @x offset dtype
linalg.outer    linalg.outer     @x1 @x2
linalg.cross    linalg.cross     @x1 @x2 axis
linalg.matmul   matmul           @x1 @x2
linalg.vecdot   vecdot           @x1 @x2 axis
linalg.tensordot tensordot       @x1 @x2 axes
linalg.matrix_transpose matrix_transpose @x
fft.fft         fft.fft          @a n axis norm out
fft.ifft        fft.ifft         @a n axis norm out
fft.rfft        fft.rfft         @a n axis norm out
fft.irfft       fft.irfft        @a n axis norm out
fft.hfft        fft.hfft         @a n axis norm out
fft.ihfft       fft.ihfft        @a n axis norm out
fft.fftn        fft.fftn         @a s axes norm out
fft.ifftn       fft.ifftn        @a s axes norm out
fft.rfftn       fft.rfftn        @a s axes norm out
fft.irfftn      fft.irfftn       @a s axes norm out
fft.fftshift    fft.fftshift     @x axes
fft.ifftshift   fft.ifftshift    @x axes
"""


def _rows() -> dict[str, Row]:
    found = {}
    for line in _TABLE.strip().splitlines():
        left, at = line.split(), next(i for i, w in enumerate(line.split()) if w[0] in "@[*!")
        names, ours = left[: at - 1], left[at - 1]
        for name in names:
            found[f"np.{name}"] = Row(ours, " ".join(left[at:]))
    return found


FUNCTIONS = _rows()


def target(name: str) -> Callable[..., Any]:
    """Our function: composed here (with a "~"), or public."""
    if name.startswith("~"):
        return COMPOSITIONS[name[1:]]
    found: Any = sys.modules["tapegrad"]
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise ArgumentError(f"tapegrad.{name} is not there, so NumPy's function of that meaning cannot be recorded")
    return found
