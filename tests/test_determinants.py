"""Determinants are polynomials: their derivatives of every order are right at matrices of every rank."""

import itertools

import numpy as np
import pytest

import tapegrad as tg

RNG = np.random.default_rng(11)


def matrix_of_rank(n, rank, is_complex=False):
    parts = [RNG.standard_normal(s) + (1j * RNG.standard_normal(s) if is_complex else 0) for s in ((n, rank), (rank, n))]
    return parts[0] @ parts[1]


def expansion(x):
    """The determinant as the sum over permutations, which NumPy computes without a division."""
    n = len(x)
    total = 0
    for p in itertools.permutations(range(n)):
        sign = np.linalg.det(np.eye(n)[list(p)])
        total = total + sign * np.prod([x[i, p[i]] for i in range(n)])
    return total


def derivative(x, directions):
    """The mixed derivative of the determinant: the coefficient of the product of all z in det(x + sum of z d)."""
    order = len(x) + 1
    roots = np.exp(2j * np.pi * np.arange(order) / order)  # a mean over them picks one coefficient of a polynomial
    total = 0
    for powers in itertools.product(range(order), repeat=len(directions)):
        z = roots[list(powers)]
        total = total + expansion(x + sum(a * d for a, d in zip(z, directions, strict=True))) / np.prod(z)
    return total / order ** len(directions)


def nested(x, directions):
    """The same by tapes inside tapes."""
    if not directions:
        return tg.linalg.det(x)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = nested(x, directions[:-1])
    return tg.sum(tape.gradient(y, x) * directions[-1])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_derivative_at_every_rank(n, order):
    for rank in range(n + 1):
        x = matrix_of_rank(n, rank)
        directions = [RNG.standard_normal((n, n)) for _ in range(order)]
        expected = derivative(x, directions)
        assert abs(expected.imag) < 1e-9
        found = float(nested(tg.asarray(x), directions))
        assert found == pytest.approx(expected.real, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_gradient_of_a_singular_matrix_is_its_adjugate(is_complex):
    x = matrix_of_rank(4, 3, is_complex)
    minors = np.array([
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(4)] for i in range(4)
    ])
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = tg.real(tg.linalg.det(t))
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), minors.conj(), rtol=1e-11, atol=1e-11)


def test_exact_cases():
    x = tg.asarray(np.array([[1.0, 2.0], [2.0, 4.0]]))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.linalg.det(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [[4, -2], [-2, 1]], atol=1e-14)


def test_a_batch_of_regular_and_singular_matrices():
    x = np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3)), np.diag([0.0, 2.0, 3.0])])
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = tg.linalg.det(t)
    expected = [np.eye(3), np.zeros((3, 3)), np.zeros((3, 3)), np.diag([6.0, 0.0, 0.0])]
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), expected, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_a_determinant_that_vanishes_or_overflows_has_its_gradient(scale):
    x = tg.asarray(np.diag([scale, scale]))
    with tg.GradientTape() as tape, np.errstate(all="ignore"):
        tape.watch(x)
        y = tg.linalg.det(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.diag([scale, scale]), rtol=1e-14)


def test_the_hessian_at_the_identity():
    x = tg.asarray(np.eye(2))
    rows = []
    for i in range(4):
        with tg.GradientTape() as outer:
            outer.watch(x)
            with tg.GradientTape() as inner:
                inner.watch(x)
                y = tg.linalg.det(x)
            g = inner.gradient(y, x)
            row = tg.sum(g * np.eye(4)[i].reshape(2, 2))
        rows.append(outer.gradient(row, x).numpy().ravel())
    np.testing.assert_allclose(rows, [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]], atol=1e-14)


# -- slogdet ---------------------------------------------------------------------------------------------
def test_the_logarithm_is_infinitely_steep_at_a_singular_matrix_alone():
    x = tg.asarray(np.stack([np.eye(2), np.ones((2, 2))]))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sign, log = tg.linalg.slogdet(x)
        first = log[0]
    assert sign.tolist() == [1.0, 0.0]
    assert log.tolist() == [0.0, -np.inf]
    np.testing.assert_array_equal(tape.gradient(first, x).numpy(), [np.eye(2), np.zeros((2, 2))])
    assert np.isinf(tape.gradient(log, x).numpy()[1]).all()


def test_neither_sign_nor_logarithm_overflows():
    x = tg.asarray(1e3 * np.eye(200))
    with tg.GradientTape() as tape:
        tape.watch(x)
        _, log = tg.linalg.slogdet(x)
    assert float(log) == pytest.approx(200 * np.log(1e3))
    np.testing.assert_allclose(tape.gradient(log, x).numpy(), 1e-3 * np.eye(200))


def test_the_phase_of_a_complex_determinant_has_its_gradient():
    x, e = matrix_of_rank(3, 3, is_complex=True), matrix_of_rank(3, 3, is_complex=True)
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = tg.imag(tg.linalg.slogdet(t)[0])
    h = 1e-6
    difference = (np.linalg.slogdet(x + h * e)[0] - np.linalg.slogdet(x - h * e)[0]).imag / (2 * h)
    assert np.sum(tape.gradient(y, t).numpy().conj() * e).real == pytest.approx(difference, rel=1e-7)
