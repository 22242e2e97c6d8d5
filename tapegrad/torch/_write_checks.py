"""Whether a tensor may be written to: leaves that require grad, views whose base cannot follow, memory that elements share."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from tapegrad.core.node import WATCH, make_node
from tapegrad.torch._modes import INFERENCE
from tapegrad.torch._node_names import name_of
from tapegrad.torch._recorder import OWNERS, is_enabled, is_leaf_node, own, switch
from tapegrad.torch._tensor import OF_NUMPY, Tensor, wrap
from tapegrad.torch._views import View, laid_out, node_before, view_of

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
    info = view_of(x)
    node = own(x.node if info is None or not info.is_barred else node_before(x))
    if info is not None and (info.is_barred or not info.cut):
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
    if info.is_barred:
        refuse_view(x, info)
    if (is_leaf_node(base) if base is not None else node is not None and not info.cut):  # or of a view that is a leaf
        raise RuntimeError(_VIEW_OF_LEAF)


def refuse_view(x: Any, info: View, *, of_base: bool = False) -> NoReturn:
    """Raise, since a view, or its base, was written to, and what is between them cannot be computed anew."""
    node = own(node_before(x))
    if node is not None and node.op.name == "pick":
        node = node.p
    mode, above = info.untracked.split()[0] if info.untracked else "", " " in info.untracked
    if node is None and not (above and own(info.base.node) is not None):
        subject = f"A view was created in {'inference mode' if mode == 'inference_mode' else 'no_grad mode'}"
    else:
        by = re.sub("Backward[0-9]*$", "", name_of(node) if node is not None else _probed(info))
        subject = f"Output {info.several[1] if info.several else 0} of {by} is a view"
        if above:
            subject += " of a view which was created in no_grad mode"
    start = f"{subject} and {'its base or another view of its base has been' if of_base else 'is being'} modified inplace"
    if node is None or mode:
        start += " in normal mode" if mode == "inference_mode" else " with grad mode enabled"
    if mode:
        raise RuntimeError(
            f"{start}. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
            f"both the view and the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both "
            "outside (if you want the inplace to be tracked)."
        )
    if info.several:
        raise RuntimeError(
            f"{start}. This view is the output of a function that returns multiple views. Such functions do not allow the output views "
            "to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    raise RuntimeError(
        f"{start}. This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
        "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. "
        "This behavior is forbidden. You can fix this by cloning the output of the custom Function."
    )


def _probed(info: View) -> str:
    """The name of the op that a view was taken by, of one that has no node."""
    if not info.steps:
        return "View"
    t = wrap(np.empty(laid_out(info.base).shape))
    for run, _ in info.steps[:-1]:
        t = run(t)
    t.node = make_node(WATCH, None, None, None, None, OWNERS)
    was = switch(True)
    try:
        node = info.steps[-1][0](t).node
    finally:
        switch(was)
    return name_of(node)
