"""Linear algebra against NumPy and PyTorch, and where derivatives are hard: equal values, zeros, missing rank."""

import math

import numpy as np
import pytest

import tapegrad as tg

RNG = np.random.default_rng(7)


def gradient(f, *xs, order=1):
    """The gradient of the sum of an output, each element of which has a weight of its own; of order 2 that of the gradient."""
    xs = [tg.asarray(x) for x in xs]
    with tg.GradientTape() as tape:
        tape.watch(xs)
        y = _weighted(f(*xs)) if order == 1 else _weighted(_recorded_gradient(f, xs))
    return [np.asarray(g.numpy()) for g in tape.gradient(y, xs)]


def _recorded_gradient(f, xs):
    with tg.GradientTape() as tape:
        tape.watch(xs)
        y = _weighted(f(*xs))
    return tape.gradient(y, xs)


def _weighted(ys):
    ys = ys if isinstance(ys, tuple | list) else [ys]
    total = 0.0
    for v in ys:
        y = tg.real(v) if v.dtype.kind == "c" else v
        w = np.cos(np.arange(y.size, dtype=y.dtype)).reshape(y.shape)
        total = tg.sum(y * w) + total
    return total


def matrix(*shape, is_complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if is_complex else x


def positive(n):
    x = matrix(n, n)
    return x @ x.T + n * np.eye(n)


# -- values --------------------------------------------------------------------------------------------
SQUARE = matrix(2, 3, 3)


@pytest.mark.parametrize(
    ("name", "args", "params"),
    [
        ("inv", (SQUARE,), {}),
        ("det", (SQUARE,), {}),
        ("slogdet", (SQUARE,), {}),
        ("solve", (SQUARE, matrix(2, 3, 1)), {}),
        ("pinv", (matrix(2, 4, 3),), {}),
        ("cholesky", (positive(4),), {"upper": True}),
        ("qr", (matrix(2, 4, 3),), {"mode": "complete"}),
        ("svd", (matrix(2, 4, 3),), {"full_matrices": False}),
        ("svdvals", (matrix(2, 4, 3),), {}),
        ("eigh", (positive(3),), {}),
        ("eigvalsh", (positive(3),), {}),
        ("matrix_rank", (np.ones((2, 3, 3)),), {}),
        ("matrix_power", (SQUARE, -3), {}),
        ("outer", (matrix(3), matrix(2)), {}),
        ("cross", (matrix(3, 2), matrix(3, 1)), {"axis": -2}),
        ("vecdot", (matrix(2, 3, is_complex=True), matrix(3, is_complex=True)), {}),
        ("tensordot", (matrix(2, 3, 4), matrix(4, 3)), {"axes": ((1, 2), (1, 0))}),
        ("trace", (SQUARE,), {"offset": 1}),
        ("diagonal", (SQUARE,), {"offset": -1}),
        ("multi_dot", ([matrix(4), matrix(4, 2), matrix(2, 5), matrix(5)],), {}),
    ],
)
def test_values_are_those_of_numpy(name, args, params):
    found, expected = getattr(tg.linalg, name)(*args, **params), getattr(np.linalg, name)(*args, **params)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for y, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(y.numpy(), e, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "fields"), [
    ("eigh", ("eigenvalues", "eigenvectors")), ("qr", ("Q", "R")), ("svd", ("U", "S", "Vh")), ("slogdet", ("sign", "logabsdet"))
])
def test_results_have_names_recorded_or_not(name, fields):
    x = tg.asarray(positive(3))
    assert getattr(tg.linalg, name)(x)._fields == fields
    with tg.GradientTape() as tape:
        tape.watch(x)
        assert getattr(tg.linalg, name)(x)._fields == fields


