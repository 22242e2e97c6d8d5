"""Which function of tapegrad a NumPy function means, and what its arguments are called there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tapegrad.numpy_compositions import COMPOSITIONS, public
from tapegrad.numpy_fits import FITS
from tapegrad.numpy_options import OPTIONS
from tapegrad.numpy_pieces import PIECES
from tapegrad.numpy_rows import ROWS
from tapegrad.numpy_writes import WRITES

if TYPE_CHECKING:
    from collections.abc import Callable

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

#: What a ufunc's `reduce` and `accumulate` are.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
ACCUMULATIONS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


#: Functions whose value is an integer, a truth, or a step, so that none has a derivative to lose: NumPy computes them.
CONSTANT = frozenset(
    [
        *("np.argpartition", "np.array2string", "np.array_equiv", "np.common_type", "np.diag_indices_from", "np.digitize"),
        *("np.einsum_path", "np.fix", "np.iscomplex", "np.isin", "np.isneginf", "np.isposinf", "np.isreal", "np.lexsort"),
        *("np.may_share_memory", "np.min_scalar_type", "np.nanargmax", "np.nanargmin", "np.shares_memory"),
        *("np.tril_indices_from", "np.triu_indices_from"),
    ]
)


# -- other functions -----------------------------------------------------------------------------------
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
sum             ~sum             @a axis dtype out keepdims initial where
prod            ~prod            @a axis dtype out keepdims initial where
max amax        ~max             @a axis out keepdims initial where
min amin        ~min             @a axis out keepdims initial where
mean            ~mean            @a axis dtype out keepdims where
std             ~std             @a axis !dtype out ddof>correction keepdims where mean correction
var             ~var             @a axis !dtype out ddof>correction keepdims where mean correction
all             all              @a axis out keepdims !where
any             any              @a axis out keepdims !where
count_nonzero   count_nonzero    @a axis keepdims
argmax          argmax           @a axis out keepdims
argmin          argmin           @a axis out keepdims
cumsum          ~cumsum          @a axis dtype out
cumprod         ~cumprod         @a axis dtype out
cumulative_sum  cumulative_sum   @x axis dtype out include_initial
cumulative_prod cumulative_prod  @x axis dtype out include_initial
nancumsum       ~nancumsum       @a axis dtype out
nancumprod      ~nancumprod      @a axis dtype out
diagflat        ~diagflat        @v k
vander          ~vander          @x N increasing
ptp             ~ptp             @a axis out keepdims
average         ~average         @a axis weights returned keepdims
median          ~median          @a axis out !overwrite_input keepdims
nanmedian       ~nanmedian       @a axis out !overwrite_input keepdims
quantile        ~quantile        @a @q axis out !overwrite_input method keepdims !weights !interpolation
nanquantile     ~nanquantile     @a @q axis out !overwrite_input method keepdims !weights !interpolation
percentile      ~percentile      @a @q axis out !overwrite_input method keepdims !weights !interpolation
nanpercentile   ~nanpercentile   @a @q axis out !overwrite_input method keepdims !weights !interpolation
nansum          ~nansum          @a axis dtype out keepdims !initial !where
nanprod         ~nanprod         @a axis dtype out keepdims !initial !where
nanmax          ~nanmax          @a axis out keepdims !initial !where
nanmin          ~nanmin          @a axis out keepdims !initial !where
nanmean         ~nanmean         @a axis !dtype out keepdims !where
nanvar          ~nanvar          @a axis !dtype out ddof>correction keepdims !where !mean correction
nanstd          ~nanstd          @a axis !dtype out ddof>correction keepdims !where !mean correction
cov             ~cov             @m @y rowvar bias ddof fweights aweights !dtype
corrcoef        ~corrcoef        @x @y rowvar !bias !ddof !dtype
trapezoid       ~trapezoid       @y @x dx axis
convolve        ~convolve        @a @v mode
correlate       ~correlate       @a @v mode
interp          ~interp          @x @xp @fp left right !period
polyval         ~polyval         @p @x
diff            ~diff            @a n axis prepend append
clip            ~clip            @a a_min>min a_max>max out min max
where           ~where           @condition @x @y
round around    ~around          @a decimals out
real            real             @val
imag            imag             @val
nan_to_num      ~nan_to_num      @x copy nan posinf neginf
isclose         ~isclose         @a @b rtol atol equal_nan
allclose        ~allclose        @a @b rtol atol equal_nan
array_equal     ~array_equal     @a1 @a2 equal_nan
reshape         ~reshape         @a shape order copy
ravel           ~ravel           @a order
transpose       ~transpose       @a axes
permute_dims    ~transpose       @a axes
matrix_transpose matrix_transpose @x
swapaxes        ~swapaxes        @a axis1 axis2
moveaxis        moveaxis         @a source destination
expand_dims     expand_dims      @a axis
squeeze         ~squeeze         @a axis
broadcast_to    broadcast_to     @array shape !subok
broadcast_arrays broadcast_arrays *
meshgrid        ~meshgrid        *
concatenate concat  ~concatenate [@arrays axis out dtype casting
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
trace           ~trace           @a offset axis1 axis2 dtype out
take            ~take            @a @indices axis out mode
take_along_axis take_along_axis  @arr @indices axis
select          ~select          [@condlist @choicelist default
choose          ~choose          [@a @choices !out !mode
compress        ~compress        [@condition @a axis !out
extract         ~extract         [@condition @arr
delete          ~delete          [@arr @obj axis
insert          ~insert          [@arr @obj @values axis
block           ~block           [@arrays
hsplit          ~hsplit          @ary @indices_or_sections
vsplit          ~vsplit          @ary @indices_or_sections
dsplit          ~dsplit          @ary @indices_or_sections
rollaxis        ~rollaxis        @a axis start
gradient        ~gradient        *
ediff1d         ~ediff1d         @ary to_end to_begin
angle           ~angle           @z deg
sinc            ~sinc            @x
i0              ~i0              @x
lib.stride_tricks.sliding_window_view ~sliding_window_view @x window_shape axis
nonzero         nonzero          @a
argwhere        ~argwhere        @a
flatnonzero     ~flatnonzero     @a
searchsorted    searchsorted     @a @v side sorter
sort            ~sort            @a axis !kind !order stable
argsort         ~argsort         @a axis !kind !order stable
unique          ~unique          @ar return_index return_inverse return_counts axis equal_nan sorted
union1d         ~union1d         @ar1 @ar2
intersect1d     ~intersect1d     @ar1 @ar2 assume_unique return_indices
setdiff1d       ~setdiff1d       @ar1 @ar2 assume_unique
setxor1d        ~setxor1d        @ar1 @ar2 assume_unique
sort_complex    ~sort_complex    @a
trim_zeros      ~trim_zeros      @filt trim !axis
unique_values   unique_values    @x
unique_counts   unique_counts    @x
unique_inverse  unique_inverse   @x
unique_all      unique_all       @x
zeros_like      ~zeros_like      @a dtype !order !subok shape device
ones_like       ~ones_like       @a dtype !order !subok shape device
empty_like      ~empty_like      @prototype dtype !order !subok shape device
full_like       ~full_like       @a @fill_value dtype !order !subok shape device
linspace        ~linspace        @start @stop num endpoint retstep dtype axis !device
logspace        ~logspace        @start @stop num endpoint base dtype axis
geomspace       ~geomspace       @start @stop num endpoint dtype axis
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
kron            ~kron            @a @b
tensordot       ~tensordot       @a @b axes
einsum          ~einsum          *
cross           linalg.cross     @a @b !axisa !axisb !axisc axis
linalg.norm     ~norm            @x ord axis keepdims
linalg.inv      linalg.inv       @a
linalg.pinv     linalg.pinv      @a rcond>rtol !hermitian rtol
linalg.det      linalg.det       @a
linalg.slogdet  linalg.slogdet   @a
linalg.solve    linalg.solve     @a @b
linalg.lstsq    ~lstsq           @a @b rcond
linalg.cond     ~cond            @x p
linalg.eig      ~eig             @a
linalg.eigvals  ~eigvals         @a
linalg.tensorinv ~tensorinv      @a ind
linalg.tensorsolve ~tensorsolve  @a @b axes
poly            ~poly            @seq_of_zeros
polyadd         ~polyadd         @a1 @a2
polysub         ~polysub         @a1 @a2
polymul         ~polymul         @a1 @a2
polyder         ~polyder         @p m
polyint         ~polyint         @p m k
roots           ~roots           @p
unwrap          ~unwrap          @p discont axis period
apply_along_axis ~apply_along_axis *
apply_over_axes ~apply_over_axes *
real_if_close   ~real_if_close   @a tol
piecewise       ~piecewise       *
copyto          ~copyto          *
put             ~put             *
putmask         ~putmask         *
place           ~place           *
fill_diagonal   ~fill_diagonal   *
put_along_axis  ~put_along_axis  *
polyfit         ~polyfit         @x @y @deg !rcond !full w !cov
bincount        ~bincount        @x @weights minlength
partition       ~partition       @a @kth axis !kind !order
resize          ~resize          @a @new_shape
linalg.cholesky linalg.cholesky  @a upper
linalg.eigh     ~eigh            @a UPLO
linalg.eigvalsh ~eigvalsh        @a UPLO
linalg.svd      ~svd             @a full_matrices compute_uv !hermitian
linalg.svdvals  linalg.svdvals   @x
linalg.qr       ~qr              @a mode
linalg.matrix_power linalg.matrix_power @a n
linalg.matrix_rank linalg.matrix_rank @A !tol !hermitian rtol
linalg.matrix_norm linalg.matrix_norm @x keepdims ord
linalg.vector_norm linalg.vector_norm @x axis keepdims ord
linalg.diagonal linalg.diagonal  @x offset
linalg.multi_dot ~multi_dot      [@arrays !out
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
fft.fft2        ~fft2            @a s axes norm out
fft.ifft2       ~ifft2           @a s axes norm out
fft.rfft2       ~rfft2           @a s axes norm out
fft.irfft2      ~irfft2          @a s axes norm out
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
    """Our function: composed (with a "~"), or public."""
    if not name.startswith("~"):
        return public(name)
    for table in (OPTIONS, PIECES, FITS, ROWS, WRITES):
        if name[1:] in table:
            return table[name[1:]]
    return COMPOSITIONS[name[1:]]
