"""Products of tensors, and linear algebra under the older names."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import tapegrad.linalg
import tapegrad.ops.statistics  # noqa: F401  they declare their ops
from tapegrad.ops.einsum import einsum as _plain_einsum
from tapegrad.torch import _factors, _sparse, linalg
from tapegrad.torch import _named as named
from tapegrad.torch._dtypes import SCALAR_TYPES
from tapegrad.torch._functions._build import METHODS, define
from tapegrad.torch._functions.pointwise import _inexact
from tapegrad.torch._linalg_errors import converged
from tapegrad.torch._promotion import promote_types
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, adopt, wrap
from tapegrad.torch._warnings import warn_once


def _dims(x: Any, n: int, text: str) -> Any:
    if len(x.array.shape) != n:
        raise RuntimeError(text)
    return x


def _mm(a: Any, b: Any) -> Any:
    if isinstance(a, _sparse.Sparse):
        return _sparse.mm(a, b)
    if len(a.array.shape) != 2:
        raise RuntimeError("self must be a matrix")
    _dims(b, 2, "mat2 must be a matrix")
    return S.matmul(a, b)


def _mv(a: Any, v: Any) -> Any:
    if len(a.array.shape) != 2 or len(v.array.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {len(a.array.shape)}, {len(v.array.shape)}"
        )
    return S.matmul(a, v)


def _bmm(a: Any, b: Any) -> Any:
    _dims(a, 3, "batch1 must be a 3D tensor")
    _dims(b, 3, "batch2 must be a 3D tensor")
    n, k, m = a.array.shape[0], a.array.shape[2], b.array.shape
    if (n, k) != m[:2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {k}] but got: [{m[0]}, {m[1]}]."
        )
    return S.matmul(a, b)


def _dot(a: Any, b: Any) -> Any:
    p, q = a.array.shape, b.array.shape
    if len(p) != 1 or len(q) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(p)}D and {len(q)}D tensors")
    if p != q:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{p[0]}] and src [{q[0]}] to have the same number of elements, but got "
            f"{p[0]} and {q[0]} elements respectively"
        )
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {_kind(a)} and {_kind(b)}")
    return S.matmul(a, b)


def _kind(x: Any) -> str:
    from tapegrad.torch._dtypes import SCALAR_TYPES

    return SCALAR_TYPES[x.dtype]


def _outer(a: Any, b: Any) -> Any:
    for x, name in ((a, "self"), (b, "vec2")):
        if len(x.array.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(x.array.shape)}-D")
    return S.multiply(S.reshape(a, (-1, 1)), b)


def _plus(x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """beta x + alpha y, where a beta of 0 ignores what x is; of integers in whole numbers."""
    kind = x.array.dtype
    if kind.kind in "iu":
        beta, alpha = (int(v) if isinstance(v, float) else v for v in (beta, alpha))
    made = _weighted(x, y, beta, alpha)
    return made if made.array.dtype == kind or kind.kind not in "biu" else S.astype(made, kind)


def _weighted(x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    y = y if alpha == 1 else S.multiply(y, alpha)
    if beta == 0:
        return y
    return S.add(x if beta == 1 else S.multiply(x, beta), y)


def _sum_of_products(a: Any, b: Any) -> Any:
    return S.sum(_bmm(a, b), axis=0)


def _of_one_dtype(left: str, right: str | None, operands: Any) -> Any:
    """Factors of several dtypes in the one that a product of them has; refused where a sum is taken over what two of them share."""
    terms = left.replace(" ", "").split(",")
    kept = {c for c in left if left.count(c) == 1} if right is None else set(right)
    for k, (term, x) in enumerate(zip(terms, operands, strict=False)):
        for other, y in zip(terms[k + 1 :], operands[k + 1 :], strict=False):
            if x.dtype != y.dtype and any(c.isalpha() and c in other and c not in kept for c in term):
                raise RuntimeError(f"expected scalar type {SCALAR_TYPES[x.dtype]} but found {SCALAR_TYPES[y.dtype]}")
    common = functools.reduce(promote_types, [x.dtype for x in operands])
    return tuple(x.to(common) for x in operands)


def _einsum(equation: Any, *operands: Any) -> Any:
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        return adopt(_plain_einsum(equation, *operands))
    try:
        left, arrow, right = equation.partition("->")
        if len({x.dtype for x in operands if isinstance(x, Tensor)}) > 1:
            operands = _of_one_dtype(left, right if arrow else None, operands)
        if arrow and "..." in left and "..." not in right:  # what the dots stand for is summed
            y = adopt(_plain_einsum(f"{left}->...{right}", *operands))
            extra = len(y.array.shape) - len(right.replace(" ", ""))
            return S.sum(y, axis=tuple(range(extra))) if extra else y
        return adopt(_plain_einsum(equation, *operands))
    except ValueError as error:
        raise RuntimeError(f"einsum(): {error}") from error


def _tensordot(a: Any, b: Any, dims: Any) -> Any:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        return S.tensordot(a, b, axes=dims)
    first, second = (_listed(d) for d in dims)
    for i, j in zip(first, second, strict=True):  # an axis of length 1 goes with any other, which is summed
        n, m = a.array.shape[i], b.array.shape[j]
        if n == 1 != m:
            b = S.sum(b, axis=j, keepdims=True)
        elif m == 1 != n:
            a = S.sum(a, axis=i, keepdims=True)
    return S.tensordot(a, b, axes=(tuple(first), tuple(second)))


def _listed(d: Any) -> Any:
    return [d] if isinstance(d, int) else list(d)


def _cross(a: Any, b: Any, dim: Any) -> Any:
    if dim is None:
        dim = next((i for i, n in enumerate(a.array.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
        warn_once("cross", "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
                  "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
                  "release.")  # fmt: skip
    return linalg.cross(a, b, dim=dim)


def _trace(x: Any) -> Any:
    if len(x.array.shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(x.array.shape)}")
    return x.diagonal().sum()


def _dist(a: Any, b: Any, p: float) -> Any:
    return linalg.vector_norm(S.subtract(a, b), p)


#: By how `cdist` is to be computed: the number of rows above which by a product, as in PyTorch.
_ROWS_FOR_PRODUCT = {
    "use_mm_for_euclid_dist_if_necessary": 25, "use_mm_for_euclid_dist": -1, "donot_use_mm_for_euclid_dist": math.inf,
}  # fmt: skip


def _cdist(a: Any, b: Any, p: float, mode: Any = None) -> Any:
    """The p-norm of each difference of a row of one and a row of the other."""
    if mode is not None and mode not in _ROWS_FOR_PRODUCT:
        raise ValueError(f"{mode} is not a valid value for compute_mode")
    if a.array.shape[-1] != b.array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {a.array.shape[-1]} X2: {b.array.shape[-1]}"
        )
    limit = _ROWS_FOR_PRODUCT[mode or "use_mm_for_euclid_dist_if_necessary"]
    if p == 2 and max(a.array.shape[-2], b.array.shape[-2]) > limit and a.array.dtype.kind == "f":
        return _by_product(a, b)
    d = S.subtract(a.unsqueeze(-2), b.unsqueeze(-3))
    return linalg.vector_norm(d, p, -1)


def _by_product(a: Any, b: Any) -> Any:
    """Euclidean distances as the roots of a^2 + b^2 - 2 a b: not all differences at once, which would be as many times the memory."""
    sizes = [S.sum(S.square(x), axis=-1, keepdims=True) for x in (a, b)]
    squares = S.add(S.subtract(sizes[0], S.multiply(S.matmul(a, S.matrix_transpose(b)), 2.0)), S.matrix_transpose(sizes[1]))
    apart = S.greater(squares, 0)  # no distance at all has derivative 0
    return S.where(apart, S.sqrt(S.where(apart, squares, 1.0)), 0.0)


def _pdist(x: Any, p: float) -> Any:
    i, j = np.triu_indices(x.array.shape[0], 1)
    return linalg.vector_norm(S.subtract(S.take(x, i, axis=0), S.take(x, j, axis=0)), p, -1)


def _logdet(x: Any) -> Any:
    sign, value = S.slogdet(x)
    if sign.array.dtype.kind == "c":
        return S.add(value, S.log(sign))
    bad = np.asarray(sign.array) < 0
    return S.where(wrap(bad), math.nan, value) if bad.any() else value


def _svd(x: Any, some: bool, compute_uv: bool) -> Any:
    u, s, vh = converged("svd", S.svd, x, full_matrices=not some)
    return named.svd(u, s, vh.mH)


def _cholesky(x: Any, upper: bool) -> Any:
    warn_once("cholesky", "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
              "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
              "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH")  # fmt: skip
    return linalg.cholesky(x, upper=upper)


def _qr(x: Any, some: bool) -> Any:
    warn_once("qr", "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
              "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
              "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")  # fmt: skip
    return named.qr(*S.qr(x, mode="reduced" if some else "complete"))


def _triangular_solve(b: Any, a: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    left = a.mT if transpose else a
    return named.triangular_solve(S.solve_triangular(left, b, lower=upper == transpose, unit_diagonal=unitriangular), a.clone())


def _cov(x: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if len(x.array.shape) > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {len(x.array.shape)} dimensions")
    for name, weights, kinds, what in (("fweights", fweights, "iu", "integral"), ("aweights", aweights, "fV", "floating point")):
        if weights is not None:
            if weights.array.dtype.kind not in kinds:
                raise RuntimeError(f"cov(): expected {name} to have {what} dtype")
            if len(weights.array.shape) > 1:
                raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions")
            if (np.asarray(weights.array) < 0).any():
                raise RuntimeError(f"cov(): {name} cannot be negative")
    return S.cov(_inexact(x), correction=correction, fweights=fweights, aweights=aweights)


def _inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axes; of complex numbers neither is conjugated."""
    if not a.array.shape or not b.array.shape:
        return S.multiply(a, b)
    return S.inner(S.conj(a) if a.array.dtype.kind == "c" else a, b)