@pytest.mark.parametrize("kind", [2, 1, 0, 3, 0.5, -1, -2, math.inf, -math.inf])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_vector_norms_are_those_of_numpy(kind, axis):
    x = matrix(3, 4, is_complex=True)
    expected = np.linalg.vector_norm(x, axis=axis, ord=kind, keepdims=True)
    found = tg.linalg.vector_norm(x, axis=axis, ord=kind, keepdims=True)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_are_those_of_numpy(kind):
    x = matrix(2, 3, 4)
    np.testing.assert_allclose(tg.linalg.matrix_norm(x, ord=kind).numpy(), np.linalg.matrix_norm(x, ord=kind), rtol=1e-13)


@pytest.mark.parametrize("kind", [2, 3, 0.5])
def test_norms_neither_overflow_nor_vanish(kind):
    for scale in (1e200, 1e-200):
        found = float(tg.linalg.vector_norm(np.array([3.0, 4.0]) * scale, ord=kind))
        assert found == pytest.approx(float(np.linalg.vector_norm([3.0, 4.0], ord=kind)) * scale, rel=1e-13)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("n", [3, 150])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_solve_triangular_solves_and_reads_one_triangle(lower, adjoint, n, batch):
    a, b = matrix(*batch, n, n) / n + 2 * np.eye(n), matrix(*batch, n, 2)
    triangle = np.tril(a) if lower else np.triu(a)
    x = tg.linalg.solve_triangular(a, b, lower=lower, adjoint=adjoint).numpy()
    np.testing.assert_allclose((triangle.mT if adjoint else triangle) @ x, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("lower", [False, True])
def test_solve_triangular_keeps_the_digits_of_graded_matrices(lower):
    a = np.array([[1e-12, 1.0], [0.0, 1e12]])
    a = a.T.copy() if lower else a
    x = tg.linalg.solve_triangular(a, a @ np.array([2.0, 3.0]), lower=lower).numpy()
    np.testing.assert_allclose(x[1 if not lower else 0], [3.0, 2.0][lower], rtol=1e-15)


def test_lstsq_is_the_solution_of_smallest_norm():
    for shape in ((5, 3), (3, 5), (3, 3)):
        a, b = matrix(*shape), matrix(shape[0], 2)
        np.testing.assert_allclose(tg.linalg.lstsq(a, b).numpy(), np.linalg.lstsq(a, b)[0], rtol=1e-11)


@pytest.mark.parametrize("is_complex", [False, True])
def test_eig_gives_what_it_should(is_complex):
    x = matrix(4, 4, is_complex=is_complex)
    w, v = (a.numpy() for a in tg.linalg.eig(x))
    assert w.dtype == v.dtype == np.complex128
    np.testing.assert_allclose(x @ v, v * w, atol=1e-12)
    np.testing.assert_allclose(np.sort_complex(tg.linalg.eigvals(x).numpy()), np.sort_complex(w), rtol=1e-12)


# -- gradients, against PyTorch ------------------------------------------------------------------------
def torch_gradient(f, *xs, order=1):
    torch = pytest.importorskip("torch")

    def weighted(ys):
        ys = ys if isinstance(ys, tuple | list) else [ys]
        total = 0.0
        for v in ys:
            y = torch.real(v) if v.is_complex() else v
            w = torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
            total = (y * w).sum() + total
        return total

    xs = [torch.tensor(x, requires_grad=True) for x in xs]
    y = weighted(f(torch, *xs))
    if order == 2:
        y = weighted(torch.autograd.grad(y, xs, create_graph=True))
    return [g.numpy() for g in torch.autograd.grad(y, xs)]


@pytest.mark.interop("torch")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("ours", "theirs", "xs"),
    [
        (tg.linalg.inv, lambda t, x: t.linalg.inv(x), [SQUARE]),
        (tg.linalg.det, lambda t, x: t.linalg.det(x), [SQUARE]),
        (lambda x: tg.linalg.slogdet(x)[1], lambda t, x: t.linalg.slogdet(x)[1], [SQUARE]),
        (tg.linalg.solve, lambda t, a, b: t.linalg.solve(a, b), [SQUARE, matrix(2, 3, 2)]),
        (tg.linalg.matrix_exp, lambda t, x: t.linalg.matrix_exp(x), [SQUARE]),
        (tg.linalg.pinv, lambda t, x: t.linalg.pinv(x), [matrix(4, 3)]),
        (tg.linalg.cholesky, lambda t, x: t.linalg.cholesky(x), [positive(3)]),
        (tg.linalg.svdvals, lambda t, x: t.linalg.svdvals(x), [matrix(4, 3)]),
        (tg.linalg.eigvalsh, lambda t, x: t.linalg.eigvalsh(x), [positive(3)]),
        (lambda x: tg.abs(tg.linalg.eig(x)[1]), lambda t, x: t.abs(t.linalg.eig(x)[1]), [matrix(3, 3)]),
        (lambda x: tg.linalg.vector_norm(x, ord=3), lambda t, x: t.linalg.vector_norm(x, ord=3), [matrix(3, 3)]),
        (lambda x: tg.linalg.matrix_norm(x, ord="nuc"), lambda t, x: t.linalg.matrix_norm(x, ord="nuc"), [matrix(4, 3)]),
        (tg.linalg.multi_dot, lambda t, *xs: t.linalg.multi_dot(xs), [matrix(2, 3), matrix(3, 4), matrix(4, 2)]),
        (
            lambda a, b: tg.linalg.solve_triangular(a, b, lower=True),
            lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False),
            [positive(3), matrix(3, 2)],
        ),
        (tg.linalg.cholesky_solve, lambda t, a, b: t.cholesky_solve(b, t.tril(a)), [positive(3), matrix(3, 2)]),
    ],
)
def test_gradients_are_those_of_pytorch(ours, theirs, xs, order):
    f = (lambda *a: ours(list(a))) if ours is tg.linalg.multi_dot else ours
    for g, e in zip(gradient(f, *xs, order=order), torch_gradient(theirs, *xs, order=order), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-8, atol=1e-8 * np.abs(e).max())


