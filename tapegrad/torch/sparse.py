"""Sparse tensors: `torch.sparse`."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._dtypes import NAMES
from tapegrad.torch._functions.convert import LEGACY
from tapegrad.torch._sparse import mm, sparse_coo_tensor

__all__ = ["mm", "sum", *LEGACY]  # noqa: PLE0604


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over axes, as an ordinary tensor."""
    found = input.to_dense()
    return found.sum(dtype=dtype) if dim is None else found.sum(dim, dtype=dtype)


def _legacy(name: str) -> Any:
    def __new__(cls: Any, indices: Any, values: Any, size: Any = None) -> Any:
        return sparse_coo_tensor(indices, values, size, dtype=NAMES[LEGACY[name]])

    return type(name, (), {"__new__": __new__, "__module__": "torch.sparse"})


globals().update({name: _legacy(name) for name in LEGACY})


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.sparse", name, globals())
