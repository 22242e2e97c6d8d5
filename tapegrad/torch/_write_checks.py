"""Whether a tensor may be written to: leaves that require grad, views whose base cannot follow, memory that elements share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._modes import INFERENCE
from tapegrad.torch._recorder import is_enabled, is_leaf_node, own
from tapegrad.torch._tensor import OF_NUMPY, Tensor
from tapegrad.torch._views import View, laid_out, view_of

_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def _overlaps(raw: Any) -> bool:
    return raw.size > 1 and any(s == 0 and n > 1 for s, n in zip(raw.strides, raw.shape, strict=True))


def check(x: Any, *, as_view: bool = False, part: Any = None, constant: bool = False) -> None:
    """Refuse to write where a graph forbids it.

    `part` is what of the memory is written to, if not all; `constant`, whether all elements will be one number.
    """
    raw = x.array if part is None else part
    if type(raw) is not np.ndarray and not constant and type(raw) not in OF_NUMPY and view_of(x) is not None:
        raw = laid_out(x)
    if type(raw) is np.ndarray and 0 in raw.strides and not constant and _overlaps(raw):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if type(x) is not Tensor and x._is_inference and not INFERENCE.on:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
            "before doing inplace update. See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if not is_enabled():
        return
    node = own(x.node)
    info = view_of(x)
    if info is not None and not (info.cut and info.custom is None and info.several is None):
        check_view(x, info, node)
    elif node is not None and is_leaf_node(node):
        raise RuntimeError(
            _VIEW_OF_LEAF if as_view else "a leaf Variable that requires grad is being used in an in-place operation."
        )


def check_view(x: Any, info: View, node: Any, value: Any = None) -> None:
    """Refuse to write into a view whose base cannot follow, where the base, the view or the `value` has a history."""
    base = None if info.cut else own(info.base.node)
    if base is None and node is None and value is None:
        return
    if info.several is not None:
        raise RuntimeError(
            f"Output {info.several[1]} of {info.several[0]} is a view and is being modified inplace. This view is the output of a function "
            "that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    if info.custom is not None:
        raise RuntimeError(
            f"Output 0 of {info.custom} is a view and is being modified inplace. This view was created inside a custom Function (or "
            "because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom backward "
            "associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by "
            "cloning the output of the custom Function."
        )
    if info.untracked:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
            "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
            "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the "
            "inplace to be tracked)."
        )
    if base is not None and is_leaf_node(base):
        raise RuntimeError(_VIEW_OF_LEAF)