def _cholesky_inverse(factor: Any, upper: bool) -> Any:
    """The inverse of the matrix whose Cholesky factor is one triangle of this."""
    own = S.triu(factor) if upper else S.tril(factor)
    return linalg.inv(S.matmul(own.mH, own) if upper else S.matmul(own, own.mH))


def _lu(x: Any, pivot: bool, get_infos: bool) -> Any:
    data, pivots, info = linalg.lu_factor_ex(x, pivot=pivot)
    return (data, pivots, info) if get_infos else (data, pivots)


def _renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    d = dimension(dim, len(x.array.shape))
    others = tuple(i for i in range(len(x.array.shape)) if i != d)
    size = linalg.vector_norm(x, p, others, True)
    return S.multiply(x, S.where(S.greater(size, maxnorm), S.divide(maxnorm, S.add(size, 1e-7)), 1.0))


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)} | {"linalg": linalg, "_factors": _factors, "_sparse": _sparse}
define(
    {
        "mm(input, mat2)": "_mm(input, mat2)",
        "matmul(input, other)": "S.matmul(input, other)",
        "bmm(input, mat2)": "_bmm(input, mat2)",
        "mv(input, vec)": "_mv(input, vec)",
        "dot(input, tensor)": "_dot(input, tensor)",
        "vdot(input, other)": "_dot(input.conj(), other)",
        "inner(input, other)": "_inner(input, other)",
        "outer|ger(input, vec2)": "_outer(input, vec2)",
        "kron(input, other)": "S.kron(input, other)",
        "cross(input, other, dim=None)": "_cross(input, other, dim)",
        "trace(input)": "_trace(input)",
        "det(input)": "linalg.det(input)",
        "logdet(input)": "_logdet(input)",
        "slogdet(input)": "named.slogdet(*S.slogdet(input))",
        "inverse(input)": "linalg.inv(input)",
        "pinverse(input, rcond=1e-15)": "linalg.pinv(input, rtol=rcond)",
        "cholesky(input, upper=False)": "_cholesky(input, upper)",
        "cholesky_solve(input, L, upper=False)": "S.cholesky_solve(L, input, upper=upper)",
        "cholesky_inverse(L, upper=False)": "_cholesky_inverse(L, upper)",
        "qr(input, some=True)": "_qr(input, some)",
        "svd(input, some=True, compute_uv=True)": "_svd(input, some, compute_uv)",
        "matrix_power(input, n)": "linalg.matrix_power(input, n)",
        "matrix_exp(input)": "S.matrix_exp(input)",
        "triangular_solve(b, A, upper=True, transpose=False, unitriangular=False)":
            "_triangular_solve(b, A, upper, transpose, unitriangular)",
        "dist(input, other, p=2)": "_dist(input, other, p)",
        "cov(input, *, correction=1, fweights=None, aweights=None)": "_cov(input, correction, fweights, aweights)",
        "corrcoef(input)": "S.corrcoef(_inexact(input))",
        "adjoint(input)": "input.mH",
        "lu(input, pivot=True, get_infos=False)": "_lu(input, pivot, get_infos)",
        "geqrf(input)": "_factors._geqrf(input)",
        "ormqr(input, tau, other, left=True, transpose=False)": "_factors._ormqr(input, tau, other, left, transpose)",
        "orgqr(input, tau)": "linalg.householder_product(input, tau)",
        "lu_solve(input, LU_data, LU_pivots)": "linalg.lu_solve(LU_data, LU_pivots, input)",
    },
    {**_NAMES, "named": named},
    out=True,
)  # fmt: skip
define(
    {
        "addmm(input, mat1, mat2, *, beta=1, alpha=1)": "_plus(input, _mm(mat1, mat2), beta, alpha)",
        "addmv(input, mat, vec, *, beta=1, alpha=1)": "_plus(input, _mv(mat, vec), beta, alpha)",
        "addbmm(input, batch1, batch2, *, beta=1, alpha=1)": "_plus(input, _sum_of_products(batch1, batch2), beta, alpha)",
        "baddbmm(input, batch1, batch2, *, beta=1, alpha=1)": "_plus(input, _bmm(batch1, batch2), beta, alpha)",
        "addr(input, vec1, vec2, *, beta=1, alpha=1)": "_plus(input, _outer(vec1, vec2), beta, alpha)",
        "renorm(input, p, dim, maxnorm)": "_renorm(input, p, dim, maxnorm)",
    },
    _NAMES,
    inplace=True,
)
define(
    {
        "tensordot(a, b, dims=2)": "_tensordot(a, b, dims)",
        "cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary')": "_cdist(x1, x2, p, compute_mode)",
        "pdist(input, p=2)": "_pdist(input, p)",
        "lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)": "_factors._lu_unpack(LU_data, LU_pivots)",
        "chain_matmul(*matrices)": "linalg.multi_dot(matrices)",
        "einsum(equation, *operands)": "_einsum(equation, *operands)",
        "spmm|smm|dsmm(input, mat2)": "_sparse.mm(input, mat2)",
    },
    _NAMES,
    methods=False,
    out=False,
)
METHODS["spmm"] = METHODS["mm"]
