"""The array API standard 2024.12 in short: names, signatures, and answers about dtypes and devices.

The public suite checks far more; `tests/array_api/README.md` says how to run it.
"""

import importlib.util
import inspect
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DetachedError, DTypeError, ShapeError

# The signatures of the standard, and the functions that have them; after a namespace of its own where there is one.
SIGNATURES = """
(x, /): abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan
    log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh
    trunc matrix_transpose nonzero unique_all unique_counts unique_inverse unique_values
(x1, x2, /): add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor matmul maximum
    minimum multiply nextafter not_equal pow remainder subtract
(start, /, stop=None, step=1, *, dtype=None, device=None): arange
(obj, /, *, dtype=None, device=None, copy=None): asarray
(shape, *, dtype=None, device=None): empty ones zeros
(x, /, *, dtype=None, device=None): empty_like ones_like zeros_like
(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None): eye
(x, /, *, device=None, copy=None): from_dlpack
(shape, fill_value, *, dtype=None, device=None): full
(x, /, fill_value, *, dtype=None, device=None): full_like
(start, stop, /, num, *, dtype=None, device=None, endpoint=True): linspace
(*arrays, indexing='xy'): meshgrid
(x, /, *, k=0): tril triu
(x, dtype, /, *, copy=True, device=None): astype
(from_, to, /): can_cast
(type, /): finfo iinfo
(dtype, kind): isdtype
(*arrays_and_dtypes): result_type
(x, /, min=None, max=None): clip
(x, indices, /, *, axis=None): take
(x, indices, /, *, axis=-1): take_along_axis
(x1, x2, /, *, axes=2): tensordot linalg.tensordot
(x1, x2, /, *, axis=-1): vecdot linalg.vecdot linalg.cross
(*arrays): broadcast_arrays
(x, /, shape): broadcast_to
(arrays, /, *, axis=0): concat stack
(x, /, axis): expand_dims squeeze
(x, /, *, axis=None): flip
(x, source, destination, /): moveaxis
(x, /, axes): permute_dims
(x, repeats, /, *, axis=None): repeat
(x, /, shape, *, copy=None): reshape
(x, /, shift, *, axis=None): roll
(x, repetitions, /): tile
(x, /, *, axis=0): unstack
(x, /, *, axis=None, keepdims=False): all any argmax argmin count_nonzero max mean min
(x1, x2, /, *, side='left', sorter=None): searchsorted
(condition, x1, x2, /): where
(x, /, *, axis=-1, descending=False, stable=True): argsort sort
(x, /, *, axis=None, dtype=None, include_initial=False): cumulative_sum cumulative_prod
(x, /, *, axis=None, dtype=None, keepdims=False): prod sum
(x, /, *, axis=None, correction=0.0, keepdims=False): std var
(x, /, *, axis=-1, n=1, prepend=None, append=None): diff
(x, /, *, upper=False): linalg.cholesky
(x, /): linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals
(x, /, *, offset=0): linalg.diagonal
(x1, x2, /): linalg.matmul linalg.outer linalg.solve
(x, /, *, keepdims=False, ord='fro'): linalg.matrix_norm
(x, n, /): linalg.matrix_power
(x, /, *, rtol=None): linalg.matrix_rank linalg.pinv
(x, /, *, mode='reduced'): linalg.qr
(x, /, *, full_matrices=True): linalg.svd
(x, /, *, offset=0, dtype=None): linalg.trace
(x, /, *, axis=None, keepdims=False, ord=2): linalg.vector_norm
(x, /, *, n=None, axis=-1, norm='backward'): fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft
(x, /, *, s=None, axes=None, norm='backward'): fft.fftn fft.ifftn fft.rfftn fft.irfftn
(n, /, *, d=1.0, dtype=None, device=None): fft.fftfreq fft.rfftfreq
(x, /, *, axes=None): fft.fftshift fft.ifftshift
(): __array_namespace_info__
"""
METHODS = """
abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index int invert le lshift
lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul
rand ror rxor rlshift rrshift iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift
"""