@pytest.mark.interop("torch")
@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (2, 4)])
@pytest.mark.parametrize("is_complex", [False, True])
def test_qr_gradients_are_those_of_pytorch(shape, is_complex):
    x = matrix(*shape, is_complex=is_complex)
    weights = [np.cos(np.arange(v.size)).reshape(v.shape) for v in np.linalg.qr(x)]

    def f(q, r):  # what does not depend on signs
        return abs(q) ** 2, abs(r) ** 2

    with tg.GradientTape() as tape:
        ours = tg.asarray(x)
        tape.watch(ours)
        y = sum(tg.sum(v * w) for v, w in zip(f(*tg.linalg.qr(ours)), weights, strict=True))
    torch = pytest.importorskip("torch")
    theirs = torch.tensor(x, requires_grad=True)
    z = sum((v * torch.tensor(w)).sum() for v, w in zip(f(*torch.linalg.qr(theirs)), weights, strict=True))
    np.testing.assert_allclose(tape.gradient(y, ours).numpy(), torch.autograd.grad(z, theirs)[0].numpy(), rtol=1e-9, atol=1e-10)


# -- equal values --------------------------------------------------------------------------------------
def test_a_sum_over_equal_eigenvalues_has_its_gradient():
    q, _ = np.linalg.qr(matrix(3, 3))
    x = q @ np.diag([2.0, 2.0, 5.0]) @ q.T
    f = lambda x: tg.sum(tg.linalg.eigvalsh(x) ** 2)  # noqa: E731  the square of the Frobenius norm
    np.testing.assert_allclose(gradient(f, (x + x.T) / 2)[0], x + x.T, rtol=1e-12)


