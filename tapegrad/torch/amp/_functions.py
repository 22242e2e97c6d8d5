"""What autocast does with functions of PyTorch's style: products in the shorter dtype, losses in float32.

Nothing is asked of them while no autocast is in force: entering one puts code that casts in the place of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._tensor import STYLE

#: Functions whose arguments are cast to the shorter dtype, by module; those of "" are methods of tensors too.
_SHORT = {
    "": "mm bmm matmul addmm addbmm baddbmm einsum chain_matmul tensordot",
    "nn.functional": """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear prelu
        scaled_dot_product_attention""",
    "linalg": "multi_dot vecdot matmul",
}
#: Functions whose arguments in a shorter dtype are cast to float32.
_FULL = {
    "": "prod cdist trace quantile nanquantile cholesky",
    "nn.functional": """nll_loss cross_entropy mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
        binary_cross_entropy_with_logits kl_div cosine_embedding_loss hinge_embedding_loss margin_ranking_loss soft_margin_loss
        triplet_margin_loss multilabel_margin_loss multi_margin_loss poisson_nll_loss ctc_loss avg_pool3d""",
    "linalg": "inv solve qr svd svdvals eig eigh eigvals eigvalsh cholesky lstsq matrix_rank pinv matrix_power",
}
#: Functions that are computed as they are, though they are products.
_KEPT = {"": "mv dot"}
_HALVES = ("float16", "bfloat16")
_FLOAT32 = np.dtype(np.float32)


def lengthened(x: Any) -> Any:
    """An argument, in float32 if it is shorter."""
    if isinstance(x, list | tuple) and any(isinstance(v, Core) for v in x):
        return [lengthened(v) for v in x]
    return STYLE.astype(x, _FLOAT32) if isinstance(x, Core) and x.array.dtype.name in _HALVES else x


def _found() -> dict[FunctionType, str]:
    """The functions, each with what is done with its arguments."""
    from importlib import import_module

    from tapegrad.torch._tensor import Tensor

    found = {}
    for kind, table in (("short", _SHORT), ("full", _FULL), ("kept", _KEPT)):
        for part, names in table.items():
            module = import_module(f"tapegrad.torch.{part}".rstrip("."))
            for name in names.split():
                owners = (module, Tensor) if not part else (module,)
                for f in (inspect.unwrap(getattr(owner, name)) for owner in owners if hasattr(owner, name)):
                    if isinstance(f, FunctionType) and not f.__closure__:
                        found[f] = kind
    return found


class Swapped:
    """A function that has code which casts while autocast is in force."""

    def __init__(self, function: FunctionType, key: str, call: Callable[..., Any]) -> None:
        settle = function.__globals__.get("_settle")
        if settle is not None:
            settle()
        self.function = function
        self.plain = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        self.plain.__kwdefaults__ = function.__kwdefaults__
        function.__globals__["_autocast_call"] = call
        self.code = _code(key)

    def swap(self, on: bool) -> None:
        """Put in the code that casts, or the function's own."""
        f, plain = self.function, self.plain
        f.__code__ = self.code if on else plain.__code__
        f.__defaults__, f.__kwdefaults__ = (None, None) if on else (plain.__defaults__, plain.__kwdefaults__)


def _code(key: str) -> CodeType:
    space: dict[str, Any] = {}
    exec(f"def casting(*args, **words):\n    return _autocast_call({key!r}, args, words)", space)
    code: CodeType = space["casting"].__code__
    return code


class Table:
    """All functions that autocast changes, found when it is first entered."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.rows: dict[str, tuple[Swapped, str]] = {}

    def swap(self, on: bool) -> None:
        """Put in the code that casts, or the functions' own."""
        if not self.rows:
            for i, (f, kind) in enumerate(_found().items()):
                self.rows[str(i)] = Swapped(f, str(i), self.call), kind
        for row, _ in self.rows.values():
            row.swap(on)


