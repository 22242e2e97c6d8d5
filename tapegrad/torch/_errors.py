"""Errors as PyTorch's: their types, and the part of the text that scripts match on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tapegrad.errors import BatchedValueError, BoundsError, DeviceError, NotDifferentiable, SpentError, TapegradError
from tapegrad.registry import call

if TYPE_CHECKING:
    from collections.abc import Sequence

SPENT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)


def broadcast_text(a: Sequence[int], b: Sequence[int]) -> str | None:
    """What PyTorch says of two shapes that do not broadcast; None if they do."""
    n = max(len(a), len(b))
    pa, pb = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    for i in range(n - 1, -1, -1):
        if pa[i] != pb[i] and 1 not in (pa[i], pb[i]):
            return (
                f"The size of tensor a ({pa[i]}) must match the size of tensor b ({pb[i]}) at non-singleton dimension {i}"
            )
    return None


def _matmul_text(raws: Sequence[Any], rows: bool = False) -> str:
    a, b = (tuple(r.shape) for r in raws[:2])
    if rows:
        b = b[::-1]
    if len(a) == 1 and len(b) == 1:
        return f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same number of elements"
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    count = 1
    for n in a[:-1]:
        count *= n
    if len(a) > 2 and len(b) > 2:
        return f"Expected size for first two dimensions of batch2 tensor to be: {[a[0], a[-1]]} but got: {[b[0], b[-2]]}."
    right = b if len(b) > 1 else (*b, 1)
    return f"mat1 and mat2 shapes cannot be multiplied ({count}x{a[-1]} and {right[-2]}x{right[-1]})"


#: The kernels behind ops on bits.
_BITS = {"left_shift": "lshift_cpu", "right_shift": "rshift_cpu"}


def _no_bits(name: str, raws: Sequence[Any]) -> Exception | None:
    """What is said of numbers that have no bits to compute with."""
    from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of

    if name == "bitwise_invert":
        return TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    kinds = [r.dtype for r in raws if hasattr(r, "dtype") and r.dtype.kind not in "biu"]
    kernel = _BITS.get(name.removeprefix("bitwise_"), f"{name}_cpu")
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPES[dtype_of(kinds[0])]}'") if kinds else None


def failed(op: Any, error: Exception, raws: Sequence[Any]) -> Exception:
    """What is raised for an error inside an op."""
    if isinstance(error, ZeroDivisionError):
        return RuntimeError("ZeroDivisionError")
    made = call.failed(op, error, raws)
    if op.name.startswith("bitwise_") and isinstance(made, TypeError):
        made = _no_bits(op.name, raws) or made
    if not isinstance(made, TapegradError):
        return made
    if isinstance(made, DeviceError):
        from tapegrad.torch._devices import device_of

        there = list(dict.fromkeys(str(device_of(r)) for r in raws if hasattr(r, "shape")))
        return RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(there[:2])}! {made}"
        )
    shapes = [tuple(r.shape) for r in raws if hasattr(r, "shape")]
    if op.pointwise and len(shapes) == 2 and isinstance(made, ValueError):
        text = broadcast_text(*shapes)
        if text is not None:
            return RuntimeError(text)
    if op.name in ("matmul", "matmul_adjoint", "dense") and len(shapes) >= 2 and isinstance(made, ValueError):
        return RuntimeError(_matmul_text(raws, op.name != "matmul"))
    if op.name == "put" and (place := _PLACES.search(str(made))):
        value, picked = ([int(n) for n in re.findall(r"\d+", found)] for found in place.groups())
        return RuntimeError(f"shape mismatch: value tensor of shape {value} cannot be broadcast to indexing result of shape {picked}")
    if op.name == "put" and (place := _MASKED.search(str(made))):
        return RuntimeError(
            f"shape mismatch: value tensor of shape [{place[1]}] cannot be broadcast to indexing result of shape [{place[2]}]"
        )
    return translated(made)


_MASKED = re.compile(r"assign (\d+) input values to the (\d+) output values")
_PLACES = re.compile(r"\(([\d, ]*)\)\s+and requested shape \(([\d, ]*)\)")
_SHAPES = re.compile(r"could not be broadcast together with shapes \(([\d, ]*)\) \(([\d, ]*)\)")


class BatchedRuntimeError(BatchedValueError, RuntimeError):
    """A value that differs between the items of a batch was asked for as one: a RuntimeError there."""


def translated(error: Exception) -> Exception:
    """An error of tapegrad's as the builtin that PyTorch would raise, with the same text."""
    if isinstance(error, BatchedValueError):
        return error if isinstance(error, BatchedRuntimeError) else BatchedRuntimeError(f"vmap: {error}")
    if isinstance(error, SpentError):
        return RuntimeError(SPENT)
    if isinstance(error, NotDifferentiable):
        return NotImplementedError(str(error))
    if isinstance(error, BoundsError):
        text = str(error)
        place = re.search(r"axis (-?[0-9]+) is out of bounds for array of dimension ([0-9]+)", text)
        if place:
            d, n = int(place[1]), max(int(place[2]), 1)
            text = f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
        elif "axis" in text:
            text = f"Dimension out of range: {text}"
        return IndexError(text)
    shapes = _SHAPES.search(str(error))
    if shapes:  # inside an op that is made of others
        found = broadcast_text(*(tuple(map(int, re.findall(r"\d+", s))) for s in shapes.groups()))
        if found is not None:
            return RuntimeError(found)
    if isinstance(error, RuntimeError | TypeError | IndexError) or not isinstance(error, TapegradError):
        return error
    return RuntimeError(str(error))
