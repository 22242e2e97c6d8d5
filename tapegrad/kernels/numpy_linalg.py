"""NumPy kernels of linear algebra: products, factorisations, determinants.

Leading axes are batches.  NumPy refuses float16 in its factorisations, and takes bfloat16 as float64: that is refused too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad.kernels.mismatch import no_product


def _supported(x: Any) -> Any:
    if x.dtype.kind == "V":
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    return x


def _single_or_double(x: Any) -> Any:
    """SciPy takes float16 as float32: it is refused, as NumPy does."""
    if x.dtype.itemsize == 2:
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    return x


# -- products ----------------------------------------------------------------------------------------
def matrix_transpose(x: Any) -> Any:
    return x.mT  # the function of this name takes six times as long


def matrix_adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return x.mT.conj() if x.dtype.kind == "c" else x.mT


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product; NumPy's own (and its einsum) gives float32 for bfloat16."""
    try:
        y = _outer(x1, x2) if x1.ndim > 1 < x2.ndim and x1.shape[-1] == 1 == x2.shape[-2] else np.matmul(x1, x2)
    except ValueError as error:
        raise ValueError(no_product(x1, x2) or str(error)) from error
    return y if y.dtype is x1.dtype else y.astype(np.result_type(x1, x2), copy=False)


def _outer(x1: Any, x2: Any) -> Any:
    """The products of columns with rows, which NumPy leaves to a loop that is slower than that over twice as many products.

    Measured for a column of 512 and a row of 512 in float32: 22 us with zeros beside them, multiplied 68, by NumPy 405; for
    128 of 64 and 64: 47, 192 and 1,400.
    """
    n, m = x1.shape[-2], x2.shape[-1]
    if n * m < 64 or x1.dtype is not x2.dtype or x1.dtype.char not in "fdFD":
        return np.matmul(x1, x2)
    if n == 1 or m == 1 or x1.dtype.kind == "c":
        return x1 * x2
    columns = np.zeros((*x1.shape[:-1], 2), x1.dtype)
    columns[..., :1] = x1
    rows = np.zeros((*x2.shape[:-2], 2, m), x2.dtype)
    rows[..., :1, :] = x2
    return np.matmul(columns, rows)


def adjoint_matmul(x1: Any, x2: Any) -> Any:
    return matmul(matrix_adjoint(x1), x2)


def matmul_adjoint(x1: Any, x2: Any) -> Any:
    if x1.ndim == 2 and 4 <= x1.shape[0] <= 64 and x2.size >= 1 << 14 and x2.dtype.kind == "f":
        # OpenBLAS is up to twice as fast with the larger matrix first and nothing transposed (measured: 84 us against 156 for
        # 16x784 and 256x784 in float32)
        return np.ascontiguousarray(matmul(x2, x1.mT).mT)
    return matmul(x1, matrix_adjoint(x2))


def inner(x1: Any, x2: Any) -> Any:
    """The sum of conj(x1) * x2 over the last axis."""
    y = np.vecdot(x1, x2)
    return y if y.dtype is x1.dtype else y.astype(np.result_type(x1, x2), copy=False)


def contract(arrays: Any, equation: str) -> Any:
    """The sum of products that an equation says: pairs of arrays at a time, each as one product of matrices."""
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    arrays = list(arrays)
    dtype = np.result_type(*arrays)
    if dtype.kind == "V":  # einsum refuses some equations in bfloat16
        arrays = [a.astype(np.float32) for a in arrays]
    if len(arrays) > 2:
        for i, j in path_of(equation, tuple(a.shape for a in arrays)):
            b, a = (arrays.pop(k) for k in (j, i))
            tb, ta = (terms.pop(k) for k in (j, i))
            needed = set(output).union(*terms)
            kept = "".join(k for k in dict.fromkeys(ta + tb) if k in needed)
            arrays.append(_pair(a, b, _plan(ta, tb, kept)))
            terms.append(kept)
    if len(arrays) == 1:
        y: Any = np.einsum(f"{terms[0]}->{output}", arrays[0])
    else:
        y = _pair(arrays[0], arrays[1], _plan(*terms, output))
    return y if y.dtype is dtype else y.astype(dtype, copy=False)


