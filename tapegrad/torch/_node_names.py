"""What PyTorch calls the nodes of a graph."""

from __future__ import annotations

from typing import Any

from tapegrad.core.backward import Hooked
from tapegrad.core.node import WATCH
from tapegrad.registry.rules import Variant

_NAMES = {
    "multiply": "Mul", "subtract": "Sub", "divide": "Div", "negative": "Neg", "reciprocal": "Reciprocal", "square": "Mul",
    "sin": "Sin", "exp": "Exp", "at_least": "Clamp", "at_most": "Clamp", "minimum": "Minimum", "maximum": "Maximum",
    "reshape": "View", "permute_dims": "Permute", "matrix_transpose": "Transpose", "expand_dims": "Unsqueeze",
    "broadcast_to": "Expand", "astype": "ToCopy", "cast": "ToCopy", "put": "CopySlices", "concat": "Cat", "cumulative_sum": "Cumsum",
    "cumulative_prod": "Cumprod", "take_along_axis": "Gather", "getitem": "Index", "take": "IndexSelect", "abs": "Abs",
    "conv": "Convolution", "dense": "Addmm", "sigmoid": "Sigmoid", "expit": "Sigmoid", "norm2": "LinalgVectorNorm",
    "log_softmax": "LogSoftmax", "softmax": "Softmax", "logaddexp": "Logaddexp", "matmul_adjoint": "Mm", "adjoint_matmul": "Mm",
    "contract": "Bmm", "expm1": "Expm1", "log1p": "Log1P", "log2": "Log2", "log10": "Log10", "mul_zero": "Mul",
    "var": "Var", "ieee_sqrt": "Sqrt", "std": "Std", "where": "Where", "stack": "Stack", "max": "Max", "min": "Min",
}  # fmt: skip


#: Recorded forms of ops that stand for a function of PyTorch's: each the same form again, and its name.
_TAGS: dict[Any, str] = {}
_TAGGED: dict[tuple[Any, str], Any] = {}


def tag(y: Any, name: str) -> Any:
    """Let the node that made a tensor be known under PyTorch's name for what was called."""
    node = y.node
    if node is not None:
        key = (node.op, name)
        made = _TAGGED.get(key)
        if made is None:
            if type(node.op) is not Variant or node.op in _TAGS:
                return y
            op: Any = node.op
            made = _TAGGED[key] = Variant(op.op, op.watched, op.wide, op.general)
            _TAGS[made] = name
        node.op = made
    return y


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def name_of(node: Any) -> str:
    """The name of a node, as PyTorch has it for the op that made it."""
    op = node.op
    while type(op) is Hooked:
        op = op.op
    if op is WATCH:
        return "torch::autograd::AccumulateGrad"
    found = _TAGS.get(op) or getattr(op, "backward_name", None)
    if found is not None:
        return str(found)
    name = op.name
    if name == "matmul":
        return f"{_matmul(node)}Backward0"
    if name == "pow":
        return "PowBackward0" if node.q is None else "PowBackward1"
    if name == "getitem":
        return f"{_getitem(node)}Backward0"
    if name in ("sum", "max", "min", "mean"):
        return f"{_camel(name)}Backward{_over_axes(op, node)}"
    if name in ("softmax", "log_softmax"):
        return f"{_NAMES[name]}Backward0"
    return f"{_NAMES.get(name) or _camel(name)}Backward0"


def _saved(op: Any, node: Any, name: str) -> Any:
    saved = getattr(op, "saved", ())
    if name not in saved or node.s is None:
        return None
    i = saved.index(name)
    return node.s[i] if op.general or len(saved) > 2 else (node.s, node.t)[i]


def _over_axes(op: Any, node: Any) -> int:
    return 0 if _saved(op, node, "axis") is None else 1


def _getitem(node: Any) -> str:
    op = node.op.op if type(node.op) is Hooked else node.op
    index = _saved(op, node, "index")
    items = index if type(index) is tuple else (index,)
    if any(type(k) is not int and type(k) is not slice and k is not None and k is not Ellipsis for k in items):
        return "Index"
    if any(type(k) is int for k in items):
        return "Select"
    return "Slice"


def _matmul(node: Any) -> str:
    ranks = [len(v.shape) for v in (node.s, node.t) if hasattr(v, "shape")]
    if not ranks:
        return "Mm"
    high, low = max(ranks), min(ranks)
    if high <= 2:
        return {(2, 2): "Mm", (2, 1): "Mv", (1, 1): "Dot"}.get((high, low), "Mm")
    return "Bmm" if low > 2 else "UnsafeView"
