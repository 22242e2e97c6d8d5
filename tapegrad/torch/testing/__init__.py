"""Assertions about tensors, and tensors to test with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad.torch._tensor import Tensor

#: Relative and absolute tolerance by dtype; of others the values have to be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise an AssertionError unless two tensors, numbers, or sequences and mappings of them, are close."""
    if (rtol is None) != (atol is None):
        absent = "atol" if atol is None else "rtol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.")
    text = _compared(actual, expected, rtol, atol, equal_nan, check_device, check_dtype, "")
    if text is not None:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


#: Those of `assert_allclose`.
_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """What older programs call: `assert_close` for anything that makes tensors, of any dtypes, with wider tolerances."""
    from tapegrad.torch._construct import as_tensor

    a, b = (x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        found = [_OLD_TOLERANCES.get(str(x.dtype).removeprefix("torch."), (0.0, 0.0)) for x in (a, b)]
        rtol, atol = max(r for r, _ in found), max(t for _, t in found)
    assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None)


def _compared(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool, device: bool, dtype: bool, where: str) -> str | None:
    rest = rtol, atol, equal_nan, device, dtype
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(b.keys() - a.keys())}\n" \
                   f"Additional keys in the actual mapping: {sorted(a.keys() - b.keys())}"  # fmt: skip
        return next((t for k in b if (t := _compared(a[k], b[k], *rest, f"{where}[{k!r}]")) is not None), None)
    if isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        if len(a) != len(b):
            return f"The length of the sequences mismatch: {len(a)} != {len(b)}"
        pairs = enumerate(zip(a, b, strict=True))
        return next((t for i, (x, y) in pairs if (t := _compared(x, y, *rest, f"{where}[{i}]")) is not None), None)
    item = f"\n\nThe failure occurred for item {where}" if where else ""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return _numbers(a, b, rtol, atol, equal_nan, item)
    if a.array.shape != b.array.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.{item}"
    for name, wanted in (("device", device), ("dtype", dtype)):
        if wanted and getattr(a, name) != getattr(b, name):
            return f"The values for attribute '{name}' do not match: {getattr(a, name)} != {getattr(b, name)}.{item}"
    return _values(a, b, rtol, atol, equal_nan, item)


def _bounds(kinds: list[str], rtol: Any, atol: Any) -> tuple[float, float]:
    if rtol is not None:
        return rtol, atol
    found = [_TOLERANCES.get(k, (0.0, 0.0)) for k in kinds]
    return max(r for r, _ in found), max(a for _, a in found)


def _values(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool, item: str) -> str | None:
    kinds = [str(x.dtype).removeprefix("torch.") for x in (a, b)]
    rtol, atol = _bounds(kinds, rtol, atol)
    x, y = (np.asarray((v.detach().float() if v.array.dtype.kind == "V" else v.detach()).numpy()) for v in (a, b))
    with np.errstate(all="ignore"):
        wrong = ~np.isclose(x, y, rtol, atol, equal_nan)
        if not wrong.any():
            return None
        off = np.abs(x - y if x.dtype.kind != "b" else x ^ y)
        relative = off / np.abs(y)
        if x.dtype.kind in "biu":
            relative = relative.astype(np.float32)  # what PyTorch computes it in
    exact = rtol == atol == 0
    head = "Tensor-likes are not equal!" if exact else "Tensor-likes are not close!"
    if not x.ndim:
        head = head.replace("Tensor-likes", "Scalars")
        return (
            f"{head}\n\nExpected {b.item()} but got {a.item()}.\nAbsolute difference: {off.item()} (up to {atol} allowed)\n"
            f"Relative difference: {relative.item()} (up to {rtol} allowed){item}"
        )
    largest = [int(np.argmax(np.where(wrong, np.nan_to_num(d, nan=np.inf), -1))) for d in (off, relative)]
    places = [tuple(map(int, np.unravel_index(i, x.shape))) for i in largest]
    allowed = ["", ""] if exact else [f" (up to {atol} allowed)", f" (up to {rtol} allowed)"]
    return (
        f"{head}\n\nMismatched elements: {int(wrong.sum())} / {wrong.size} ({wrong.sum() / wrong.size:.1%})\n"
        f"Greatest absolute difference: {off[places[0]]} at index {places[0]}{allowed[0]}\n"
        f"Greatest relative difference: {relative[places[1]]} at index {places[1]}{allowed[1]}{item}"
    )


def _numbers(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool, item: str) -> str | None:
    if isinstance(a, Tensor) or isinstance(b, Tensor) or not all(isinstance(v, bool | int | float | complex | np.number) for v in (a, b)):
        if type(a) is type(b) and not isinstance(a, Tensor) and a == b:
            return None
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.{item}")
    real = any(isinstance(v, float | complex | np.inexact) for v in (a, b))
    rtol, atol = _bounds(["float64" if real else "int64"], rtol, atol)
    if bool(np.isclose(a, b, rtol, atol, equal_nan)):
        return None
    head = "Scalars are not close!" if real else "Scalars are not equal!"
    allowed = [f" (up to {bound} allowed)" if real else "" for bound in (atol, rtol)]
    relative = abs(a - b) / abs(b) if b else "inf"
    return (
        f"{head}\n\nExpected {b} but got {a}.\nAbsolute difference: {abs(a - b)}{allowed[0]}\n"
        f"Relative difference: {relative}{allowed[1]}{item}"
    )


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: Any = None,
    high: Any = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of random values, from `low` up to `high`, which default to -9 and 9 (0 and 9 or 10 for whole numbers)."""
    from tapegrad import torch

    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    if dtype.is_floating_point or dtype.is_complex:
        low, high = -9 if low is None else low, 9 if high is None else high
        wide = torch.rand(size, dtype=torch.float64, device=device) * (high - low) + low
        made = torch.complex(wide, torch.rand(size, dtype=torch.float64) * (high - low) + low) if dtype.is_complex else wide
        made = made.to(dtype)
    elif dtype == torch.bool:
        made = torch.randint(0, 2, size, device=device).to(dtype)
    else:
        low = (0 if dtype == torch.uint8 else -9) if low is None else low
        made = torch.randint(int(low), int(10 if high is None else high), size, device=device).to(dtype)
    if exclude_zero:
        made = torch.where(made == 0, torch.ones_like(made), made)
    return made.requires_grad_() if requires_grad else made


__all__ = ["assert_allclose", "assert_close", "make_tensor"]
