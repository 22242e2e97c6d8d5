"""Factorisations of matrices; leading axes are batches.

What is unique only up to a sign or a phase (an eigenvector, a singular vector) has the derivative that holds for every
function that does not depend on it.  Eigenvalues, or singular values, that are equal to within rounding are taken as equal;
between them the derivative of their vectors, which does not exist, is taken as 0: so what is differentiated stays
finite, and is right if it depends on each group of equal values alone, not on how a group would part.

That holds at first order.  The second derivative of a smooth function of the values has (g_j - g_i) / (w_j - w_i) between two of them,
where g is the cotangent of w: for equal ones that tends to what g_i changes by with w_i less what it changes by with w_j, which is in
the function that follows, not in the values g and w that a rule sees.  It is taken as 0: the Hessian of sum(w**3) at a multiple of
the identity has the diagonal right, and off it a part missing.  Written without a factorisation (`trace(x @ x @ x)`, `det`, `slogdet`,
`matrix_exp`, `inv`, the Frobenius norm) a function has its derivatives there at every order.
"""

from __future__ import annotations

from typing import Any

from tapegrad.ops import solvers  # noqa: F401  declares `solve`
from tapegrad.registry import primitive
from tapegrad.registry.batch_rules import same


def _eps(dtype: Any) -> float:
    """The rounding unit of a real or complex dtype, by the size of its real numbers."""
    return 2.0**-52 if dtype.itemsize == (16 if dtype.kind == "c" else 8) else 2.0**-23


def _between(F: Any, first: Any, second: Any, x: Any, tolerance: Any) -> Any:
    """x / (first_j - second_i) for matrices, and 0 where the difference is not larger than a tolerance."""
    gap = F.expand_dims(first, axis=-2) - F.expand_dims(second, axis=-1)
    none = F.less_equal(F.abs(gap), F.expand_dims(tolerance, axis=-1))
    return F.where(none, 0, x / F.where(none, 1, gap))


def _hermitian(F: Any, x: Any) -> Any:
    return (x + F.matrix_adjoint(x)) * 0.5


