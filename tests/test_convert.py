from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DetachedError, DTypeError

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


# -- what is taken -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (1.5, "float32"),
        (1j, "complex64"),
        ([True, False], "bool"),
        ([1, 2], "int64"),
        ([1, 2.5], "float32"),
        ([1, 2.5j], "complex64"),
        ([[1.5], [2]], "float32"),
        ((1.5, 2), "float32"),
        ([], "float32"),
        (range(3), "int64"),
        (np.float64(1.5), "float64"),
        (np.int8(3), "int8"),
        (np.bool_(True), "bool"),
        (BFLOAT16.type(1.5), "bfloat16"),
        ([np.float16(1.5), 2.5], "float16"),
        ([np.float16(1.5), np.float64(2.5)], "float64"),
        ([np.int16(1), 2], "int16"),
        ([np.int16(1), 2.5], "float64"),
        pytest.param(memoryview(np.ones(2)), "float64", id="memoryview"),
    ],
    ids=repr,
)
def test_dtypes_of_what_is_taken(x: Any, dtype: str) -> None:
    t = tg.asarray(x)
    assert t.dtype.name == dtype
    assert type(np.asarray(t)) is np.ndarray
    np.testing.assert_array_equal(np.asarray(t), np.asarray(x))


@pytest.mark.parametrize("dtype", [*"?bhilBHILefdFD", BFLOAT16])
def test_arrays_of_every_dtype_are_taken_as_they_are(dtype: Any) -> None:
    x = np.ones((2, 3), dtype)
    t = tg.asarray(x)
    assert t.dtype == x.dtype
    assert np.shares_memory(t.numpy(), x)


def test_layouts_are_kept_and_memory_is_shared() -> None:
    base = np.arange(24.0).reshape(4, 6)
    for x in (base.T, base[::2, ::-1], np.broadcast_to(base[0], (3, 6))):
        t = tg.asarray(x)
        np.testing.assert_array_equal(t.numpy(), x)
        assert np.shares_memory(t.numpy(), base)
        with tg.GradientTape() as tape:
            tape.watch(t)
            y = tg.sum(t * t)
        np.testing.assert_array_equal(tape.gradient(y, t).numpy(), 2 * x)


def test_read_only_arrays_are_taken() -> None:
    x = np.ones(3)
    x.flags.writeable = False
    assert (tg.asarray(x) + x).tolist() == [2, 2, 2]


def test_another_byte_order_is_turned_to_the_machines() -> None:
    x = np.arange(3.0).astype(">f4")
    t = tg.asarray(x)
    assert t.dtype.isnative
    assert t.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"copy=False.*bytes have to be swapped"):
        tg.asarray(x, copy=False)


@pytest.mark.parametrize("subclass", [lambda: np.matrix([[1.5]]), lambda: np.ones(2).view(np.recarray)])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_subclasses_of_ndarray_become_plain_at_first_sight(subclass: Any) -> None:
    for _ in range(2):
        assert type(tg.asarray(subclass()).raw) is np.ndarray


# -- tensors -----------------------------------------------------------------------------------------------
def test_a_tensor_is_given_back_and_a_variable_is_read() -> None:
    t, v = tg.asarray(1.5), tg.Variable(1.5)
    assert tg.asarray(t) is t
    assert type(tg.asarray(v)) is tg.Tensor


@pytest.mark.parametrize("x", [True, 1, 1.5, 1j, [True, False]])
def test_copies_of_tensors_of_any_dtype(x: Any) -> None:
    t = tg.asarray(x)
    c = tg.asarray(t, copy=True)
    assert c is not t
    assert c.dtype == t.dtype
    assert c.tolist() == t.tolist()


def test_copies_and_casts_are_recorded() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        copied, cast = tg.asarray(x, copy=True) ** 2, tg.asarray(x, dtype=tg.float64) ** 2
    assert tape.gradient(copied, x).tolist() == [3, 5]
    assert tape.gradient(cast, x).tolist() == [3, 5]
    assert tape.gradient(cast, x).dtype == tg.float32


