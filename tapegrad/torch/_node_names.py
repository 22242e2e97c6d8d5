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
    "broadcast_to": "Expand", "astype": "ToCopy", "cast": "ToCopy", "concat": "Cat", "cumulative_sum": "Cumsum",
    "cumulative_prod": "Cumprod", "take_along_axis": "Gather", "getitem": "Index", "take": "IndexSelect", "abs": "Abs",
    "conv": "Convolution", "dense": "Addmm", "sigmoid": "Sigmoid", "expit": "Sigmoid", "norm2": "LinalgVectorNorm",
    "log_softmax": "LogSoftmax", "softmax": "Softmax", "logaddexp": "Logaddexp", "matmul_adjoint": "Mm", "adjoint_matmul": "Mm",
    "contract": "Bmm", "expm1": "Expm1", "log1p": "Log1P", "log2": "Log2", "log10": "Log10", "mul_zero": "Mul",
    "var": "Var", "ieee_sqrt": "Sqrt", "std": "Std", "where": "Where", "stack": "Stack", "det": "LinalgDet", "inv": "LinalgInvEx",
    "logsigmoid": "LogSigmoid", "prelu": "PreluKernel", "max": "Max", "min": "Min",
}  # fmt: skip


#: Recorded forms of ops that stand for a function of PyTorch's: each the same form again, with the form that it is made from,
#: its name, and how far back the nodes of that function begin.
_TAGS: dict[Any, tuple[Any, str, int]] = {}
_TAGGED: dict[tuple[Any, str, int], Any] = {}


def tag(y: Any, name: str, span: int = 0) -> Any:
    """Let the node that made a tensor be known under PyTorch's name for what was called.

    `span` is how many sequence numbers ago that function began: what it has recorded since is out of sight.
    """
    node = y.node
    if node is not None:
        form = node.op
        if hasattr(form, "unpack"):  # what it saved went through hooks
            form.op = _tagged(form.op, name, span)
        else:
            node.op = _tagged(form, name, span)
    return y


def _tagged(form: Any, name: str, span: int) -> Any:
    if form in _TAGS:
        form = _TAGS[form][0]
    key = (form, name, span)
    made = _TAGGED.get(key)
    if made is None:
        if type(form) is not Variant:
            return form
        if len(_TAGGED) > 4096:  # as many as a program with several threads may need: the numbers are common to all
            span = 0
        made = _TAGGED[key] = Variant(form.op, form.watched, form.wide, form.general)
        _TAGS[made] = form, name, span
    return made


def span_of(op: Any) -> int:
    """How many sequence numbers before its node the function began that a form of an op stands for; 0 for an op alone."""
    found = _TAGS.get(op)
    return getattr(op, "span", 0) if found is None else found[2]


def is_tagged(op: Any) -> bool:
    """Whether a form of an op stands for a function of PyTorch's."""
    return op in _TAGS


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def name_of(node: Any) -> str:
    """The name of a node, as PyTorch has it for the op that made it."""
    op = node.op
    while type(op) is Hooked:
        op = op.op
    if op is WATCH:
        return "torch::autograd::AccumulateGrad"
    tagged = _TAGS.get(op)
    if tagged is not None:
        return tagged[1]
    found = getattr(op, "backward_name", None)
    if found is not None:
        return str(found)
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op, node)
    return f"{_NAMES.get(op.name) or _camel(op.name)}Backward0"


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
    if None in items and all(k is None or k is Ellipsis or k == slice(None) for k in items):
        return "Unsqueeze"
    return "Slice"


def _matmul(node: Any) -> str:
    ranks = [len(v.shape) for v in (node.s, node.t) if hasattr(v, "shape")]
    if not ranks:
        return "Mm"
    high, low = max(ranks), min(ranks)
    if high <= 2:
        return {(2, 2): "Mm", (2, 1): "Mv", (1, 1): "Dot"}.get((high, low), "Mm")
    return "Bmm" if low > 2 else "UnsafeView"


def _reduced(op: Any, node: Any) -> str:
    return f"{_camel(op.name)}Backward{_over_axes(op, node)}"


def _extreme(op: Any, node: Any) -> str:
    return f"{_camel(op.name)}Backward{1 - _over_axes(op, node)}"


#: What nodes of some ops are called depends on their arguments.
_SPECIAL: dict[str, Any] = {
    "matmul": lambda op, node: f"{_matmul(node)}Backward0",
    "pow": lambda op, node: "PowBackward0" if node.q is None else "PowBackward1",
    "getitem": lambda op, node: f"{_getitem(node)}Backward0",
    "put": lambda op, node: "CopySlices",
    "max": _extreme, "min": _extreme, "sum": _reduced, "mean": _reduced,
}  # fmt: skip
