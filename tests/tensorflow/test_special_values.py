"""NumPy's kernels and TensorFlow's agree at the edges of every dtype: signs of zeros, infinities, NaN, largest integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import TapegradError
from tapegrad.registry.op import OPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.registry.op import Op

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 8.0, -7.0, 100.0, 1000.0, -1000.0]
EDGES = [np.inf, -np.inf, np.nan]
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")

POINTWISE = [op for op in OPS.values() if op.pointwise and op.arrays and not op.params and op.kind != "composite"]
UNARY = [op for op in POINTWISE if len(op.arrays) == 1]
BINARY = [
    op
    for op in POINTWISE
    if len(op.arrays) == 2 and op.arrays != ("order", "x") and op.name != "gamma_sample"  # its arrays have one shape
]
NAMES = [op.name for op in POINTWISE]

#: What may differ between the two, and why.
LOOSE = {
    "fresnel_cos": "of numbers whose squares are rounded TensorFlow gives the limit",
    "fresnel_sin": "of numbers whose squares are rounded TensorFlow gives the limit",
    "zeta": "Hurwitz' zeta function where it is not defined",
    "beta": "products of infinities, which SciPy decides by cases",
    "betaln": "differences of infinities, which SciPy decides by cases",
    "polygamma_gap": "differences of infinities",
    "gammainc": "the incomplete gamma function where it is not defined, and at infinity",
    "gammaincc": "the incomplete gamma function where it is not defined, and at infinity",
}
#: The same, of integers alone.
NO_INTEGERS = {
    "reciprocal": "1 // 0 has no value in NumPy",
    "kl_div": "x log(x / y) - x + y cancels where x and y are close",
    "share": "only ever computed for a floating derivative",
    "mul_zeros": "only ever computed for a floating derivative",
    "mul_zero": "only ever computed for a floating derivative",
}


def numbers(dtype: str) -> Any:
    """Numbers with a say, of a dtype."""
    from tapegrad.dtypes import as_dtype

    d = as_dtype(dtype)
    if d.kind in "fV":
        info: Any = tg.finfo(d)
        ends = [info.max, info.min, 4 * info.smallest_normal, info.eps]  # TensorFlow takes what is smaller as 0
        return np.asarray([*NUMBERS, *EDGES, *ends]).astype(d)
    if d.kind == "b":
        return np.asarray([False, True])
    limits = np.iinfo(d)
    given = [0, 1, 2, 3, 5, 7, limits.max, limits.max - 1]
    return np.asarray([*given, *([-1, -2, -5, limits.min, limits.min + 1] if limits.min else [])], d)


def on(backend: str, op: Op, xs: list[Any]) -> Any:
    """The value on these kernels, or the error."""
    tensors = [tg.asarray(x, backend=backend) for x in xs]
    try:
        return np.asarray(op.entry(*tensors).array)
    except (TapegradError, NotImplementedError, ZeroDivisionError) as error:
        return type(error)


def agree(op: Op, xs: list[Any]) -> None:
    a, b = on("numpy", op, xs), on("tensorflow", op, xs)
    if isinstance(a, type) or isinstance(b, type):
        assert isinstance(a, type), f"NumPy's kernels compute it, TensorFlow's raise {b}"
        assert isinstance(b, type), f"NumPy's kernels raise {a}, TensorFlow's compute it"
        return
    assert b.dtype == a.dtype
    assert b.shape == a.shape
    if a.dtype.kind not in "fV":
        np.testing.assert_array_equal(b, a, err_msg=str(xs))
        return
    eps = tg.finfo(a.dtype).eps
    x, y = b.astype(np.float64), a.astype(np.float64)
    with np.errstate(all="ignore"):
        tiny = tg.finfo(a.dtype).smallest_normal
        near = (np.abs(x - y) <= 200 * eps * np.abs(y) + 200 * tiny) & ((x != 0) | (y != 0))
    signed = (np.signbit(x) == np.signbit(y)) | (a.dtype.kind == "V")  # of bfloat16's zeros ml_dtypes has its own view
    same = near | ((x == y) & (signed | (y != 0))) | (np.isnan(x) & np.isnan(y))
    at = [np.broadcast_to(v, x.shape)[~same] for v in xs]
    assert same.all(), f"{op.name}({', '.join(map(str, at))}): got {b[~same]}, NumPy's kernels give {a[~same]}"


def all_agree(op: Op, dtypes: tuple[str, ...], arguments: Callable[[Any], list[Any]]) -> None:
    """For each of these dtypes; what fails is listed."""
    failed = []
    for dtype in dtypes:
        try:
            agree(op, arguments(numbers(dtype)))
        except AssertionError as error:
            error.add_note(f"in {dtype}")
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{op.name} in {len(failed)} dtypes", failed)


KINDS = [pytest.param(FLOATS, id="floats"), pytest.param(INTEGERS, id="integers")]


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@pytest.mark.parametrize("dtypes", KINDS)
def test_functions_of_one_array(op: Op, dtypes: tuple[str, ...]) -> None:
    reasons = {**LOOSE, **(NO_INTEGERS if dtypes == INTEGERS else {})}
    if op.name in reasons:
        pytest.skip(reasons[op.name])
    all_agree(op, dtypes, lambda x: [x])


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
@pytest.mark.parametrize("dtypes", KINDS)
def test_functions_of_two_arrays(op: Op, dtypes: tuple[str, ...]) -> None:
    reasons = {**LOOSE, **(NO_INTEGERS if dtypes == INTEGERS else {})}
    if op.name in reasons:
        pytest.skip(reasons[op.name])
    all_agree(op, dtypes, lambda x: [x[:, None], x[None, :]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_incomplete_beta_function_broadcasts_and_keeps_its_dtype(dtype: Any) -> None:
    a, b, x = (np.asarray(v, dtype) for v in ([1.5, 2.5, 0.5], [[0.5], [1.5]], 0.3))
    expected = OPS["betainc"].entry(*map(tg.asarray, (a, b, x)))
    found = OPS["betainc"].entry(*(tg.asarray(v, backend="tensorflow") for v in (a, b, x)))
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype) == ((2, 3), dtype)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5 if dtype is np.float32 else 1e-12)