def test_nested_sequences_of_tensors_are_stacked_and_recorded() -> None:
    a, b = tg.asarray(1.5), tg.asarray([2.5, 3.5])
    with tg.GradientTape() as tape:
        tape.watch([a, b])
        y = tg.asarray([[a, 2], [3.5, a * a], b])
        loss = tg.sum(y * tg.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert y.tolist() == [[1.5, 2], [3.5, 2.25], [2.5, 3.5]]
    ga, gb = tape.gradient(loss, [a, b])
    assert (float(ga), gb.tolist()) == (13, [5, 6])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_python_numbers_among_tensors_are_weak(dtype: str) -> None:
    t = tg.asarray(1.5, dtype=dtype)
    assert tg.asarray([t, 2.5, 1]).dtype.name == dtype
    assert tg.asarray([t, 2.5], dtype=tg.float64).dtype == tg.float64


# -- dtype= and copy= --------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [tg.float64, "float64", np.float64, np.dtype("float64")])
def test_a_dtype_is_taken_in_any_spelling(dtype: Any) -> None:
    for x in ([1, 2], np.ones(2, np.int8), tg.asarray([1.5, 2.5]), 3):
        assert tg.asarray(x, dtype=dtype).dtype == tg.float64


def test_python_types_as_dtypes_mean_tapegrads_own() -> None:
    assert [tg.asarray([1], dtype=d).dtype for d in (bool, int, float, complex)] == [
        tg.bool,
        tg.int64,
        tg.float32,
        tg.complex64,
    ]


def test_memory_is_shared_or_copied_as_asked() -> None:
    x = np.ones(3)
    assert np.shares_memory(tg.asarray(x).numpy(), x)
    assert np.shares_memory(tg.asarray(x, copy=False).numpy(), x)
    assert not np.shares_memory(tg.asarray(x, copy=True).numpy(), x)
    assert not np.shares_memory(tg.asarray(x, dtype=tg.float32).numpy(), x)


@pytest.mark.parametrize("x", [[1.5, 2.5], 1.5, np.ones(2, np.float64), tg.asarray([1.5], dtype=tg.float64)], ids=repr)
def test_a_copy_that_is_forbidden_and_needed_is_refused(x: Any) -> None:
    with pytest.raises(ValueError, match="copy=False"):
        tg.asarray(x, dtype=tg.float32, copy=False)


def test_complex_values_are_not_made_real_silently() -> None:
    for x in (np.asarray([1j]), tg.asarray([1j]), np.complex64(1j)):
        with pytest.raises(DTypeError, match="real"):
            tg.asarray(x, dtype=tg.float32)


@pytest.mark.parametrize("dtype", ["U3", np.dtype("U3"), object, "datetime64[s]", "V8", "nonsense", [("a", int)]], ids=repr)
def test_a_dtype_of_no_numbers_is_refused(dtype: Any) -> None:
    with pytest.raises(DTypeError, match=r"tapegrad.float32"):
        tg.asarray([1.5], dtype=dtype)


# -- what is refused ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "x",
    [
        None,
        "abc",
        b"abc",
        {1.5},
        {"a": 1.5},
        object(),
        iter([1.5]),
        ["a", "b"],
        [1.5, None],
        [[1.5, 2.5], [3.5]],
        [2**70],
        np.asarray(["a"]),
        np.asarray([None]),
        np.zeros(2, [("a", int)]),
        np.asarray(["2020-01-01"], "datetime64[D]"),
    ],
    ids=lambda x: f"{type(x).__name__}-{np.asarray(x, dtype=object).dtype}"[:30],
)
def test_what_is_no_array_of_numbers_is_refused(x: Any) -> None:
    for _ in range(2):  # the second time, its type is known
        with pytest.raises(ArgumentError, match=r"asarray\(x\): expected (numbers|nested sequences)"):
            tg.asarray(x)


def test_ragged_nested_tensors_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"equal lengths, got shapes \(2,\), \(\)"):
        tg.asarray([tg.asarray([1.5, 2.5]), tg.asarray(1.5)])