@functools.lru_cache(maxsize=256)
def path_of(equation: str, shapes: tuple[tuple[int, ...], ...]) -> list[tuple[int, int]]:
    """Which two arrays are contracted next, and which after that."""
    stand_ins = [np.broadcast_to(np.empty(()), s) for s in shapes]
    path = np.einsum_path(equation, *stand_ins, optimize="greedy")[0][1:]
    pairs: list[tuple[int, int]] = []
    count = len(shapes)
    for step in path:
        if len(step) != 2:  # it contracts more at once where that is no dearer
            return [(count - 2 - k, count - 1 - k) for k in range(count - 2)]
        pairs.append((min(step), max(step)))
    return pairs[:-1]  # the last pair is left to the caller


@functools.lru_cache(maxsize=256)
def _plan(t1: str, t2: str, out: str) -> Any:
    """How two arrays are summed, ordered and multiplied: by their letters alone."""
    first = "".join(k for k in t1 if k in t2 or k in out)
    second = "".join(k for k in t2 if k in t1 or k in out)
    batch = [k for k in first if k in second and k in out]
    inner = [k for k in first if k in second and k not in out]
    left = [k for k in first if k not in second]
    right = [k for k in second if k not in first]
    found = batch + left + right
    return (
        None if first == t1 else f"{t1}->{first}",
        None if second == t2 else f"{t2}->{second}",
        tuple(first.index(k) for k in batch + left + inner),
        tuple(second.index(k) for k in batch + inner + right),
        len(batch),
        len(left),
        len(inner),
        tuple(found.index(k) for k in out),
    )


def _pair(a: Any, b: Any, plan: Any) -> Any:
    """The contraction of two arrays, by a plan."""
    sum1, sum2, order1, order2, batch, left, inner, order = plan
    if sum1:
        a = np.einsum(sum1, a)
    if sum2:
        b = np.einsum(sum2, b)
    a, b = np.transpose(a, order1), np.transpose(b, order2)
    s1, s2 = a.shape, b.shape
    rows, columns = s1[batch : batch + left], s2[batch + inner :]
    shape = (*s1[:batch], *rows, *columns)
    if not inner:  # no sums: a product of elements
        y = np.multiply(a.reshape((*s1, *(1,) * len(columns))), b.reshape((*s2[:batch], *(1,) * left, *columns)))
    else:
        k = _size(s1[batch + left :])
        y = np.matmul(
            a.reshape(*s1[:batch], _size(rows), k), b.reshape(*s1[:batch], k, _size(columns))
        ).reshape(shape)
    return np.transpose(y, order)


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