# -- Cholesky ----------------------------------------------------------------------------------------------
@primitive(
    public=False, laws=lambda draw: (draw.positive_definite(*draw.choice(("n",), (2, "n"))), {"upper": draw.boolean()})
)
def cholesky(xp: Any, x: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular factor L of a Hermitian positive definite matrix, x = L @ L^H, (..., n, n); L^H if `upper`.

    The derivative is taken as that for the Hermitian part of x: symmetric.  Formula: Murray, "Differentiation of the
    Cholesky decomposition" (2016), equation 10.

    Raises MatrixError for a matrix that is not positive definite, or not square.
    """
    return xp.cholesky(x, upper=upper)


def _halved(F: Any, x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return F.tril(x) - 0.5 * F.put_diagonal(F.diagonal(x))


def _cholesky_pullback(F: Any, g: Any, y: Any, upper: bool) -> Any:
    if upper:
        y, g = F.matrix_adjoint(y), F.matrix_adjoint(g)
    middle = _halved(F, F.matmul(F.matrix_adjoint(y), F.tril(g)))
    middle = middle + F.matrix_adjoint(middle)
    left = F.solve_triangular(y, middle, lower=True, adjoint=True)
    return F.matrix_adjoint(F.solve_triangular(y, F.matrix_adjoint(left), lower=True, adjoint=True)) * 0.5


cholesky.pullback(x=_cholesky_pullback)


# -- QR ----------------------------------------------------------------------------------------------------
def _signed(F: Any, q: Any, r: Any) -> Any:
    """Q and R with a positive diagonal of R; further columns of Q as the projection on what they span."""
    k = min(q.shape[-2], r.shape[-1])
    turn = F.sign(F.diagonal(r))
    span = q[..., k:]
    rows = r[..., :k, :]
    return (
        q[..., :k] * F.expand_dims(turn, axis=-2),
        F.expand_dims(F.conj(turn), axis=-1) * rows,
        F.matmul(span, F.matrix_adjoint(span)),
    )


def _full_rank(draw: Any) -> Any:
    x = draw.spread(*draw.choice(("n", "n"), ("n", 2), (2, "n"), (2, 3, 2), (2, 2, 3), (4, 2)))
    return x, {"mode": draw.choice("reduced", "reduced", "complete")}


@primitive(public=False, outputs=("Q", "R"), laws=_full_rank, observe=_signed)
def qr(xp: Any, x: Any, /, *, mode: str = "reduced") -> Any:
    """A matrix with orthonormal columns, and an upper triangular one, whose product is `x`, (..., n, m) -> (..., n, k), (..., k, m).

    k = min(n, m), or n if the mode is "complete".  The first min(n, m) columns of `x` are taken to be linearly independent.  Formulas:
    Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum experimental
    design" (2010), section 3; for wide matrices the other columns are R2 = Q^H x2.
    """
    return xp.qr(x, mode=mode)


def _qr_pullback(F: Any, g: Any, x: Any, y: Any) -> Any:
    gq, gr = g
    q, r = y
    n, m = x.shape[-2:]
    k = min(n, m)
    if q.shape[-1] > k:  # columns that only complete a basis turn as those before them do
        rest = q[..., k:]
        turned = F.matmul(F.matrix_adjoint(gq[..., k:]), q[..., :k])
        q, gq = q[..., :k], gq[..., :k] - F.matmul(rest, turned)
        r, gr = r[..., :k, :], gr[..., :k, :]
    if m == k:
        return _qr_square(F, gq, gr, q, r)
    right = F.matmul(q, gr[..., k:])
    gq = gq + F.matmul(x[..., k:], F.matrix_adjoint(gr[..., k:]))
    return F.concat([_qr_square(F, gq, gr[..., :k], q, r[..., :k]), right], axis=-1)


def _qr_square(F: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """The same where R is square.  Q^H dQ is skew, and X = Q^H dx R^-1 below the diagonal; dR R^-1 is what is left of X."""
    turn = F.matmul(F.matrix_adjoint(q), gq)
    grow = F.matmul(F.triu(gr), F.matrix_adjoint(r))
    gap = turn - grow
    inner = _halved(F, gap - F.matrix_adjoint(gap)) + grow - turn
    found = gq + F.matmul(q, inner)
    return F.matrix_adjoint(F.solve_triangular(r, F.matrix_adjoint(found)))


qr.pullback(x=_qr_pullback)


# -- Hermitian matrices --------------------------------------------------------------------------------------
def _projections(F: Any, v: Any) -> Any:
    """The projections on columns, which do not depend on their sign or phase."""
    return F.expand_dims(v, axis=-2) * F.conj(F.expand_dims(v, axis=-3))


def _unique_hermitian(F: Any, w: Any, v: Any) -> Any:
    return w, _projections(F, v)


@primitive(
    public=False,
    outputs=("eigenvalues", "eigenvectors"),
    laws=lambda draw: (draw.symmetric(*draw.choice(("n",), (2, "n"))),),
    observe=_unique_hermitian,
)
def eigh(xp: Any, x: Any, /) -> Any:
    """Eigenvalues, rising, and eigenvectors, as columns, of a Hermitian matrix, (..., n, n) -> (..., n), (..., n, n).

    The lower triangle is read, and the derivative is taken as that for the Hermitian part of x.  Between equal eigenvalues that of the
    eigenvectors is taken as 0, which is right for what depends on the values, or on the span of the vectors, alone.  What depends on
    both, such as V diag(f(w)) V^H with f' != 0, has a derivative there that no rule for `eigh` can find: that between two equal values is
    half of what the cotangent of w changes by when their vectors turn into one another, and the sweep brings it for the vectors
    chosen here alone.

    Eigenvectors are known up to a sign or phase: what is differentiated must not depend on it.
    Formula: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008), 3.1.

    Raises MatrixError for a matrix that is not square.
    """
    return xp.eigh(x)


def _eigh_pullback(F: Any, g: Any, y: Any) -> Any:
    """V (diag(gw) + (V^H gV) / gaps) V^H, Hermitian part."""
    w, v = y
    gw, gv = g
    back = F.matrix_adjoint(v)
    largest = F.maximum(F.abs(w[..., :1]), F.abs(w[..., -1:]))
    tolerance = F.broadcast_to(largest * (_eps(w.dtype) * max(w.shape[-1], 1)), w.shape)
    inner = _between(F, w, w, F.matmul(back, gv), tolerance) + F.put_diagonal(gw)
    return _hermitian(F, F.matmul(F.matmul(v, inner), back))


eigh.pullback(x=_eigh_pullback)


@primitive(public=False, laws=lambda draw: (draw.symmetric(*draw.choice(("n",), (2, "n"))),))
def eigvalsh(xp: Any, x: Any, /) -> Any:
    """The eigenvalues, rising, of a Hermitian matrix, (..., n, n) -> (..., n).

    The lower triangle is read, and the derivative is taken as that for the Hermitian part of x.  Of equal eigenvalues each
    has the derivative along one of the eigenvectors that `eigh` gives: right for what is symmetric in them.
    """
    return xp.eigvalsh(x)


def _eigvalsh_pullback(F: Any, g: Any, x: Any) -> Any:
    _, v = F.eigh(x)
    return F.matmul(v * F.expand_dims(g, axis=-2), F.matrix_adjoint(v))


eigvalsh.pullback(x=_eigvalsh_pullback)


# -- singular values -----------------------------------------------------------------------------------------
def _unique_singular(F: Any, u: Any, s: Any, vh: Any) -> Any:
    """Singular values, and products of vectors that do not depend on their signs or phases; of null spaces the projections."""
    k = s.shape[-1]
    u1, v1 = u[..., :k], F.matrix_adjoint(vh[..., :k, :])
    pairs = F.expand_dims(u1, axis=-2) * F.conj(F.expand_dims(v1, axis=-3))
    u2, v2 = u[..., k:], F.matrix_adjoint(vh[..., k:, :])
    spans = [F.matmul(w, F.matrix_adjoint(w)) for w in (u2, v2)]
    return (s, pairs, _projections(F, u1), _projections(F, v1), *spans)


def _apart(draw: Any) -> Any:
    return (draw.spread(*draw.choice(("n", "m"), ("n", "n"), (2, "n", 2), (3, 2), (2, 3))),)


@primitive(
    public=False,
    outputs=("U", "S", "Vh"),
    laws=lambda draw: (*_apart(draw), {"full_matrices": draw.boolean()}),
    observe=_unique_singular,
)
def svd(xp: Any, x: Any, /, *, full_matrices: bool = True) -> Any:
    """U, S and V^H with x = U diag(S) V^H, unitary and with falling S, (..., n, m) -> (..., n, n), (..., k), (..., m, m).

    k = min(n, m); without `full_matrices` U and V have k columns.  Between equal singular values the derivative of their vectors is
    taken as 0, and so is that of a singular value of 0, where it has a kink.  So U diag(S) V^H, which is x, has the derivative 1 only
    between what has full rank: between two null vectors the cotangents of U and V are 0, and tell nothing.  What is made of the vectors
    of values that are not 0, such as U[:, :r] diag(S[:r]) V[:, :r]^H for a matrix of rank r, is right.

    Vectors are known up to a sign or phase that U and V share, and those of the value 0 up to a rotation: what is differentiated must
    not depend on it.
    Formula: Townsend, "Differentiating the singular value decomposition" (2016), here for complex matrices, with the
    turn of U and V in equal shares.
    """
    return xp.svd(x, full_matrices=full_matrices)


def _svd_pullback(F: Any, g: Any, x: Any, y: Any) -> Any:
    """With P = U^H dx V, H and K its Hermitian and skew part: U turns by H / (s_j - s_i) + K / (s_j + s_i), and V by the
    first less the second."""
    gu, gs, gvh = g
    u, s, vh = y
    k = s.shape[-1]
    tolerance = F.broadcast_to(s[..., :1] * (_eps(s.dtype) * max(x.shape[-2:])), s.shape)
    v, gv = F.matrix_adjoint(vh), F.matrix_adjoint(gvh)
    u1, v1, gu1, gv1 = u[..., :k], v[..., :k], gu[..., :k], gv[..., :k]
    turn_u, turn_v = F.matmul(F.matrix_adjoint(u1), gu1), F.matmul(F.matrix_adjoint(v1), gv1)
    apart = _between(F, s, s, turn_u + turn_v, tolerance)
    together = _between(F, s, -s, turn_u - turn_v, tolerance)
    zero = F.less_equal(s, tolerance)
    inner = _hermitian(F, apart) + together - _hermitian(F, together) + F.put_diagonal(F.where(zero, 0, gs))
    over = F.expand_dims(F.where(zero, 0, 1 / F.where(zero, 1, s)), axis=-2)
    out = F.matrix_adjoint(v1)
    found = F.matmul(F.matmul(u1, inner), out)
    if x.shape[-2] > k:
        found = found + F.matmul(_leaving(F, u, gu, turn_u, k) * over, out)
    if x.shape[-1] > k:
        found = found + F.matmul(u1, F.matrix_adjoint(_leaving(F, v, gv, turn_v, k) * over))
    return found


def _leaving(F: Any, u: Any, gu: Any, turn: Any, k: int) -> Any:
    """What turns the first k columns out of the space that they span: (1 - U U^H) gU, less what turns the others into it."""
    u1, u2 = u[..., :k], u[..., k:]
    found = gu[..., :k] - F.matmul(u1, turn)
    if u.shape[-1] > k:
        found = found - F.matmul(u2, F.matmul(F.matrix_adjoint(gu[..., k:]), u1))
    return found


svd.pullback(x=_svd_pullback)


@primitive(public=False, laws=_apart)
def svdvals(xp: Any, x: Any, /) -> Any:
    """The singular values, falling, (..., n, m) -> (..., min(n, m)); the derivative of one that is 0 is taken as 0."""
    return xp.svdvals(x)


def _svdvals_pullback(F: Any, g: Any, x: Any) -> Any:
    u, s, vh = F.svd(x, full_matrices=False)
    zero = F.less_equal(s, s[..., :1] * (_eps(s.dtype) * max(x.shape[-2:])))
    return F.matmul(u * F.expand_dims(F.where(zero, 0, g), axis=-2), vh)


svdvals.pullback(x=_svdvals_pullback)


# -- general matrices ------------------------------------------------------------------------------------------
def _unique_general(F: Any, w: Any, v: Any) -> Any:
    """Sums over eigenvalues and their projections, which do not depend on the order, nor on phases."""
    weights = F.stack([w, w * w, F.exp(0.3 * w)], axis=-2)
    scaled = F.expand_dims(v, axis=-3) * F.expand_dims(weights, axis=-2)
    return F.sum(weights, axis=-1), F.matmul(scaled, F.expand_dims(F.matrix_adjoint(v), axis=-3))


def _diagonalisable(draw: Any) -> Any:
    x = draw.symmetric("n")
    return (x + 0.2 * draw.filled(x.shape),)


@primitive(
    public=False, outputs=("eigenvalues", "eigenvectors"), laws=_diagonalisable, observe=_unique_general, tolerance=10
)
def eig(xp: Any, x: Any, /) -> Any:
    """Eigenvalues, in no order, and eigenvectors, as columns of length 1, of a square matrix; always complex.

    (..., n, n) -> (..., n), (..., n, n).
    Between equal eigenvalues the derivative of the eigenvectors is taken as 0.  Eigenvectors are known up to a phase: what is
    differentiated must not depend on it.  Formula: Boeddeker et al., "On the computation of complex-valued gradients with
    application to statistically optimum beamforming" (2017), equation 4.77.
    """
    return xp.eig(x)


def _eig_pullback(F: Any, g: Any, x: Any, y: Any) -> Any:
    w, v = y
    gw, gv = g
    back = F.matrix_adjoint(v)
    turn = F.matmul(back, gv)
    length = F.real(F.diagonal(turn))  # what would only lengthen a column
    inner = turn - F.matmul(F.matmul(back, v), F.put_diagonal(F.cast(length, w.dtype)))
    size = F.sum(F.abs(w), axis=-1, keepdims=True) * (_eps(w.dtype) * max(w.shape[-1], 1))
    tolerance = F.broadcast_to(size, w.shape)
    inner = _between(F, F.conj(w), F.conj(w), inner, tolerance) + F.put_diagonal(gw)
    return _in_dtype(F, F.solve(back, F.matmul(inner, back)), x)


def _in_dtype(F: Any, c: Any, x: Any) -> Any:
    return c if x.dtype.kind == "c" else F.cast(c, x.dtype)


eig.pullback(x=_eig_pullback)


def _unique_values(F: Any, w: Any) -> Any:
    return (F.sum(F.stack([w, w * w, F.exp(0.3 * w)], axis=-2), axis=-1),)


@primitive(public=False, laws=_diagonalisable, observe=_unique_values)
def eigvals(xp: Any, x: Any, /) -> Any:
    """The eigenvalues, in no order, of a square matrix, (..., n, n) -> (..., n); always complex."""
    return xp.eigvals(x)


def _eigvals_pullback(F: Any, g: Any, x: Any) -> Any:
    _, v = F.eig(x)
    back = F.matrix_adjoint(v)
    return _in_dtype(F, F.solve(back, F.expand_dims(g, axis=-1) * back), x)


eigvals.pullback(x=_eigvals_pullback)

for _op in (cholesky, qr, eigh, eigvalsh, svd, svdvals, eig, eigvals):
    _op.batch(same(_op.name))
