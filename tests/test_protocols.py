"""NumPy's functions on tensors: what they record, and what they refuse."""

import warnings

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DetachedError
from tapegrad.numpy_functions import FUNCTIONS, UFUNC_NAMES, target
from tapegrad.registry.op import OPS

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 0.9, (3, 4))
W = RNG.uniform(0.2, 0.9, (3, 4))
S = RNG.uniform(-1, 1, (3, 3)) + 3 * np.eye(3)

# Every one is a function of one array that NumPy can compute: its value is compared with NumPy's, its gradient with
# differences of NumPy's values.
CALLS = {
    "array * x": lambda x: W * x,
    "array - x": lambda x: W - x,
    "array @ x.T": lambda x: W @ x.T,
    "array ** x": lambda x: W**x,
    "scalar / x": lambda x: np.float64(2.5) / x,
    "sin": np.sin,
    "arcsin": np.arcsin,
    "power": lambda x: np.power(x, 2.5),
    "maximum": lambda x: np.maximum(x, W),
    "maximum with a list": lambda x: np.maximum(x, [0.3, 0.5, 0.7, 0.1]),
    "exp2": np.exp2,
    "cbrt": np.cbrt,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
    "fmax": lambda x: np.fmax(x, 0.5),
    "fmin": lambda x: np.fmin(x, W),
    "fmod": lambda x: np.fmod(4 * x, 0.7),
    "modf": lambda x: np.modf(3 * x)[0],
    "divmod": lambda x: np.divmod(x, 0.15)[1],
    "logaddexp2": lambda x: np.logaddexp2(x, W),
    "heaviside": lambda x: x * np.heaviside(x - 0.5, 0.5),
    "fabs": lambda x: np.fabs(-x),
    "square(dtype=)": lambda x: np.square(x, dtype=np.float64),
    "add.reduce": np.add.reduce,
    "add.reduce(axis)": lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True),
    "maximum.reduce": lambda x: np.maximum.reduce(x, 1),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "multiply.outer": lambda x: np.multiply.outer(x, W[0]),
    "matvec": lambda x: np.matvec(x, W[0]),
    "vecmat": lambda x: np.vecmat(W[:, 0], x),
    "vecdot": lambda x: np.vecdot(x, W),
    "sum": lambda x: np.sum(x, axis=1, keepdims=True),
    "prod": lambda x: np.prod(x, 0),
    "amax": lambda x: np.amax(x, axis=0),
    "mean": lambda x: np.mean(x, axis=-1),
    "std": lambda x: np.std(x, ddof=1),
    "var": lambda x: np.var(x, axis=0, ddof=1, keepdims=True),
    "cumsum": np.cumsum,
    "cumsum(axis)": lambda x: np.cumsum(x, axis=1),
    "cumprod": lambda x: np.cumprod(x, 1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "ptp": lambda x: np.ptp(x, axis=0),
    "average": lambda x: np.average(x, axis=1, weights=[0.1, 0.2, 0.3, 0.4]),
    "average of all": np.average,
    "diff": lambda x: np.diff(x, n=2, prepend=W[:, :1]),
    "clip": lambda x: np.clip(x, 0.3, 0.7),
    "clip(a_min)": lambda x: np.clip(x, a_min=0.3, a_max=None),
    "where": lambda x: np.where(W > 0.5, x, 2 * x),
    "nan_to_num": np.nan_to_num,
    "reshape": lambda x: np.reshape(x, (2, 6)),
    "ravel": np.ravel,
    "transpose": lambda x: W.T * np.transpose(x),
    "transpose(axes)": lambda x: np.transpose(x, (1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: np.squeeze(np.expand_dims(x, 0)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 1, 1)))[0],
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[1],
    "concatenate": lambda x: np.concatenate([x, W, 2 * x], axis=1),
    "concatenate flat": lambda x: np.concatenate((x, x), axis=None),
    "stack": lambda x: np.stack([x, W], axis=-1),
    "unstack": lambda x: np.unstack(x, axis=1)[2],
    "vstack": lambda x: np.vstack([x, x[0]]),
    "hstack": lambda x: np.hstack([x, W]),
    "dstack": lambda x: np.dstack([x, W]),
    "column_stack": lambda x: np.column_stack([x[:, 0], x]),
    "append": lambda x: np.append(x, [[1.0, 2.0, 3.0, 4.0]], axis=0),
    "split": lambda x: np.split(x, [1, 3], axis=1)[1],
    "array_split": lambda x: np.array_split(x, 3, axis=1)[0],
    "atleast_3d": np.atleast_3d,
    "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, [1, 0, 2], axis=0),
    "flip": lambda x: W * np.flip(x),
    "fliplr": lambda x: W * np.fliplr(x),
    "flipud": lambda x: W * np.flipud(x),
    "roll": lambda x: W * np.roll(x, 1, axis=0),
    "rot90": lambda x: W * np.rot90(x, 2),
    "pad": lambda x: np.pad(x, ((1, 2), (0, 1)), mode="reflect"),
    "tril": np.tril,
    "diag": lambda x: np.diag(x, k=1),
    "diag of a vector": lambda x: np.diag(x[0], k=-1),
    "diagonal": lambda x: np.diagonal(x, 1),
    "trace": np.trace,
    "take": lambda x: np.take(x, [0, 0, 2], axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(W, axis=1), axis=1),
    "sort": lambda x: W * np.sort(x, axis=0),
    "unique": np.unique,
    "dot": lambda x: np.dot(x, W.T),
    "dot of vectors": lambda x: np.dot(x[0], W[0]),
    "inner": lambda x: np.inner(x, W),
    "outer": lambda x: np.outer(x, W[0]),
    "vdot": lambda x: np.vdot(W, x),
    "kron": lambda x: np.kron(x, W[:2]),
    "tensordot": lambda x: np.tensordot(x, W, axes=([0], [0])),
    "median": np.median,
    "median(axis)": lambda x: np.median(x, axis=1, keepdims=True),
    "quantile": lambda x: np.quantile(x, [0.1, 0.65], axis=0),
    "quantile(axes)": lambda x: np.quantile(x, 0.3, axis=(0, 1), keepdims=True),
    "percentile": lambda x: np.percentile(x, 40, axis=-1),
    "nansum": lambda x: np.nansum(np.where(W > 0.5, x, np.nan), axis=0),
    "nanprod": lambda x: np.nanprod(np.where(W > 0.5, x, np.nan)),
    "nanmax": lambda x: np.nanmax(np.where(W > 0.3, x, np.nan), axis=1),
    "nanmin": lambda x: np.nanmin(np.where(W > 0.3, x, np.nan)),
    "nanmean": lambda x: np.nanmean(np.where(W > 0.3, x, np.nan), axis=1, keepdims=True),
    "nanvar": lambda x: np.nanvar(np.where(W > 0.3, x, np.nan), ddof=1),
    "nanstd": lambda x: np.nanstd(np.where(W > 0.3, x, np.nan)),
    "cov": np.cov,
    "cov(y)": lambda x: np.cov(x, W, rowvar=False, bias=True),
    "cov of a row": lambda x: np.cov(x[0]),
    "corrcoef": lambda x: np.corrcoef(x[:2], W)[0],
    "trapezoid": lambda x: np.trapezoid(x, dx=0.3, axis=0),
    "trapezoid(x)": lambda x: np.trapezoid(x, [0.1, 0.2, 0.7, 1.1]),
    "trapezoid at x": lambda x: np.trapezoid(W[0], x[0]),
    "convolve": lambda x: np.convolve(x[0], W[1, :3]),
    "convolve with what is longer": lambda x: np.convolve(x[0, :2], W[1], "same"),
    "correlate": lambda x: np.correlate(W.ravel(), x[0]),
    "interp": lambda x: np.interp(x, [0.1, 0.35, 0.5, 0.8], [1.0, -1.0, 2.0, 0.5]),
    "interp of values": lambda x: np.interp(W, [0.1, 0.35, 0.5, 0.8], x[0], left=0.5),
    "polyval": lambda x: np.polyval(x[0], W),
    "polyval at x": lambda x: np.polyval([2.0, -1.0, 0.5], x),
    "astype": lambda x: np.astype(x, np.float64),
    "copy": np.copy,
    "sum(initial)": lambda x: np.sum(x, axis=0, initial=2.5),
    "sum(where)": lambda x: np.sum(x, axis=1, where=W > 0.5),
    "prod(where)": lambda x: np.prod(x, axis=1, where=W > 0.5, initial=3.0),
    "max(initial)": lambda x: np.max(x, axis=1, initial=0.5),
    "min(where)": lambda x: np.min(x, where=W > 0.5, initial=0.7),
    "mean(where)": lambda x: np.mean(x, axis=0, where=W > 0.3, keepdims=True),
    "clip to a list": lambda x: np.clip(x, [0.3, 0.4, 0.5, 0.6], 0.8),
    "select": lambda x: np.select([W > 0.7, W > 0.4], [x, x * x], default=0.5),
    "choose": lambda x: np.choose(np.array([[0, 1, 1, 0]]), [x, W * x]),
    "compress": lambda x: np.compress([True, False, True], x, axis=1),
    "compress flat": lambda x: np.compress([False, True, True], x),
    "extract": lambda x: np.extract(W > 0.5, x),
    "delete": lambda x: np.delete(x, [0, -1], axis=1),
    "delete(slice) flat": lambda x: np.delete(x, slice(1, 9, 3)),
    "insert": lambda x: np.insert(x, 1, W[0], axis=0),
    "insert a number": lambda x: np.insert(x, 2, 0.5, axis=1),
    "insert at several": lambda x: np.insert(x[0], [0, 3, 3], x[1, :3]),
    "insert into rows": lambda x: np.insert(W, [1, 2], x[:, :2], axis=1),
    "block": lambda x: np.block([[x, W], [W[:1], x[1:2]]]),
    "block of rows": lambda x: np.block([x[0], 2.5, W[1]]),
    "hsplit": lambda x: np.hsplit(x, 2)[1],
    "vsplit": lambda x: np.vsplit(x, [1])[1],
    "dsplit": lambda x: np.dsplit(np.expand_dims(x, 0), 4)[2],
    "rollaxis": lambda x: np.rollaxis(np.expand_dims(x, 0), 2, 1),
    "gradient": lambda x: np.gradient(x, 0.3, axis=1),
    "gradient of each axis": lambda x: np.gradient(x, 0.3, 0.7)[0],
    "ediff1d": np.ediff1d,
    "angle": lambda x: np.angle(x * (1 + 1j * x), deg=True),
    "sinc": np.sinc,
    "i0": np.i0,
    "nancumsum": lambda x: np.nancumsum(np.where(W > 0.3, x, np.nan), axis=1),
    "nancumprod": lambda x: np.nancumprod(np.where(W > 0.3, x, np.nan)),
    "diagflat": lambda x: np.diagflat(x, 1),
    "vander": lambda x: np.vander(x[0], 3, increasing=True),
    "sliding_window_view": lambda x: W[0, :2] * np.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
    "multi_dot": lambda x: np.linalg.multi_dot([x, W.T, x]),
    "pinv(rcond)": lambda x: np.linalg.pinv(x, rcond=1e-8),
    "fft2": lambda x: np.real(np.fft.fft2(x) * (1 + 2j)),
    "ifft2": lambda x: np.imag(np.fft.ifft2(x) * (1 + 2j)),
    "rfft2": lambda x: np.real(np.fft.rfft2(x, norm="ortho") * (1 + 2j)),
    "irfft2": lambda x: np.fft.irfft2(x * (1 + 2j), s=(3, 5)),
}