# -- solving -----------------------------------------------------------------------------------------
def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b; `b` is a vector only if it has one axis."""
    return np.linalg.solve(_supported(a), _supported(b))


def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, unit_diagonal: bool = False, adjoint: bool = False
) -> Any:
    """x with a @ x = b for a triangular `a`.

    The general solver leaves an upper triangle as it is, so it loses no digit; LAPACK's triangular one pays for large
    matrices alone (for small ones its threads wait for each other: up to 4 ms measured, against 5 us).
    """
    _single_or_double(a), _single_or_double(b)
    if a.ndim == 2 and b.ndim <= 2 and len(a) > 128 and b.size:
        from scipy.linalg import solve_triangular

        return solve_triangular(
            a, b, lower=lower, unit_diagonal=unit_diagonal, trans="C" if adjoint else "N", check_finite=False
        )
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        k = np.arange(a.shape[-1])
        triangle[..., k, k] = 1
    if adjoint:
        triangle = matrix_adjoint(triangle)
    if lower is adjoint:
        return np.linalg.solve(triangle, b)
    if b.ndim == 1:
        return np.linalg.solve(triangle[..., ::-1, ::-1], b[::-1])[..., ::-1]
    return np.linalg.solve(triangle[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]


def inv(x: Any) -> Any:
    return np.linalg.inv(_supported(x))


def inv_or_inf(x: Any) -> Any:
    """The inverse; infinities where a matrix is singular."""
    try:
        return np.linalg.inv(_supported(x))
    except np.linalg.LinAlgError:
        if x.ndim == 2:
            return np.full(x.shape, np.inf, x.dtype)
        return np.stack([inv_or_inf(m) for m in x])


def pinv(x: Any, *, rtol: Any = None) -> Any:
    _supported(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return np.linalg.pinv(x, rtol=rtol)


def matrix_rank(x: Any, *, rtol: Any = None) -> Any:
    if not x.shape[-1] * x.shape[-2]:
        return np.zeros(x.shape[:-2], np.int64)[()]
    return np.linalg.matrix_rank(_supported(x), rtol=rtol)


# -- factorisations ----------------------------------------------------------------------------------
def cholesky(x: Any, *, upper: bool = False) -> Any:
    return np.linalg.cholesky(_supported(x), upper=upper)


def qr(x: Any, *, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(f"expected mode in ('reduced', 'complete'), got {mode!r}")
    return tuple(np.linalg.qr(_supported(x), mode=mode))


def eigh(x: Any) -> Any:
    return tuple(np.linalg.eigh(_supported(x)))


def eigvalsh(x: Any) -> Any:
    return np.linalg.eigvalsh(_supported(x))


def eig(x: Any) -> Any:
    """Always complex: whether all eigenvalues are real should not change a dtype."""
    dtype = np.result_type(x.dtype, np.complex64)
    w, v = np.linalg.eig(_supported(x))
    return w.astype(dtype), v.astype(dtype)


def eigvals(x: Any) -> Any:
    return np.linalg.eigvals(_supported(x)).astype(np.result_type(x.dtype, np.complex64))


def svd(x: Any, *, full_matrices: bool = True) -> Any:
    return tuple(np.linalg.svd(_supported(x), full_matrices=full_matrices))


def svdvals(x: Any) -> Any:
    return np.linalg.svd(_supported(x), compute_uv=False)


# -- determinants ------------------------------------------------------------------------------------
def det(x: Any) -> Any:
    return np.linalg.det(_supported(x))


def slogdet(x: Any) -> Any:
    return tuple(np.linalg.slogdet(_supported(x)))


def _inverted(x: Any) -> Any:
    """Inverse and determinant, where both are known to half of the digits at least; else None."""
    try:
        y = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return None
    with np.errstate(all="ignore"):
        d = np.linalg.det(x)
        condition = np.abs(x).sum(-1).max(-1, initial=0) * np.abs(y).sum(-1).max(-1, initial=0)
        good = condition < np.finfo(x.dtype).eps ** -0.5
        normal = np.isfinite(d) & (np.abs(d) > np.finfo(x.dtype).tiny)
        return (y, np.asarray(d)[..., None, None]) if (good & normal).all() else None


def _rotations(x: Any) -> Any:
    """conj(U), S, conj(Vh) of the singular value decomposition, and the determinant of U @ Vh, (..., 1, 1)."""
    u, s, vh = np.linalg.svd(x)
    return u.conj(), s, vh.conj(), np.asarray(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _products_of_others(s: Any) -> Any:
    """For each element of the last axis the product of all others."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def _products_of_others_of_two(s: Any) -> Any:
    """For each two elements of the last axis the product of all others; 0 on the diagonal."""
    n = s.shape[-1]
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    later = np.where(np.triu(np.ones((n, n), bool), 1), s[..., None, :], np.ones((), s.dtype))
    between = np.ones_like(later)
    between[..., 1:] = np.cumprod(later, axis=-1)[..., :-1]
    upper = np.triu(before[..., :, None] * between * after[..., None, :], 1)
    return upper + upper.mT