def test_the_projection_on_a_group_of_equal_eigenvalues_has_its_gradient():
    q, _ = np.linalg.qr(matrix(3, 3))
    x = q @ np.diag([2.0, 2.0, 5.0]) @ q.T
    x = (x + x.T) / 2
    b, e = matrix(3, 3), matrix(3, 3)
    e = e + e.T

    def f(x):
        _, v = tg.linalg.eigh(x)
        v = v[:, 2:]
        return tg.sum((v @ v.mT) * b)

    h = 1e-6
    difference = (float(f(tg.asarray(x + h * e))) - float(f(tg.asarray(x - h * e)))) / (2 * h)
    assert np.sum(gradient(f, x)[0] * e) == pytest.approx(difference, rel=1e-7)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_eigenvectors_of_equal_eigenvalues_have_a_finite_gradient(is_complex, order):
    x = 2 * np.eye(3, dtype=np.complex128 if is_complex else np.float64)
    f = lambda x: tg.abs(tg.linalg.eigh(x)[1] + 0.5)  # noqa: E731
    assert np.isfinite(gradient(f, x, order=order)[0]).all()


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_equal_and_zero_singular_values_have_a_finite_gradient(shape, full_matrices, order):
    for x in (np.eye(*shape), np.zeros(shape), np.ones(shape)):
        f = lambda x: tuple(tg.linalg.svd(x, full_matrices=full_matrices))  # noqa: E731
        assert np.isfinite(gradient(f, x, order=order)[0]).all()


def test_the_polar_factor_of_equal_singular_values_has_its_gradient():
    x, e, b = np.eye(3), matrix(3, 3), matrix(3, 3)

    def f(x):  # U V^H, which does not depend on how equal values part
        u, _, vh = tg.linalg.svd(x)
        return tg.sum((u @ vh) * b)

    assert np.sum(gradient(f, x)[0] * e) == pytest.approx(np.sum(b * (e - e.T) / 2), rel=1e-12)


@pytest.mark.parametrize("full_matrices", [False, True])
def test_what_is_made_of_the_vectors_of_a_low_rank_has_its_gradient(full_matrices):
    x, b, e = np.outer([1.0, -2.0, 0.5], [0.3, 1.0, -1.0]), matrix(3, 3), matrix(3, 3)

    def f(x):
        u, s, vh = tg.linalg.svd(x, full_matrices=full_matrices)
        return tg.sum(((u[:, :1] * s[:1]) @ vh[:1]) * b)

    h = 1e-6
    difference = (float(f(tg.asarray(x + h * e))) - float(f(tg.asarray(x - h * e)))) / (2 * h)
    assert np.sum(gradient(f, x)[0] * e) == pytest.approx(difference, rel=1e-7)


@pytest.mark.parametrize("x", [2 * np.eye(3), np.diag([2.0, 2.0, 5.0])])
def test_functions_written_without_a_factorisation_have_their_hessians_at_equal_eigenvalues(x):
    e = matrix(3, 3)
    e = e + e.T
    inverse = np.linalg.inv(x)
    second = {
        lambda x: tg.linalg.trace(x @ x @ x): 6 * np.trace(e @ e @ x),
        lambda x: tg.linalg.slogdet(x)[1]: -np.trace(inverse @ e @ inverse @ e),
        lambda x: tg.linalg.matrix_norm(x) ** 2: 2 * np.sum(e * e),
    }
    for f, expected in second.items():
        slope = tg.grad(lambda x, f=f: tg.sum(tg.grad(f)(x) * e))(tg.asarray(x)).numpy()
        assert np.sum(slope * e) == pytest.approx(expected, rel=1e-9)


def test_the_null_space_has_its_gradient():
    x, b, e = matrix(2, 4), matrix(4, 4), matrix(2, 4)

    def f(x):
        _, _, vh = tg.linalg.svd(x)
        return tg.sum((vh[2:].mT @ vh[2:]) * b)

    h = 1e-6
    difference = (float(f(tg.asarray(x + h * e))) - float(f(tg.asarray(x - h * e)))) / (2 * h)
    assert np.sum(gradient(f, x)[0] * e) == pytest.approx(difference, rel=1e-7)


def test_pinv_has_the_gradient_of_its_rank():
    a, b = matrix(4, 2), matrix(2, 3)
    da = matrix(4, 2)
    w = matrix(3, 4)
    f = lambda x: tg.sum(tg.linalg.pinv(x) * w)  # noqa: E731
    h = 1e-6
    difference = np.sum((np.linalg.pinv((a + h * da) @ b) - np.linalg.pinv((a - h * da) @ b)) * w) / (2 * h)
    assert np.sum(gradient(f, a @ b)[0] * (da @ b)) == pytest.approx(difference, rel=1e-6)


