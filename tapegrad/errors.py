"""The errors of tapegrad: a class for each mistake, under one base and the fitting builtin."""

from __future__ import annotations

from numpy.linalg import LinAlgError as _LinAlgError


class TapegradError(Exception):
    """Base of all errors that tapegrad raises on its own account."""


class ArgumentError(TapegradError, TypeError):
    """An argument is of a kind that the op does not take, for example a list where an array is meant.

    Before: ``tg.exp([1.0, 2.0])``.  After: ``tg.exp(tg.asarray([1.0, 2.0]))``.
    """


class DeviceError(ArgumentError):
    """A device that is not there, or arrays on several where one is needed.

    Before: ``x + y`` with ``y`` on another device.  After: ``x + y.to(x.device)``.
    """


class ShapeError(TapegradError, ValueError):
    """Shapes do not fit together, or an axis does not exist."""


class DTypeError(TapegradError, TypeError):
    """A dtype that the op does not take, for example bits of a float."""


class BoundsError(ShapeError, IndexError):
    """An index or an axis is out of range."""


class RangeError(DTypeError, OverflowError):
    """A Python integer is more than the array's dtype can hold."""


class MatrixError(TapegradError, _LinAlgError):
    """A matrix is singular, or not positive definite, or an algorithm does not converge for it."""


class ResourceError(TapegradError, MemoryError):
    """There is no room for an array on its device: it is larger than what is left, or than any memory.

    Before: one batch of all.  After: several, or `tapegrad.checkpoint`, which keeps fewer intermediate values.
    """


class KernelError(TapegradError, RuntimeError):
    """A kernel failed for a reason of its own: that of the library is chained."""


class GradientError(TapegradError, RuntimeError):
    """A derivative cannot be had as it was asked for."""


class SpentError(GradientError):
    """A derivative was asked of a tape that has let go of its values.

    Before: two calls of ``tape.gradient`` on one tape.  After: ``GradientTape(persistent=True)``.
    """


class NotDifferentiable(GradientError, NotImplementedError):
    """The op has a derivative in mathematics, but none is implemented for this argument."""


class BatchedValueError(TapegradError, TypeError):
    """A value that differs between the items of a `vmap` was asked for as one: by an `if`, an `int(x)`, or `x.numpy()`.

    Before: ``x if x > 0 else 2 * x``.  After: ``tg.where(x > 0, x, 2 * x)``.
    """


class RandomnessError(TapegradError, RuntimeError):
    """A random function was called inside a `vmap` that does not say whether its items share the numbers.

    Before: ``tg.vmap(f)``.  After: ``tg.vmap(f, randomness="different")``.
    """


class CompilationError(TapegradError, RuntimeError):
    """A compiled function can't be run: XLA lacks an op of it, or memory is exhausted."""


class SymbolicValueError(TapegradError, TypeError):
    """The value of a tensor was asked for while a function is traced: by an `if`, a `float(x)`, or `x.numpy()`.

    Before: ``x if x > 0 else 2 * x``.  After: ``tg.where(x > 0, x, 2 * x)``.
    """


class OpenLengthError(SymbolicValueError):
    """A length that only the running graph knows was asked for as a Python integer: by a `range`, or a loop over `x`.

    Before: ``sum(x[i] for i in range(x.shape[0]))``.  After: ``tg.sum(x, axis=0)``.
    """


class EscapedError(TapegradError, TypeError):
    """A tensor from inside a compiled function, which stands for other values in each call, was used outside of it.

    Before: ``kept.append(y)`` inside.  After: ``return y``, or assign it to a Variable.
    """


class DeclarationError(TapegradError, TypeError):
    """An op is declared with an unknown name, without a derivative, or without laws."""


class DetachedError(TapegradError, TypeError):
    """Something outside tapegrad asked for the bare value of a recorded tensor, and would lose its history."""