#: What has no derivative to lose.
COMPUTED = {
    "isin": lambda x: np.isin(x, [W[0, 0], X[0, 1]]),
    "digitize": lambda x: np.digitize(x, [0.3, 0.6]),
    "argpartition": lambda x: np.argpartition(x, 2, axis=1),
    "lexsort": lambda x: np.lexsort((x[0], W[0])),
    "nanargmax": lambda x: np.nanargmax(x, axis=0),
    "isreal": np.isreal,
    "isneginf": lambda x: np.isneginf(-x),
    "fix": lambda x: np.fix(9 * x),
    "array_equiv": lambda x: np.array_equiv(x, X),
    "isclose": lambda x: np.isclose(W, x, rtol=x, atol=x),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_has_no_derivative_to_lose_is_computed(name: str) -> None:
    t = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(t)
        found = COMPUTED[name](t)
    np.testing.assert_array_equal(np.asarray(found), COMPUTED[name](X))


def test_an_extreme_of_some_elements_needs_a_first_value() -> None:
    with pytest.raises(ArgumentError, match=r"np.max\(where=...\): expected initial"):
        np.max(tg.asarray(X), where=W > 0.5)


def gradient_of(function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The value on a tensor, a cotangent, and the gradient."""
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = function(t)
    assert isinstance(y, tg.Tensor)
    g = np.random.default_rng(1).normal(size=y.shape)
    return y.numpy(), g, tape.gradient(y, t, output_gradients=tg.asarray(g)).numpy()


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_of_a_tensor_records(name: str) -> None:
    function = CALLS[name]
    y, g, found = gradient_of(function, X)
    np.testing.assert_allclose(y, function(X), rtol=1e-12)
    expected = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        e = np.zeros_like(X)
        e[i] = 1e-6
        expected[i] = np.sum(g * (function(X + e) - function(X - e))) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [n for n, row in FUNCTIONS.items() if "." not in row.target])
def test_what_the_table_promises_is_there(name: str) -> None:
    assert callable(target(FUNCTIONS[name].target))


@pytest.mark.parametrize("name", [n for n in UFUNC_NAMES if hasattr(np, n)])
def test_renamed_ufuncs_have_as_many_inputs_as_our_ops(name: str) -> None:
    op = OPS[UFUNC_NAMES[name]]
    assert getattr(np, name).nin == len(op.arrays)


REFUSED = {"spacing"}
STEPS = {"ceil", "floor", "trunc", "rint", "floor_divide"}


@pytest.mark.parametrize("name", sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)))
def test_a_ufunc_of_a_recorded_tensor_records_or_refuses(name: str) -> None:
    ufunc = getattr(np, name)
    x = tg.asarray(X)
    if "dd->d" not in ufunc.types and "d->d" not in ufunc.types:
        return  # for integers or booleans, which have no derivative, or of several outputs
    others = {"matmul": W.T, "matvec": W[0], "vecmat": np.eye(4)}
    args = [x] if ufunc.nin == 1 else [x, others.get(ufunc.__name__, W)]
    with tg.GradientTape() as tape, np.errstate(invalid="ignore"):
        tape.watch(x)
        if ufunc.__name__ in REFUSED:
            with pytest.raises(DetachedError, match=f"np.{ufunc.__name__} would lose the derivative"):
                ufunc(*args)
            return
        y = ufunc(*args)
    assert (tape.gradient(y, x) is None) == (ufunc.__name__ in STEPS)


def test_a_function_without_a_counterpart_is_refused_while_recorded() -> None:
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(DetachedError, match=r"np.histogram would lose the derivative"):
            np.histogram(x)
    assert isinstance(np.histogram(x)[0], tg.Tensor)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_all_lengths(mode: str) -> None:
    for n in range(1, 7):
        for m in range(1, 7):
            a, v = RNG.normal(size=n), RNG.normal(size=m)
            for function in (np.convolve, np.correlate):
                found = function(tg.asarray(a), v, mode)
                np.testing.assert_allclose(found.numpy(), function(a, v, mode), atol=1e-12, err_msg=f"{function} {n} {m}")


def test_statistics_of_nan_ties_and_integers() -> None:
    x = np.array([[1.0, np.nan, 2.0], [3.0, 3.0, 0.5], [np.nan] * 3])
    t = tg.asarray(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for function in (np.median, np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nansum):
            for axis in (None, 0, 1):
                np.testing.assert_allclose(function(t, axis=axis).numpy(), function(x, axis=axis), err_msg=f"{function} {axis}")
    counts = np.array([3, 1, 2, 2])
    for function in (np.median, np.nanmean, np.cov, lambda v: np.percentile(v, [25, 50])):
        found, expected = function(tg.asarray(counts)), function(counts)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected)


def test_comparisons_and_predicates_answer_as_numpys() -> None:
    x = tg.asarray(X)
    assert np.allclose(x, X)
    assert np.array_equal(x, X)
    assert np.shape(x) == (3, 4)
    assert np.ndim(x) == 2
    assert np.size(x, axis=1) == 4
    assert (np.float64(0.5) < x).dtype == tg.bool
    np.testing.assert_array_equal(np.greater(W, x).numpy(), W > X)
    np.testing.assert_allclose(x, X)


def test_another_librarys_array_gets_its_turn() -> None:
    class Other:
        def __array_function__(self, function, types, args, words):
            return "other"

    assert np.concatenate([tg.asarray(X), Other()]) == "other"


def test_second_derivatives_go_through_numpys_functions() -> None:
    x = tg.asarray([0.5, 1.5], dtype=tg.float64)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = np.sum(np.sin(x) * np.array([1.0, 2.0]))
        slope = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(slope, x).numpy(), [-np.sin(0.5), -2 * np.sin(1.5)])
