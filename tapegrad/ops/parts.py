"""Parts of numbers: magnitude and sign, the parts of complex ones, and other dtypes."""

from __future__ import annotations

from typing import Any

from tapegrad.registry import composite, constant, linear, primitive


@primitive(pointwise=True, kinks=(0.0,), laws=lambda draw: (draw.array("n", "m"),))
def abs(xp: Any, x: Any, /) -> Any:
    """The absolute value of each element; the derivative at 0 is 0."""
    return xp.abs(x)


abs.pullback(x=lambda F, g, x: g * F.sign(x))
abs.guard(x=lambda F, g, x: F.mul_zero(g, F.sign(x)))
abs.pushforward(x=lambda F, t, x: F.real(t * F.conj(F.sign(x))))


@primitive(pointwise=True, kinks=(0.0,), laws=lambda draw: (draw.array("n", "m"),))
def sign(xp: Any, x: Any, /) -> Any:
    """-1, 0 or 1 for a real element, x / abs(x) for a complex one; at 0 it is 0, and so is the derivative."""
    return xp.sign(x)


def _sign_change(F: Any, t: Any, x: Any, y: Any) -> Any:
    """The change of a complex sign turns it: along y the tangent has no effect."""
    if x.dtype.kind != "c":
        return 0 * t
    return F.mul_zero((t - y * F.real(t * F.conj(y))), F.where(x == 0, F.abs(x), 1 / F.abs(x)))


sign.pullback(x=_sign_change)
sign.pushforward(x=_sign_change)


@linear(pointwise=True, laws=lambda draw: (draw.array("n", 3),))
def conj(xp: Any, x: Any, /) -> Any:
    """The complex conjugate of each element; a real array as it is."""
    return xp.conj(x)


conj.adjoint(x=lambda F, g: F.conj(g))


@linear(pointwise=True, laws=lambda draw: (draw.array("n", 3, complex=True),))
def real(xp: Any, x: Any, /) -> Any:
    """The real part of each element."""
    return xp.real(x)


real.adjoint(x=lambda F, g, x: F.cast(g, x.dtype))


@linear(pointwise=True, laws=lambda draw: (draw.array("n", 3, complex=True),))
def imag(xp: Any, x: Any, /) -> Any:
    """The imaginary part of each element."""
    return xp.imag(x)


imag.adjoint(x=lambda F, g, x: F.cast(g * 1j, x.dtype))


@linear(pointwise=True, laws=lambda draw: (draw.array("n", 3), {"dtype": draw.dtype()}), public=False)
def cast(xp: Any, x: Any, /, dtype: Any) -> Any:
    """The array in another floating dtype; from complex to real it takes the real part."""
    return xp.cast(x, dtype)


cast.adjoint(x=lambda F, g, x: F.cast(g, x.dtype))


@constant(pointwise=True, laws=lambda draw: (draw.array("n", 3), {"dtype": draw.dtype("int32", "int64", "bool")}), public=False)
def convert(xp: Any, x: Any, /, dtype: Any) -> Any:
    """The array in an integer or boolean dtype, or from one: a step function, without a derivative."""
    return xp.astype(x, dtype)


@composite(laws=lambda draw: (draw.array("n", 3), {"dtype": draw.dtype()}))
def astype(F: Any, x: Any, /, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    """The array in another dtype.  A cast to integers or booleans has no derivative; complex to real is refused."""
    from tapegrad.dtypes import as_dtype, is_inexact
    from tapegrad.registry.places import is_at, place, place_of

    if device is not None and not is_at(raw := getattr(x, "array", x), target := place(device)):
        x = F.transfer(x, target.name, place_of(raw))
    dtype = as_dtype(dtype)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        from tapegrad.errors import DTypeError

        raise DTypeError(f"astype(x, {dtype}): x is {x.dtype}; take real(x) or imag(x), or abs(x), first")
    if is_inexact(dtype) and is_inexact(x.dtype):
        return F.cast(x, dtype) if copy or x.dtype != dtype else x
    return F.convert(x, dtype)


@linear(pointwise=True, laws=lambda draw: (draw.array("n", 3), {"target": "cpu", "source": "cpu"}), public=False)
def transfer(xp: Any, x: Any, /, target: str, source: str) -> Any:
    """The array at the place `target`, from the place `source`, to which its cotangent goes back.

    A place is a device's name: "cpu" for NumPy's kernels, "GPU:0" and the like for TensorFlow's, "" where it may decide.
    """
    from tapegrad.registry.places import at, place

    return at(x, place(target))


transfer.adjoint(x=lambda F, g, target, source: F.transfer(g, source, target))
