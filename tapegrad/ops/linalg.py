"""Products and factorisations of matrices; leading axes are batches."""

from __future__ import annotations

from typing import Any

from tapegrad.registry import composite, linear, multilinear, primitive
from tapegrad.registry.batching import same


@multilinear(laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(3, "m")),
    (draw.array(3), draw.array(3)),
    (draw.array(2, "n", 3), draw.array(3)),
    (draw.array(3), draw.array(2, 3, "m")),
    (draw.array(2, 1, "n", 3), draw.array(4, 3, "m")),
))
def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The matrix product, (..., n, k), (..., k, m) -> (..., n, m); a 1-d array is a row on the left, a column on the right."""
    return xp.matmul(x1, x2)


def _matmul_left(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    if len(g.shape) == 2 == len(x2.shape):
        return F.matmul(g, F.matrix_adjoint(x2))
    n1, n2 = len(x1.shape), len(x2.shape)
    if n2 == 1:
        left = F.expand_dims(g, axis=-1) * F.conj(x2)
        return F.sum_to(left, x1.shape) if n1 > 1 else left
    if n1 == 1:
        left = F.matmul(F.expand_dims(g, axis=-2), F.matrix_adjoint(x2))
        return F.sum_to(F.squeeze(left, axis=-2), x1.shape)
    return F.sum_to(F.matmul(g, F.matrix_adjoint(x2)), x1.shape)


def _matmul_right(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    if len(g.shape) == 2 == len(x1.shape):
        return F.matmul(F.matrix_adjoint(x1), g)
    n1, n2 = len(x1.shape), len(x2.shape)
    if n1 == 1:
        right = F.expand_dims(F.conj(x1), axis=-1) * F.expand_dims(g, axis=-2) if n2 > 1 else F.conj(x1) * g
        return F.sum_to(right, x2.shape)
    if n2 == 1:
        right = F.matmul(F.matrix_adjoint(x1), F.expand_dims(g, axis=-1))
        return F.sum_to(F.squeeze(right, axis=-1), x2.shape)
    return F.sum_to(F.matmul(F.matrix_adjoint(x1), g), x2.shape)


matmul.adjoint(x1=_matmul_left, x2=_matmul_right)


@composite(laws=lambda draw: draw.choice(
    (draw.array("n", 3, 2), draw.array(2, 3, "m"), {"axes": ((1, 2), (1, 0))}),
    (draw.array("n", 3), draw.array(3, "m"), {"axes": 1}),
    (draw.array("n", 2, 3), draw.array(2, 3), {}),
    (draw.array("n"), draw.array("m"), {"axes": 0}),
    (draw.array("n", 3), draw.array("m", 3), {"axes": (-1, -1)}),
))
def tensordot(F: Any, x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes: the last `axes` of `x1` with the first of `x2`, or those listed."""
    n1, n2 = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        first, second = list(range(n1 - axes, n1)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    first, second = [a % n1 for a in first], [a % n2 for a in second]
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        from tapegrad.errors import ShapeError

        raise ShapeError(
            f"tensordot(x1, x2): expected equal lengths on axes {first} and {second}, got x1 {x1.shape}, x2 {x2.shape}"
        )
    rest1 = [i for i in range(n1) if i not in first]
    rest2 = [i for i in range(n2) if i not in second]
    k = 1
    for a in first:
        k *= x1.shape[a]
    shape1, shape2 = [x1.shape[i] for i in rest1], [x2.shape[i] for i in rest2]
    left = F.reshape(F.permute_dims(x1, (*rest1, *first)), (_product(shape1), k))
    right = F.reshape(F.permute_dims(x2, (*second, *rest2)), (k, _product(shape2)))
    return F.reshape(F.matmul(left, right), (*shape1, *shape2))


def _product(shape: list[int]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


@composite(laws=lambda draw: (draw.array("n", 3), draw.array(draw.choice(1, "n"), 3), {"axis": -1}))
def vecdot(F: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of conj(x1) * x2 along an axis."""
    return F.sum(F.conj(x1) * x2, axis=axis)


def _contracted(draw: Any) -> Any:
    shapes = {"i": "n", "j": 3, "k": "m", "l": 2}
    equation = draw.choice("ij,jk->ki", "ij->j", "ij,ij->", "i,k->ki", "ij,jk,kl->il", "ij,ij->i", "ij,jk,ik->", "lij,jk->lik")
    terms = equation.split("->")[0].split(",")
    return [draw.array(*(shapes[k] for k in term)) for term in terms], {"equation": equation}


@multilinear(variadic=True, laws=_contracted)
def contract(xp: Any, arrays: Any, /, equation: str) -> Any:
    """The sum of products that an equation such as "ij,jk->ik" says; all outputs are named."""
    return xp.contract(arrays, equation)


def _contract_adjoint(F: Any, g: Any, arrays: Any, equation: str) -> list[Any]:
    """The same contraction, with the output in the place of each argument in turn."""
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    found = []
    for i, (term, x) in enumerate(zip(terms, arrays, strict=True)):
        others = [F.conj(a) for j, a in enumerate(arrays) if j != i]
        names = [t for j, t in enumerate(terms) if j != i]
        known = set(output).union(*names) if names else set(output)
        lost = [k for k in term if k not in known]  # summed in this argument alone: repeated in its cotangent
        kept = "".join(k for k in term if k not in lost)
        c = F.contract([g, *others], ",".join([output, *names]) + "->" + kept)
        if lost:
            shape = tuple(1 if k in lost else n for k, n in zip(term, x.shape, strict=True))
            c = F.broadcast_to(F.reshape(c, shape), x.shape)
        found.append(c)
    return found


contract.adjoint(arrays=_contract_adjoint)


@linear(laws=lambda draw: (draw.array(2, 4, 3), {"offset": draw.choice(0, 1, -1, 2, -2)}))
def diagonal(xp: Any, x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes, (..., n, m) -> (..., k)."""
    return xp.diagonal(x, offset=offset)


diagonal.adjoint(x=lambda F, g, x, offset: F.put_diagonal(g, offset=offset, shape=x.shape[-2:]))


@linear(laws=lambda draw: (draw.array(2, 3), {"offset": draw.choice(0, 1, -1)}), public=False)
def put_diagonal(xp: Any, x: Any, /, *, offset: int = 0, shape: tuple[int, int] | None = None) -> Any:
    """Zero matrices with `x` on a diagonal, (..., k) -> (..., n, m); square and just large enough if no shape is given."""
    return xp.put_diagonal(x, offset=offset, shape=shape)


put_diagonal.adjoint(x=lambda F, g, offset: F.diagonal(g, offset=offset))


@primitive(laws=lambda draw: draw.choice(
    (draw.well_conditioned("n"), draw.array("n")),
    (draw.well_conditioned("n"), draw.array("n", 2)),
    (draw.well_conditioned(2, "n"), draw.array(2, "n", 1)),
    (draw.well_conditioned(2, "n"), draw.array("n", 2)),
    (draw.well_conditioned("n"), draw.array(2, "n", "m")),
    (draw.well_conditioned(2, "n"), draw.array("n")),
))
def solve(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x with x1 @ x = x2, for square matrices (..., n, n); `x2` is a vector only if it has one axis."""
    return xp.solve(x1, x2)


def _adjoint_solution(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    a = F.matrix_adjoint(x1)
    if len(x2.shape) == 1 and len(g.shape) > 1:  # one vector for a batch of matrices
        return F.squeeze(F.solve(a, F.expand_dims(g, axis=-1)), -1)
    return F.solve(a, g)


def _solve_matrix(F: Any, g: Any, x1: Any, x2: Any, y: Any) -> Any:
    b = _adjoint_solution(F, g, x1, x2)
    if len(x2.shape) == 1:
        b, y = F.expand_dims(b, axis=-1), F.expand_dims(y, axis=-1)
    return F.sum_to(-F.matmul(b, F.matrix_adjoint(y)), x1.shape)


solve.pullback(x1=_solve_matrix, x2=lambda F, g, x1, x2: F.sum_to(_adjoint_solution(F, g, x1, x2), x2.shape))


@primitive(laws=lambda draw: (draw.positive_definite(*draw.choice(("n",), (2, "n"))), {"upper": draw.boolean()}))
def cholesky(xp: Any, x: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular factor L of a Hermitian positive definite matrix, x = L @ L^H; L^H if `upper`.

    The derivative is taken as that for the Hermitian part of x: symmetric.  Formula: Murray, "Differentiation of the
    Cholesky decomposition" (2016), equation 10.
    """
    return xp.cholesky(x, upper=upper)


def _halved(F: Any, x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return F.tril(x) - 0.5 * F.put_diagonal(F.diagonal(x))


def _cholesky_pullback(F: Any, g: Any, y: Any, upper: bool) -> Any:
    if upper:
        y, g = F.matrix_adjoint(y), F.matrix_adjoint(g)
    back = F.matrix_adjoint(y)
    middle = _halved(F, F.matmul(back, F.tril(g)))
    middle = middle + F.matrix_adjoint(middle)
    left = F.solve(back, middle)
    return F.matrix_adjoint(F.solve(back, F.matrix_adjoint(left))) * 0.5


cholesky.pullback(x=_cholesky_pullback)


def _unique(F: Any, w: Any, v: Any) -> Any:
    """Eigenvalues, and the projections on eigenvectors, which do not depend on their sign or phase."""
    return w, F.expand_dims(v, axis=-2) * F.conj(F.expand_dims(v, axis=-3))


@primitive(
    outputs=("eigenvalues", "eigenvectors"), laws=lambda draw: (draw.symmetric(*draw.choice(("n",), (2, "n"))),), observe=_unique
)
def eigh(xp: Any, x: Any, /) -> Any:
    """Eigenvalues, rising, and eigenvectors, as columns, of a Hermitian matrix, (..., n, n) -> (..., n), (..., n, n).

    The derivative of eigenvectors is that at distinct eigenvalues; between equal ones it is taken as 0.  Eigenvectors
    of a complex matrix are known up to a phase: the function that is differentiated must not depend on it.
    """
    return xp.eigh(x)


def _eigh_pullback(F: Any, g: Any, y: Any) -> Any:
    """V (diag(gw) + (V^H gV) / gaps) V^H, Hermitian part.  Giles, "Collected matrix derivative results" (2008), 3.1."""
    w, v = y
    gw, gv = g
    back = F.matrix_adjoint(v)
    gaps = F.expand_dims(w, axis=-2) - F.expand_dims(w, axis=-1)
    same = gaps == 0
    inner = F.where(same, 0, F.matmul(back, gv) / F.where(same, 1, gaps))
    inner = inner + F.put_diagonal(gw)
    found = F.matmul(F.matmul(v, inner), back)
    return (found + F.matrix_adjoint(found)) * 0.5


eigh.pullback(x=_eigh_pullback)


# -- batches ---------------------------------------------------------------------------------------------
for _op in (diagonal, put_diagonal, cholesky, eigh):
    _op.batch(same(_op.name))


@matmul.batch
def _matmul_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    n1, n2 = len(x1.shape) - has[0], len(x2.shape) - has[1]
    if not has[0] and n1 == 2 and has[1] and n2 == 1:  # one matrix, many vectors: one product of matrices
        return F.matmul(x2, F.matrix_transpose(x1))
    if has[0] and n1 <= 2 and not has[1] and n2 == 2:  # many rows, one matrix
        y = F.matmul(F.reshape(x1, (_product(list(x1.shape[:-1])), x1.shape[-1])), x2)
        return F.reshape(y, (*x1.shape[:-1], x2.shape[-1]))
    if n1 == 1:
        x1 = F.expand_dims(x1, axis=-2)
    if n2 == 1:
        x2 = F.expand_dims(x2, axis=-1)
    rank = max(n1, n2, 2)
    x1, x2 = (_with_rank(F, x, b, rank) for x, b in zip((x1, x2), has, strict=True))
    y = F.matmul(x1, x2)
    if n1 == 1:
        y = F.squeeze(y, -2)
    return F.squeeze(y, -1) if n2 == 1 else y


def _with_rank(F: Any, x: Any, batched: bool, rank: int) -> Any:
    missing = rank - (len(x.shape) - 1)
    return F.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if batched and missing > 0 else x


@contract.batch
def _contract_batch(F: Any, has: Any, arrays: Any, *, equation: str) -> Any:
    inputs, output = equation.split("->")
    letter = next(k for k in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if k not in equation)
    terms = [letter + t if b else t for t, b in zip(inputs.split(","), has, strict=True)]
    return F.contract(arrays, ",".join(terms) + "->" + letter + output)


@solve.batch
def _solve_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    vector = len(x2.shape) - has[1] == 1
    if vector:
        x2 = F.expand_dims(x2, axis=-1)
    rank = max(len(x1.shape) - has[0], len(x2.shape) - has[1])
    x1, x2 = (_with_rank(F, x, b, rank) for x, b in zip((x1, x2), has, strict=True))
    y = F.solve(x1, x2)
    return F.squeeze(y, -1) if vector else y