@pytest.mark.parametrize("x", [None, [1.5, None], "1.5", ["1.5"], [tg.ones(()), None]])
def test_what_is_no_number_is_refused_where_a_dtype_is_given_too(x: Any) -> None:
    with pytest.raises(ArgumentError, match=r"asarray\(x\): expected numbers or nested sequences of them, got (NoneType|str)"):
        tg.asarray(x, dtype=tg.float32)


def test_an_op_says_how_to_hand_it_a_list() -> None:
    for bad in ([1.5], (1.5, 2.5)):
        with pytest.raises(ArgumentError, match=r"exp\(x\): expected an array for x, got \w+; write tapegrad.asarray\(x\)"):
            tg.exp(bad)


def test_an_op_says_what_it_was_handed_that_is_no_array() -> None:
    for bad in ("a", {"a": 1}):
        with pytest.raises(ArgumentError, match=r"exp\(x\): expected an array for x, got (str|dict)$"):
            tg.exp(bad)
    with pytest.raises(ArgumentError, match=r"exp\(x\): expected an array for x, got NoneType; a gradient is None where"):
        tg.exp(None)


# -- out of tensors ----------------------------------------------------------------------------------------
def test_numpy_gives_a_read_only_view() -> None:
    t = tg.asarray(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 2
    assert tg.asarray(1.5).numpy().shape == ()
    assert np.array(t, copy=True).flags.writeable


def test_a_recorded_tensor_does_not_become_an_array_silently() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        for t in (x, y):
            with pytest.raises(DetachedError, match=r"x.numpy\(\)"):
                np.asarray(t)
        assert y.numpy().tolist() == [2.25, 6.25]
        with tape.stop_recording():
            assert np.asarray(y).tolist() == [2.25, 6.25]
    assert np.asarray(y).tolist() == [2.25, 6.25]


def test_array_conversion_takes_a_dtype_and_a_copy() -> None:
    t = tg.asarray([1.5, 2.5])
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(t, copy=True), t.raw)
    assert np.shares_memory(np.asarray(t, copy=False), t.raw)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize(
    "f",
    [lambda x: 2.5 * x, lambda x: x - 1, lambda x: x**2, lambda x: tg.maximum(x, 0), lambda x: tg.where(x > 0, x, 1.5)],
)
def test_python_scalars_are_weak_in_half_precision_too(f: Any, dtype: str) -> None:
    x = tg.asarray([0.5, 1.5], dtype=dtype)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.dtype == x.dtype
    assert tape.gradient(y, x).dtype == x.dtype


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_ops_take_subclasses_of_ndarray_as_plain_arrays() -> None:
    x, matrix = tg.asarray([[1.5, 2.5], [3.5, 4.5]]), np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(2):  # the second time, its type is known
        y = x * matrix  # not the matrix product
        assert type(y.raw) is np.ndarray
        assert (y * y).tolist() == [[2.25, 25.0], [110.25, 324.0]]


def test_a_mask_is_not_lost_silently() -> None:
    masked = np.ma.array([1.5, 2.5], mask=[False, True])
    for f in (tg.asarray, tg.exp, tg.sum, lambda x: tg.ones(2) * x, lambda x: tg.stack([x, x])):
        for _ in range(2):
            with pytest.raises(ArgumentError, match=r"masked array would lose its mask; write x.filled"):
                f(masked)
    assert tg.asarray(np.ma.array([1.5, 2.5])).tolist() == [1.5, 2.5]


def test_an_op_takes_no_array_of_objects() -> None:
    with pytest.raises(ArgumentError, match=r"add\(x1, x2\): expected numbers for x2, got an array of objects"):
        tg.ones(2) + np.asarray([1, 2], dtype=object)


@pytest.mark.parametrize("x", [1j, [1.0, 2j], [[0j]]])
def test_complex_numbers_are_refused_where_a_real_dtype_is_asked_for(x: object) -> None:
    with pytest.raises(DTypeError, match=r"asarray\(x, dtype=float32\): x is complex; write asarray\(tapegrad.real"):
        tg.asarray(x, dtype=tg.float32)
    with pytest.raises(DTypeError, match="x is complex"):
        tg.Variable(np.ones(np.shape(x))).assign(x)
