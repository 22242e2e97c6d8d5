"""What linear algebra says of matrices that it cannot take."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, MatrixError, ShapeError, TapegradError


def test_a_product_that_does_not_fit_says_what_would():
    with pytest.raises(ShapeError, match=r"x1.shape\[-1\] == x2.shape\[-2\], got 3 and 4; did you mean matmul\(x1, x2.mT\)"):
        tg.matmul(np.ones((2, 3)), np.ones((4, 3)))


def test_a_singular_matrix_is_an_error_of_both_kinds():
    with pytest.raises(np.linalg.LinAlgError, match=r"inv\(x\): Singular matrix; linalg.pinv and linalg.lstsq take") as found:
        tg.linalg.inv(np.zeros((2, 2)))
    assert isinstance(found.value, TapegradError)


def test_half_precision_is_refused_as_numpy_does():
    for dtype in (tg.float16, tg.bfloat16):
        x = tg.asarray(np.eye(2), dtype=dtype)
        for f in (tg.linalg.inv, tg.linalg.matrix_exp, tg.linalg.svdvals, tg.linalg.pinv):
            with pytest.raises(DTypeError, match="unsupported"):
                f(x)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ArgumentError, match="expected ord in"):
        tg.linalg.matrix_norm(np.eye(2), ord="frob")
    with pytest.raises(ArgumentError, match="matrix_norm has names"):
        tg.linalg.vector_norm(np.eye(2), ord="fro")


@pytest.mark.parametrize(
    "f",
    [
        lambda: tg.linalg.cross(np.ones(2), np.ones(2)),
        lambda: tg.linalg.vecdot(np.ones(2), np.ones(3)),
        lambda: tg.linalg.outer(np.ones((2, 2)), np.ones(3)),
        lambda: tg.linalg.matrix_power(np.ones((2, 3)), 2),
        lambda: tg.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes=1),
    ],
)
def test_shapes_that_do_not_fit_are_refused(f):
    with pytest.raises(ShapeError, match="expected"):
        f()


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((3, 3), (2,)), r"solve\(x1, x2\): expected x1.shape\[-1\] == x2.shape\[-1\], got 3 and 2\n"),
        (((3, 3), (4, 1)), r"expected x1.shape\[-1\] == x2.shape\[-2\], got 3 and 4\n"),
        (((2, 3, 3), (2, 3)), r"got 3 and 2; for a batch of vectors write tapegrad.expand_dims\(x2, axis=-1\)\n"),
        (((3,), (3,)), r"expected matrices .* got shapes \(3,\) and \(3,\)\n"),
    ],
)
def test_equations_that_do_not_fit_say_which_axes(shapes: tuple[tuple[int, ...], tuple[int, ...]], said: str) -> None:
    with pytest.raises((ShapeError, MatrixError), match=said):
        tg.linalg.solve(*map(tg.ones, shapes))


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], r"got eigenvalues from -1 to 3; .* add a small multiple of tapegrad.eye\(n\)"),
        ([[[1.0, 0.0], [0.0, 1.0]], [[-2.0, 0.0], [0.0, 1.5]]], "got eigenvalues from -2 to 1.5;"),
        ([[-1.0, np.nan], [np.nan, 1.0]], "got one with entries that are NaN or infinite"),
        ([[1.0, 2.0]], "must be square"),
    ],
)
def test_a_matrix_without_a_cholesky_factor_is_described(x: list[list[float]], said: str) -> None:
    with pytest.raises(MatrixError, match=said):
        tg.linalg.cholesky(tg.asarray(x))


def test_the_triangle_that_is_read_decides_whether_a_matrix_is_positive_definite() -> None:
    x = tg.asarray([[1.0, 3.0], [0.5, 1.0]])
    assert tg.linalg.cholesky(x).shape == (2, 2)
    with pytest.raises(MatrixError, match="eigenvalues from -2 to 4"):
        tg.linalg.cholesky(x, upper=True)
