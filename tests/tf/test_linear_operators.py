"""Linear operators: each does what its dense form does, with its derivatives; and it is what TensorFlow's is."""

import numpy as np
import pytest

from tapegrad import tf

L = tf.linalg
RNG = np.random.default_rng(5)
SQUARE, WIDE, TALL = (RNG.normal(size=s) for s in ((3, 3), (2, 3, 3), (4, 3)))
DEFINITE = WIDE @ WIDE.swapaxes(-1, -2) + 2 * np.eye(3)
THREE = RNG.normal(size=(3, 4)) + np.array([[0], [6], [0]])
NARROW, OTHER = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))


def full(x=SQUARE, space=L, **hints):
    return space.LinearOperatorFullMatrix(x, **hints)


def definite(space=L):
    return full(DEFINITE, space, is_self_adjoint=True, is_positive_definite=True)


def triangle(space=L):
    return space.LinearOperatorLowerTriangular(SQUARE + 4 * np.eye(3))


def diagonal(space=L):
    return space.LinearOperatorDiag(np.array([1.5, 2.5, 0.5, 4.0]), is_positive_definite=True)


KINDS = {
    "full": lambda space=L: full(space=space),
    "definite": definite,
    "diagonal": diagonal,
    "triangle": triangle,
    "identity": lambda space=L: space.LinearOperatorIdentity(3, [2], dtype="float64"),
    "multiple": lambda space=L: space.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
    "reflection": lambda space=L: space.LinearOperatorHouseholder(SQUARE[0]),
    "order": lambda space=L: space.LinearOperatorPermutation([2, 0, 1], "float64"),
    "toeplitz": lambda space=L: space.LinearOperatorToeplitz(np.array([5.0, 1.0, 2.0]), np.array([5.0, 3.0, 4.0])),
    "three diagonals": lambda space=L: space.LinearOperatorTridiag(THREE),
    "three diagonals apart": lambda space=L: space.LinearOperatorTridiag(list(THREE), "sequence"),
    "product": lambda space=L: space.LinearOperatorComposition([full(space=space), triangle(space)]),
    "adjoint": lambda space=L: triangle(space).adjoint(),
    "inverse": lambda space=L: full(space=space).inverse(),
    "low rank": lambda space=L: space.LinearOperatorLowRankUpdate(triangle(space), NARROW, np.array([0.5, -2.0]), OTHER),
    "low rank, definite": lambda space=L: space.LinearOperatorLowRankUpdate(definite(space), NARROW),
    "blocks": lambda space=L: space.LinearOperatorBlockDiag([definite(space), diagonal(space)]),
    "blocks below": lambda space=L: space.LinearOperatorBlockLowerTriangular(
        [[full(space=space)], [full(TALL, space), diagonal(space)]]
    ),
    "kronecker": lambda space=L: space.LinearOperatorKronecker([full(SQUARE[:2, :2], space), full(space=space), triangle(space)]),
    "circulant": lambda space=L: space.LinearOperatorCirculant(np.array([6.0, 4.0, 2.0, 4.0]), input_output_dtype="float64"),
    "circulant, complex": lambda space=L: space.LinearOperatorCirculant(
        np.array([6 + 1j, 4, 2, 4j]), input_output_dtype="complex128"
    ),
    "circulant in two": lambda space=L: space.LinearOperatorCirculant2D(
        np.arange(1, 7).reshape(2, 3) + 0j, input_output_dtype="complex128"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_does_what_its_dense_form_does(kind):
    op = KINDS[kind]()
    a = op.to_dense().numpy()
    turned = np.conj(np.swapaxes(a, -1, -2))
    x = RNG.normal(size=(a.shape[-1], 2)).astype(a.dtype)
    assert tuple(op.shape) == a.shape
    assert op.dtype == a.dtype
    close = lambda y, exact: np.testing.assert_allclose(y.numpy(), exact, rtol=1e-9, atol=1e-9)  # noqa: E731
    close(op.matmul(x), a @ x)
    close(op.matmul(x, adjoint=True), turned @ x)
    close(op.matvec(x[:, 0]), a @ x[:, 0])
    close(op.matmul(op.solve(x)), np.broadcast_to(x, (a @ x).shape))
    close(op.matmul(op.solve(x, adjoint=True), adjoint=True), np.broadcast_to(x, (a @ x).shape))
    close(op.inverse().matmul(x), np.linalg.solve(a, np.broadcast_to(x, (a @ x).shape)))
    close(op.determinant(), np.linalg.det(a))
    close(op.log_abs_determinant(), np.linalg.slogdet(a)[1])
    close(op.diag_part(), np.diagonal(a, axis1=-2, axis2=-1))
    close(op.trace(), np.trace(a, axis1=-2, axis2=-1))
    close((op @ op).matvec(x[:, 0]), a @ (a @ x[:, 0, None]) @ np.ones(1))


@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_an_operator_is_what_tensorflow_knows(kind):
    real = pytest.importorskip("tensorflow")
    ours, theirs = KINDS[kind](), KINDS[kind](real.linalg)
    np.testing.assert_allclose(ours.to_dense().numpy(), theirs.to_dense().numpy(), atol=1e-12)
    for name in ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square", "name", "tensor_rank"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize("kind", ["definite", "triangle", "low rank, definite", "kronecker"])
def test_solutions_and_determinants_are_differentiable(kind):
    op = KINDS[kind]()
    n = op.shape[-1]
    x = tf.constant(RNG.normal(size=(n,)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(op.solvevec(x) ** 2)
    inverse = np.linalg.inv(op.to_dense().numpy()).reshape(-1, n, n)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), sum(2 * m.T @ m @ x.numpy() for m in inverse), rtol=1e-7)


def test_a_variable_inside_is_read_anew_and_seen_by_tapes():
    v = tf.Variable([2.0, 4.0])
    op = L.LinearOperatorDiag(v)
    assert op.trainable_variables == (v,)
    with tf.GradientTape() as tape:
        y = op.log_abs_determinant()
    assert tape.gradient(y, v).numpy().tolist() == [0.5, 0.25]
    v.assign([1.0, 8.0])
    assert op.matvec([1.0, 1.0]).numpy().tolist() == [1.0, 8.0]


def test_a_kind_of_ones_own_says_its_shape_and_its_product():
    class Twice(L.LinearOperator):
        def _shape(self):
            return (3, 3)

        def _matmul(self, x, adjoint):
            return x * 2

    op = Twice("float32")
    assert op.to_dense().numpy().tolist() == (2 * np.eye(3)).tolist()
    assert op.solvevec([2.0, 4.0, 6.0]).numpy().tolist() == [1.0, 2.0, 3.0]


def test_blocks_are_taken_apart_for_a_list():
    op = L.LinearOperatorBlockDiag([L.LinearOperatorDiag([2.0, 3.0]), L.LinearOperatorIdentity(1)])
    top, bottom = op.matmul([tf.ones((2, 1)), tf.ones((1, 1))])
    assert (top.numpy().tolist(), bottom.numpy().tolist()) == ([[2.0], [3.0]], [[1.0]])


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="positive definite matrix is always non-singular"):
        full(is_positive_definite=True, is_non_singular=False)
    with pytest.raises(ValueError, match="real diagonal operator is always self adjoint"):
        L.LinearOperatorDiag([1.0], is_self_adjoint=False)
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        diagonal().matvec(np.ones(3))
    with pytest.raises(TypeError, match=r"Expected argument to have dtype.*float64.*Found:.*float32"):
        diagonal().matvec(tf.ones(4))
    with pytest.raises(NotImplementedError, match="expected to be singular"):
        L.LinearOperatorZeros(2).solvevec([1.0, 2.0])
    with pytest.raises(ValueError, match="Not a positive definite self adjoint matrix"):
        full().cholesky()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to its adjoint"):
        full().assert_self_adjoint()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive definite"):
        full(-DEFINITE, is_self_adjoint=True).assert_positive_definite()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Singular matrix"):
        full(np.ones((2, 2))).assert_non_singular()
