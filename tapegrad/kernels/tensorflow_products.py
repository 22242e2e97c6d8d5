"""TensorFlow kernels of linear algebra: products of matrices."""

from __future__ import annotations

from typing import Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.mismatch import no_product
from tapegrad.kernels.tensorflow_arithmetic import multiply
from tapegrad.kernels.tensorflow_array import TFArray, made, put_off
from tapegrad.kernels.tensorflow_basics import conj
from tapegrad.kernels.tensorflow_calls import BOOL, EAGER, F32, F64
from tapegrad.kernels.tensorflow_later import MatrixProduct, most_of
from tapegrad.kernels.tensorflow_promotion import able, converted, pair
from tapegrad.kernels.tensorflow_shape import expand_dims, matrix_adjoint, squeeze
from tapegrad.kernels.tensorflow_sums import sum

_MATMUL, _BATCHED = calls.op("MatMul"), calls.op("BatchMatMulV2")


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product."""
    if type(x1) is not TFArray or type(x2) is not TFArray or x1.dtype is not x2.dtype:
        a, b, d = pair(x1, x2)
        x1, x2 = made(a, d), made(b, d)
    a, b, d = x1.bare, x2.bare, x1.dtype
    problem = no_product(x1, x2)
    if problem:
        raise ValueError(problem)
    n1, n2 = x1.ndim, x2.ndim
    if d is not F32 and d is not F64:
        if d is BOOL:
            return matmul(converted(x1, calls.INT32), converted(x2, calls.INT32)) > 0
        w = able("MatMul", d)
        if w is not d:
            return converted(matmul(converted(x1, w), converted(x2, w)), d)
    if n1 == n2 == 2:
        return made(_MATMUL(a, b, transpose_a=False, transpose_b=False), d, (x1.shape[0], x2.shape[1]))
    if n1 == 1:
        x1 = expand_dims(x1, axis=0)
    if n2 == 1:
        x2 = expand_dims(x2, axis=1)
    y = made(_BATCHED(x1.bare, x2.bare, adj_x=False, adj_y=False), d)
    if n1 == 1:
        y = squeeze(y, -2)
    return squeeze(y, -1) if n2 == 1 else y


def adjoint_matmul(x1: Any, x2: Any) -> Any:
    """The conjugate transpose of the first matrix times the second; of small ones it is put off, for often it is a summand."""
    if type(x1) is TFArray and type(x2) is TFArray and (d := x1.dtype) is x2.dtype and (d is F32 or d is F64):
        (n, k), (_, m) = s1, s2 = x1.shape, x2.shape
        if (most := most_of(s1, s2, (k, m))) and n == s2[0] and type(x1.bare) is type(x2.bare) is EAGER:
            return put_off([MatrixProduct(x1.bare, x2.bare)], d, (k, m), most)
    a, b, d = pair(x1, x2)
    if d is F32 or d is F64:
        return made(_MATMUL(a, b, transpose_a=True, transpose_b=False), d)
    return matmul(matrix_adjoint(made(a, d)), made(b, d))


def matmul_adjoint(x1: Any, x2: Any) -> Any:
    """The first matrix times the conjugate transpose of the second."""
    a, b, d = pair(x1, x2)
    if d is F32 or d is F64:
        return made(_MATMUL(a, b, transpose_a=False, transpose_b=True), d)
    return matmul(made(a, d), matrix_adjoint(made(b, d)))


def inner(x1: Any, x2: Any) -> Any:
    """The sum of conj(x1) * x2 over the last axis."""
    a, b, d = pair(x1, x2)
    y = sum(multiply(conj(made(a, d)), made(b, d)), axis=-1)
    return converted(y, d)