# -- norms at zero -------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [2, 1, 3, 1.5, 0.5, math.inf])
def test_vector_norms_at_zero_have_the_gradient_zero_and_a_finite_second_one(kind):
    f = lambda x: tg.linalg.vector_norm(x, ord=kind)  # noqa: E731
    assert (gradient(f, np.zeros(3))[0] == 0).all()
    assert np.isfinite(gradient(f, np.zeros(3), order=2)[0]).all()


@pytest.mark.parametrize("kind", ["fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf])
def test_matrix_norms_at_zero_have_the_gradient_zero(kind):
    assert (gradient(lambda x: tg.linalg.matrix_norm(x, ord=kind), np.zeros((3, 2)))[0] == 0).all()


def test_norms_with_zeros_among_the_elements():
    for x, kind, expected in (
        ([0.0, 2.0], 1, [0.0, 1.0]),
        ([2.0, -2.0, 1.0], math.inf, [0.5, -0.5, 0.0]),
        ([0.0, 2.0], 3, [0.0, 1.0]),
        ([0.0, 2.0], 0.5, [0.0, 1.0]),
    ):
        found = gradient(lambda x, kind=kind: tg.linalg.vector_norm(x, ord=kind), np.array(x))[0]
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_number_of_elements_that_are_not_zero_has_no_gradient():
    with tg.GradientTape() as tape:
        x = tg.asarray([1.0, 0.0])
        tape.watch(x)
        y = tg.linalg.vector_norm(x, ord=0)
    assert float(y) == 1.0
    assert tape.gradient(y, x) is None


# -- empty arrays --------------------------------------------------------------------------------------
def test_empty_matrices():
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3)):
        x = np.zeros(shape)
        for f in (tg.linalg.inv, tg.linalg.det, tg.linalg.matrix_exp, tg.linalg.eigvalsh, tg.linalg.svdvals, tg.linalg.cholesky):
            np.testing.assert_array_equal(gradient(f, x)[0], x)
    assert float(tg.linalg.det(np.zeros((0, 0)))) == 1.0
    assert float(tg.linalg.vector_norm(np.zeros(0), ord=math.inf)) == 0.0


@pytest.mark.parametrize(
    "f",
    [
        tg.linalg.inv,
        tg.linalg.det,
        tg.linalg.svdvals,
        tg.linalg.eigvalsh,
        tg.linalg.matrix_exp,
        tg.linalg.cholesky,
        tg.linalg.pinv,
        lambda x: tg.linalg.qr(x)[1],
        lambda x: tg.linalg.matrix_power(x, 0) * x,
        lambda x: tg.linalg.solve(x, np.ones(3)),
        lambda x: tg.linalg.solve_triangular(x, np.ones(3), lower=True),
        lambda x: tg.einsum("ij,jk,kk->ik", x, x, x),
    ],
)
def test_jacobians_in_one_batch_are_those_row_by_row(f):
    x = tg.asarray(positive(3))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.reshape(f(x), (-1,))
        rows = [y[i] for i in range(y.size)]
    found = tape.jacobian(y, x).numpy()
    np.testing.assert_allclose(found, [tape.gradient(r, x).numpy() for r in rows], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("first", "second"), [((20, 1), (1, 9)), ((5, 16, 1), (5, 1, 8)), ((2, 1, 16, 1), (4, 1, 8)), ((64, 1), (1, 1)), ((0, 1), (1, 70))]
)
def test_products_of_a_column_with_a_row(first: tuple[int, ...], second: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(first).astype(dtype), rng.standard_normal(second).astype(dtype)
    if x.size > 4:
        x.reshape(-1)[:3] = np.inf, np.nan, 0
    with np.errstate(invalid="ignore"):
        got = tg.matmul(tg.asarray(x), tg.asarray(y))
        assert np.array_equal(got.numpy(), x * y, equal_nan=True)
    assert got.numpy().dtype == dtype
