"""Operators that Fourier's transform makes diagonal, in one to three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import cast, convert
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.linear_operators.base import LinearOperator
from tapegrad.tf.linear_operators.plain import _kept
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class _Circulant(LinearOperator):
    """F^H diag(spectrum) F, of the transform over the last `block_depth` axes of the spectrum."""

    block_depth = 1

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = np.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._spectrum = _kept(spectrum)
        if is_square is False:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        if len(self._spectrum.shape) < self.block_depth:
            raise ValueError(f"Argument `spectrum` must have at least {self.block_depth} dimensions. Found: {self._spectrum}.")
        if not as_dtype(self._spectrum.dtype).is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name or type(self).__name__,
            {"spectrum": spectrum, "input_output_dtype": input_output_dtype},
        )  # fmt: skip

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, in the order of the transform."""
        return self._spectrum

    @property
    def block_shape(self) -> Any:
        """The lengths of the axes that are transformed."""
        from tapegrad.tf.shapes import TensorShape

        return TensorShape(self._spectrum.shape[-self.block_depth :])

    def _shape(self) -> tuple[int, ...]:
        whole = tuple(self._spectrum.shape)
        n = int(np.prod(whole[-self.block_depth :]))
        return (*whole[: -self.block_depth], n, n)

    def _wide(self) -> Any:
        return np.result_type(self._dtype.numpy, np.complex64)

    def _filtered(self, x: Tensor, change: Any) -> Tensor:
        """The transform of columns, changed by the spectrum, and back."""
        blocks = tuple(int(n) for n in self._spectrum.shape[-self.block_depth :])
        *batch, n, columns = x.array.shape
        turned = S.reshape(S.matrix_transpose(cast(x, self._wide())), (*batch, columns, *blocks))
        axes = tuple(range(-self.block_depth, 0))
        spectrum = cast(convert(self._spectrum), self._wide())
        spectrum = S.expand_dims(spectrum, axis=-self.block_depth - 1)
        y = S.ifftn(change(S.fftn(turned, axes=axes), spectrum), axes=axes)
        *batch, _ = y.array.shape[: -self.block_depth]
        y = S.matrix_transpose(S.reshape(y, (*batch, columns, n)))
        return cast(y if self._dtype.is_complex else S.real(y), numpy_dtype(self._dtype))

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._filtered(x, lambda v, s: S.multiply(v, S.conj(s) if adjoint else s))

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._filtered(rhs, lambda v, s: S.divide(v, S.conj(s) if adjoint else s))

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The inverse transform of the spectrum: the first column, as a block."""
        wide = cast(convert(self._spectrum), self._wide())
        y = S.ifftn(wide, axes=tuple(range(-self.block_depth, 0)))
        return cast(y if self._dtype.is_complex else S.real(y), numpy_dtype(self._dtype))

    def _eigenvalues(self) -> Tensor:
        return S.reshape(convert(self._spectrum), self._shape()[:-1])

    def _determinant(self) -> Tensor:
        product = S.prod(self._eigenvalues(), axis=-1)
        complex_too = product.array.dtype.kind == "c" and not self._dtype.is_complex
        return cast(S.real(product) if complex_too else product, numpy_dtype(self._dtype))

    def _log_abs_determinant(self) -> Tensor:
        return cast(S.sum(S.log(S.abs(self._eigenvalues())), axis=-1), numpy_dtype(self._dtype))

    def _diag_part(self) -> Tensor:
        mean = S.mean(self._eigenvalues(), axis=-1)
        mean = S.real(mean) if mean.array.dtype.kind == "c" and not self._dtype.is_complex else mean
        return S.broadcast_to(cast(mean, numpy_dtype(self._dtype))[..., None], self._shape()[:-1])

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The spectrum, flat, in the order of the transform, of an operator that is known to be self-adjoint."""
        return self._eigenvalues() if self.is_self_adjoint else super().eigvals()  # which refuses


class LinearOperatorCirculant(_Circulant):
    """Circular convolution, by its spectrum ``(..., n)``."""


class LinearOperatorCirculant2D(_Circulant):
    """Circular convolution in two dimensions, of vectors that are images laid flat; spectrum ``(..., n0, n1)``."""

    block_depth = 2


class LinearOperatorCirculant3D(_Circulant):
    """Circular convolution in three dimensions; spectrum ``(..., n0, n1, n2)``."""

    block_depth = 3
