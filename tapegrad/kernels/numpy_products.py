"""NumPy kernels of linear algebra: transposes, products of matrices, sums of products by an equation.

Leading axes are batches.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels.mismatch import no_product

if TYPE_CHECKING:
    from collections.abc import Callable


def matrix_transpose(x: Any) -> Any:
    return x.mT  # the function of this name takes six times as long


def matrix_adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return x.mT.conj() if x.dtype.kind == "c" else x.mT


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product; NumPy's own (and its einsum) gives float32 for bfloat16."""
    if (dtype := x1.dtype) is x2.dtype and dtype.char in "fd":
        rank1, rank2 = x1.ndim, x2.ndim
        if rank1 == 2 == rank2:
            n, k = x1.shape
            depth, m = x2.shape
            if k == depth != 1 and n * m <= 8192:
                return x1.dot(x2)  # measured for 16x10 and 10x10: 0.5 us, `matmul` takes 1.0; it fills the result with zeros first
        elif 0 < rank1 <= 2 >= rank2 > 0 and x1.shape[-1] == x2.shape[0]:
            return x1.dot(x2)  # 100x100 and 100: 0.9 us, `matmul` 1.4
    try:
        if x1.ndim < 2 or x2.ndim < 2:
            y = np.matmul(x1, x2)
        elif x1.shape[-1] == 1 == x2.shape[-2]:
            y = _outer(x1, x2)
        else:
            y = np.matmul(x1, x2.copy() if _is_better_turned(x1, x2) else x2)
    except ValueError as error:
        raise ValueError(no_product(x1, x2) or str(error)) from error
    return y if y.dtype is x1.dtype else y.astype(np.result_type(x1, x2), copy=False)


def _is_better_turned(x1: Any, x2: Any) -> bool:
    """Whether the second matrix alone is transposed in memory, for which OpenBLAS is slow, and of a size for which a copy pays.

    Measured in float32 for eight products of 64x64 matrices: 60 us, 11 more for a copy and 38 then.
    """
    if not (64 <= x1.shape[-2] <= 128 and 64 <= x2.shape[-1] <= 128 >= x2.shape[-2]):
        return False
    size: int = x2.itemsize
    return x1.strides[-1] == size == x2.strides[-2] != x2.strides[-1] and x2.dtype.char in "fd"


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
    if x1.ndim == 2 == x2.ndim and (dtype := x1.dtype) is x2.dtype and dtype.char in "fd":
        n, k = x1.shape
        m, depth = x2.shape
        if k == depth != 1:
            if n * m <= 1024:
                return x1.dot(x2.T)  # measured for 16x256 and 64x256 in float32: 5.4 us, turned 6.1; twice as many rows 29, turned 28
            if 4 <= n <= 64 and m * k >= (1 << 13 if n <= 32 else 1 << 14):
                # OpenBLAS is up to twice as fast with the larger matrix first and nothing transposed (measured: 84 us against
                # 156 for 16x784 and 256x784 in float32; 6.4 against 8.2 for 16x64 and 128x64)
                return np.ascontiguousarray(matmul(x2, x1.T).T)
    return matmul(x1, matrix_adjoint(x2))


def inner(x1: Any, x2: Any) -> Any:
    """The sum of conj(x1) * x2 over the last axis."""
    y = np.vecdot(x1, x2)
    return y if y.dtype is x1.dtype else y.astype(np.result_type(x1, x2), copy=False)


def contract(arrays: Any, equation: str) -> Any:
    """The sum of products that an equation says: pairs of arrays at a time, each as one product of matrices."""
    arrays = list(arrays)
    dtype = np.result_type(*arrays)
    if dtype.kind == "V":  # einsum refuses some equations in bfloat16
        arrays = [a.astype(np.float32) for a in arrays]
    arrays, terms, output = down_to_two(arrays, equation, lambda a, b, ta, tb, kept: _pair(a, b, _plan(ta, tb, kept)))
    if len(arrays) == 1:
        y: Any = np.einsum(f"{terms[0]}->{output}", arrays[0])
    else:
        y = _pair(arrays[0], arrays[1], _plan(*terms, output))
    return y if y.dtype is dtype else y.astype(dtype, copy=False)


def down_to_two(arrays: list[Any], equation: str, product: Callable[..., Any]) -> tuple[list[Any], list[str], str]:
    """At most two arrays with the same sum of products, their letters, and those of the result.

    `product(a, b, letters of a, of b, of the result)` contracts a pair of them.
    """
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    if len(arrays) > 2:
        for i, j in _path_of(equation, tuple(a.shape for a in arrays)):
            b, a = (arrays.pop(k) for k in (j, i))
            tb, ta = (terms.pop(k) for k in (j, i))
            needed = set(output).union(*terms)
            kept = "".join(k for k in dict.fromkeys(ta + tb) if k in needed)
            arrays.append(product(a, b, ta, tb, kept))
            terms.append(kept)
    return arrays, terms, output


@functools.lru_cache(maxsize=256)
def _path_of(equation: str, shapes: tuple[tuple[int, ...], ...]) -> list[tuple[int, int]]:
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