def table() -> dict[str, str]:
    entries = SIGNATURES.strip().replace("\n    ", " ").splitlines()
    pairs = [entry.rpartition(":") for entry in entries]
    return {name: signature for signature, _, names in pairs for name in names.split()}


def named(name: str) -> Any:
    found: Any = tg
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("name", "standard"), table().items())
def test_signatures_take_what_the_standards_take(name: str, standard: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def function{standard}: ...", scope)
    ours = inspect.signature(named(name)).parameters
    theirs = inspect.signature(scope["function"]).parameters
    position = {n: i for i, n in enumerate(ours)}
    for i, (n, p) in enumerate(theirs.items()):
        if p.kind is p.POSITIONAL_ONLY:  # its name is nobody's concern
            q = list(ours.values())[i]
            assert q.kind in (q.POSITIONAL_ONLY, q.POSITIONAL_OR_KEYWORD)
        else:
            q = ours[n]
            assert q.kind is p.kind
            assert p.kind is p.KEYWORD_ONLY or position[n] == i
        assert q.default == p.default or p.default is p.empty
    assert all(q.default is not q.empty or n in theirs for n, q in list(ours.items())[len(theirs) :])


@pytest.mark.parametrize("name", METHODS.split())
def test_the_array_object_has_the_standards_methods(name: str) -> None:
    assert callable(getattr(tg.asarray(1.5), f"__{name}__"))


def test_the_array_object_has_the_standards_attributes() -> None:
    x = tg.asarray([[1.5, 2.5, 3.5]])
    assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((1, 3), 2, 3, tg.float32, "cpu")
    assert x.T.shape == x.mT.shape == (3, 1)
    assert x.to_device("cpu") is x
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2023.12") is tg
    with pytest.raises(ValueError, match="expected one of"):
        x.__array_namespace__(api_version="1999.12")
    with pytest.raises(ArgumentError, match=r"expected .cpu."):
        x.to_device("tpu")


def test_constants_and_dtypes_are_there() -> None:
    assert (tg.e, tg.pi, tg.inf, tg.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(tg.nan)
    names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
    assert {getattr(tg, name).name for name in names.split()} == set(names.split())


def test_the_namespace_tells_of_itself() -> None:
    info = tg.__array_namespace_info__()
    assert tg.__array_api_version__ == "2024.12"
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() == "cpu" == info.devices()[0]
    assert info.default_dtypes()["real floating"] == tg.zeros(1).dtype
    assert info.default_dtypes(device="cpu")["integral"] == tg.arange(3).dtype
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="got 'rational'"):
        info.dtypes(kind="rational")
    with pytest.raises(ArgumentError, match=r"expected .cpu."):
        info.dtypes(device="gpu")


def test_finfo_and_iinfo_are_plain_numbers() -> None:
    found = tg.finfo(tg.asarray(1.5j))
    assert (found.bits, found.dtype, found.eps) == (32, tg.float32, 2.0**-23)
    assert [type(v) for v in (found.bits, found.eps, found.max, found.min, found.smallest_normal)] == [int] + [float] * 4
    assert (tg.finfo(tg.bfloat16).eps, tg.finfo("bfloat16").bits) == (2.0**-7, 16)
    assert (tg.iinfo(tg.int16).max, tg.iinfo(tg.int16).min, tg.iinfo(tg.uint8).bits) == (32767, -32768, 8)
    assert type(tg.iinfo(tg.int64).max) is int
    with pytest.raises(DTypeError, match="expected a floating dtype, got int64"):
        tg.finfo(tg.int64)
    with pytest.raises(DTypeError, match="expected an integer dtype, got float32"):
        tg.iinfo(tg.float32)


def test_dtypes_are_asked_for_their_kind() -> None:
    assert tg.isdtype(tg.bfloat16, "real floating")
    assert tg.isdtype(tg.float16, "numeric")
    assert tg.isdtype(tg.int8, ("bool", "signed integer"))
    assert tg.isdtype(tg.int8, tg.int8)
    assert not tg.isdtype(tg.bool, "numeric")
    assert not tg.isdtype(tg.uint8, ("signed integer", "real floating"))
    with pytest.raises(ValueError, match="got 'floating'"):
        tg.isdtype(tg.float32, "floating")


def test_promotion_takes_python_numbers_as_weak() -> None:
    assert tg.result_type(tg.int8, tg.int16, 5) == tg.int16
    assert tg.result_type(tg.float32, 2.5) == tg.float32
    assert tg.result_type(tg.asarray([1.5]), 1j) == tg.complex64
    assert tg.result_type(1, 2.5) == tg.float32
    assert tg.can_cast(tg.int8, tg.int16)
    assert not tg.can_cast(tg.asarray([1.5], dtype=tg.float64), tg.float32)
    with pytest.raises(DTypeError, match="at least one"):
        tg.result_type()


# -- values that the standard fixes and NumPy gives otherwise --------------------------------------------
INF = math.inf


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (INF, 2.0, INF),
        (INF, -2.0, -INF),
        (-INF, 2.0, -INF),
        (-INF, -2.0, INF),
        (1.5, -INF, -0.0),
        (-1.5, INF, -0.0),
        (1.5, INF, 0.0),
        (INF, INF, math.nan),
        (7.5, 2.0, 3.0),
    ],
)
def test_floor_divide_at_infinities(a: float, b: float, expected: float) -> None:
    found = [float(tg.asarray(a) // b), float(tg.floor_divide(tg.asarray([a, a]), tg.asarray([b, b]))[1])]
    for y in found:
        np.testing.assert_equal(y, expected)
        assert math.isnan(y) or math.copysign(1, y) == math.copysign(1, expected)


@pytest.mark.parametrize(
    ("function", "z", "expected"),
    [
        ("expm1", complex(INF, 0), complex(INF, 0)),
        ("expm1", complex(-INF, INF), -1),
        ("expm1", complex(-INF, math.nan), -1),
        ("expm1", complex(-0.0, 0), 0),
        ("tanh", complex(INF, 2.0), complex(1, 0)),
        ("tanh", complex(-INF, -2.0), complex(-1, -0.0)),
        ("tanh", complex(0.5, 0.25), np.tanh(0.5 + 0.25j)),
    ],
)
def test_complex_special_values(function: str, z: complex, expected: complex) -> None:
    y = complex(named(function)(tg.asarray([z], dtype=tg.complex128))[0])
    np.testing.assert_equal(y, complex(expected))
    assert math.copysign(1, y.imag) == math.copysign(1, complex(expected).imag) or expected == -1


# -- set functions and searching -------------------------------------------------------------------------
def test_set_functions_are_named_tuples_and_their_values_have_a_derivative() -> None:
    x = tg.asarray([[2.5, 0.5], [2.5, math.nan]])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = tg.unique_all(x)
        counts = tg.unique_counts(x)
    np.testing.assert_array_equal(found.values.numpy(), [0.5, 2.5, math.nan])
    np.testing.assert_array_equal(found.indices.numpy(), [1, 0, 3])
    np.testing.assert_array_equal(found.inverse_indices.numpy(), [[1, 0], [1, 2]])
    np.testing.assert_array_equal(counts.counts.numpy(), [1, 2, 1])
    np.testing.assert_array_equal(tape.gradient(found.values, x).numpy(), [[1, 1], [0, 1]])
    assert tg.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert type(tg.unique_values(tg.asarray([True, True]))) is tg.Tensor


def test_nonzero_needs_an_axis() -> None:
    rows, columns = tg.nonzero(tg.asarray([[0.0, 1.5], [2.5, 0.0]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    with pytest.raises(ShapeError, match=r"expected x.ndim >= 1"):
        tg.nonzero(tg.asarray(1.5))


def test_searchsorted_takes_a_sorter() -> None:
    x, values = tg.asarray([3.5, 1.5, 2.5]), tg.asarray([[1.0, 2.5], [4.0, 1.5]])
    order = tg.argsort(x)
    for side, expected in (("left", [[0, 1], [3, 0]]), ("right", [[0, 2], [3, 1]])):
        assert tg.searchsorted(x, values, side=side, sorter=order).tolist() == expected
        assert tg.searchsorted(tg.sort(x), values, side=side).tolist() == expected
    with pytest.raises(ValueError, match="got 'middle'"):
        tg.searchsorted(x, values, side="middle")


# -- creation, conversion, exchange ----------------------------------------------------------------------
def test_asarray_copies_when_it_is_told_to() -> None:
    a = np.asarray([1.5, 2.5])
    assert np.shares_memory(tg.asarray(a).raw, a)
    assert not np.shares_memory(tg.asarray(a, copy=True).raw, a)
    for dtype in (tg.bool, tg.int8, tg.float32, tg.complex64):
        x = tg.ones(3, dtype=dtype)
        y = tg.asarray(x, copy=True)
        assert y is not x
        assert not np.shares_memory(x.raw, y.raw)
    with pytest.raises(ValueError, match="copy=False"):
        tg.asarray([1.5, 2.5], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        tg.asarray(a, dtype=tg.float32, copy=False)
    with pytest.raises(ArgumentError, match=r"expected .cpu."):
        tg.zeros(3, device="gpu")


def test_nested_lists_of_recorded_tensors_are_recorded() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.asarray([[x[0], 2.0], [x[1], x[0]]])
        loss = tg.sum(y * y)
    assert tape.gradient(loss, x).tolist() == [6.0, 5.0]


def test_meshgrid_and_broadcast_arrays_give_lists_with_derivatives() -> None:
    a, b = tg.asarray([1.5, 2.5, 3.5]), tg.asarray([0.5, 1.0])
    with tg.GradientTape() as tape:
        tape.watch([a, b])
        xs = tg.meshgrid(a, b)
        loss = tg.sum(xs[0] * xs[1])
    assert type(xs) is list
    assert [x.shape for x in xs] == [(2, 3), (2, 3)]
    ga, gb = tape.gradient(loss, [a, b])
    assert (ga.tolist(), gb.tolist()) == ([1.5, 1.5, 1.5], [7.5, 7.5])
    assert [x.shape for x in tg.meshgrid(a, b, indexing="ij")] == [(3, 2), (3, 2)]
    assert [x.shape for x in tg.broadcast_arrays(tg.ones((2, 1)), tg.ones(3))] == [(2, 3), (2, 3)]
    with pytest.raises(ShapeError, match="do not broadcast"):
        tg.broadcast_arrays(tg.ones(2), tg.ones(3))
    with pytest.raises(ValueError, match="got 'yx'"):
        tg.meshgrid(a, b, indexing="yx")


def test_dlpack_is_read_only_where_memory_is_shared() -> None:
    x = tg.asarray(np.asarray([1.5, 2.5]))
    shared = np.from_dlpack(x)
    assert np.shares_memory(shared, x.raw)
    assert not shared.flags.writeable
    assert np.from_dlpack(x, copy=True).flags.writeable
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    back = tg.from_dlpack(np.asarray([0.25]))
    assert type(back) is tg.Tensor
    with tg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(DetachedError, match="stop_gradient"):
            np.from_dlpack(x)
        assert np.from_dlpack(tg.stop_gradient(x))[0] == 1.5


# -- the public suite ------------------------------------------------------------------------------------
def runner() -> Any:
    path = Path(__file__).parent / "array_api" / "run.py"
    spec = importlib.util.spec_from_file_location("run_array_api_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_suite_is_run_with_our_list_of_known_failures() -> None:
    run = runner()
    words = run.command(Path("suite"), 20, ["-x"])
    assert words[0] == sys.executable
    assert words[words.index("--max-examples") + 1] == "20"
    assert Path(words[words.index("--xfails-file") + 1]).is_file()
    assert words[-2:] == ["array_api_tests", "-x"]
    with pytest.raises(SystemExit):
        run.main(["no/such/place"])


@pytest.mark.parametrize(("backend", "most"), [("numpy", 10), ("tensorflow", 25)])
def test_known_failures_are_few_and_have_reasons(backend: str, most: int) -> None:
    words = runner().command(Path("suite"), 20, [], backend)
    lines = Path(words[words.index("--xfails-file") + 1]).read_text("utf-8").splitlines()
    listed = [i for i, line in enumerate(lines) if line and not line.startswith("#")]
    assert len(listed) <= most
    assert all(lines[i - 1].startswith("#") or i - 1 in listed for i in listed)