def cofactor(x: Any) -> Any:
    """The matrix of cofactors, from the inverse, or where there is none from the singular values."""
    _supported(x)
    if not x.size:
        return x
    found = _inverted(x)
    if found is not None:
        y, d = found
        return d * y.mT
    u, s, vh, d = _rotations(x)
    return d * ((u * _products_of_others(s)[..., None, :]) @ vh)


def cofactor_along(x1: Any, x2: Any) -> Any:
    """The derivative of `cofactor` at `x1` in direction `x2`."""
    _supported(x1)
    if x1.shape[-1] < 2:
        return np.zeros_like(x1 + x2)
    found = _inverted(x1)
    if found is not None:
        y, d = found
        a = y @ x2
        return d * (np.trace(a, axis1=-2, axis2=-1)[..., None, None] * y - a @ y).mT
    u, s, vh, d = _rotations(x1)
    b = u.mT @ x2 @ vh.mT  # the direction, where x1 is diagonal
    others = _products_of_others_of_two(s)
    middle = -others * b.mT
    k = np.arange(s.shape[-1])
    middle[..., k, k] = (others @ np.diagonal(b, axis1=-2, axis2=-1)[..., None])[..., 0]
    return d * (u @ middle @ vh)


def _unit(x: Any) -> Any:
    """The largest absolute value of each matrix, (..., 1, 1); 1 where it is 0."""
    m = np.abs(x).max(axis=(-2, -1), keepdims=True, initial=0)
    return np.where(m > 0, m, np.ones((), m.dtype))


def around_zero(x: Any) -> Any:
    """n matrices on a circle around 0, of the size of each x: a random unitary one times the n-th roots of unity."""
    n = x.shape[-1]
    rng = np.random.default_rng(n)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    roots = np.exp(2j * np.pi * np.arange(n) / max(n, 1))
    circle = n**0.5 * roots[:, None, None] * q
    size = np.exp2(np.floor(np.log2(_unit(x))))  # a power of two: a step function of x
    return (size[..., None, :, :] * circle).astype(np.result_type(x.dtype, np.complex64), copy=False)


# -- functions of matrices ---------------------------------------------------------------------------
def matrix_exp(x: Any) -> Any:
    _single_or_double(x)
    from scipy.linalg import expm

    if not x.size:
        return x
    return expm(x)


def matrix_exp_along(x1: Any, x2: Any) -> Any:
    """The derivative of `matrix_exp` at `x1` in direction `x2`: a block of the exponential of a larger matrix.

    The direction is brought to the size of `x1` first: a large one would cost squarings, and digits.
    """
    _single_or_double(x1)
    if not x1.size:
        return x1
    scale = np.maximum(_unit(x1), 1) / _unit(x2)
    zero = np.zeros_like(x1)
    block = np.concatenate(
        [np.concatenate([x1, x2 * scale], axis=-1), np.concatenate([zero, x1], axis=-1)], axis=-2
    )
    n = x1.shape[-1]
    return matrix_exp(block)[..., :n, n:] / scale


# -- norms -------------------------------------------------------------------------------------------
def power_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float) -> Any:
    """sum(abs(x)**ord)**(1 / ord), of elements relative to the largest (for a negative ord, the smallest)."""
    if x.dtype.itemsize == 2:
        return power_norm(x.astype(np.float32), axis=axis, keepdims=keepdims, ord=ord).astype(x.dtype)
    size = np.abs(x)
    extreme = np.maximum if ord > 0 else np.minimum
    m = extreme.reduce(size, axis=axis, keepdims=True, initial=0 if ord > 0 else np.inf)
    scale = np.where((m > 0) & np.isfinite(m), m, np.ones((), m.dtype))
    with np.errstate(divide="ignore", over="ignore"):
        y = np.sum((size / scale) ** ord, axis=axis, keepdims=True) ** (1 / ord) * scale
    return y if keepdims else y.reshape(np.add.reduce(size, axis=axis).shape)[()]
