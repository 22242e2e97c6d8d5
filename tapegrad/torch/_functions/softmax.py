"""Softmax and its logarithm: functions, methods and parts of `nn.functional`."""

from __future__ import annotations

from typing import Any

import tapegrad.ops.softmax  # noqa: F401  declares its ops
from tapegrad.torch._dtypes import numpy_of
from tapegrad.torch._functions._build import define
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._warnings import warn


def along(op: Any, x: Any, dim: Any, dtype: Any) -> Any:
    """A softmax along one axis, computed in a dtype if one is given."""
    if dtype is not None:
        x = S.astype(x, numpy_of(dtype))
    kind = x.array.dtype.kind
    if kind not in "fV":
        from tapegrad.torch._dtypes import SCALAR_TYPES

        name = "log_softmax" if "log" in op.__name__ else "softmax"
        raise RuntimeError(f'"{name}_lastdim_kernel_impl" not implemented for \'{SCALAR_TYPES[x.dtype]}\'')
    n = len(x.array.shape)
    if not n:
        dimension(dim, 0)
        return S.reshape(op(S.reshape(x, (1,)), axis=0), ())
    return op(x, axis=dimension(dim, n))


def implicit(name: str, n: int) -> int:
    """The axis that is meant where none is given, as it was in the past."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if n in (0, 1, 3) else 1


_NAMES = {"along": along}
define(
    {
        "softmax(input, dim, dtype=None)": "along(S.softmax, input, dim, dtype)",
        "log_softmax(input, dim, dtype=None)": "along(S.log_softmax, input, dim, dtype)",
    },
    _NAMES,
)
