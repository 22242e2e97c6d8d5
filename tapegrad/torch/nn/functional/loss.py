"""Losses."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import tapegrad.nn  # noqa: F401  declares its ops
from tapegrad.kernels.batched import Batched, values_of
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap

__all__: list[str] = []


def legacy(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction, or what the two older flags say."""
    if size_average is None and reduce is None:
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    found = "mean" if size_average and reduce else "sum" if reduce else "none"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=4
    )
    return found


def checked(reduction: str) -> str:
    """A reduction that there is."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """The losses, their sum or their mean."""
    if reduction == "none":
        return loss
    checked(reduction)
    if reduction == "sum":
        return S.sum(loss)
    return S.mean(loss) if math.prod(loss.array.shape) else S.divide(S.sum(loss), 0.0)


def _same_size(x: Any, target: Any) -> None:
    if x.array.shape != target.array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({x.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _between(op: Any, x: Any, target: Any, size_average: Any, reduce: Any, reduction: str, weight: Any = None, **more: Any) -> Any:
    """A loss of each element and its target."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    if x.array.shape != target.array.shape:
        _same_size(x, target)
    if weight is not None:
        loss = S.multiply(op(x, target, reduction="none", **more), weight)
        return S.divide(S.sum(loss), S.sum(weight)) if reduction == "mean" else reduced(loss, reduction)
    if reduction not in ("mean", "sum", "none"):
        checked(reduction)
    return op(x, target, reduction=reduction, **more)


def _smooth_l1(x: Any, target: Any, size_average: Any, reduce: Any, reduction: str, beta: float) -> Any:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _between(S.l1_loss, x, target, size_average, reduce, reduction)
    return _between(S.smooth_l1_loss, x, target, size_average, reduce, reduction, beta=beta)


def _huber(x: Any, target: Any, reduction: str, delta: float, weight: Any) -> Any:
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _between(S.huber_loss, x, target, None, None, reduction, weight, delta=delta)


#: The dtypes of labels, and that of the same bits without a sign.
_UNSIGNED = {np.dtype(np.int64): np.dtype(np.uint64), np.dtype(np.uint8): np.dtype(np.uint8)}


# -- classes ---------------------------------------------------------------------------------------------------
def _labels(x: Any, target: Any, name: str) -> Any:
    """Labels as an array, checked against the classes, which are on axis 1 (or the only one)."""
    raw = target.read()[0]
    if type(raw) is not Batched:  # inside vmap there are labels for each item, which have a shape and a dtype as any
        raw = np.asarray(raw)
    shape = x.array.shape
    if raw.dtype not in _UNSIGNED:
        from tapegrad.torch._dtypes import SCALAR_TYPES

        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {SCALAR_TYPES[target.dtype]}")
    axis = 0 if len(shape) == 1 else 1
    wanted = shape[:axis] + shape[axis + 1 :]
    if raw.shape != wanted:
        if len(shape) > 1 and raw.shape[:1] != shape[:1]:
            raise ValueError(
                f"Expected input batch_size ({shape[0]}) to match target batch_size ({raw.shape[0] if raw.shape else 1})."
            )
        if len(shape) == 2:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        raise ValueError(f"Expected target size {list(wanted)}, got {list(raw.shape)}")
    return raw, axis


def _in_bounds(raw: Any, classes: int, ignore_index: int) -> bool:
    """Whether no label is to be ignored; raises for one that is out of bounds."""
    raw = values_of(raw)
    if not raw.size:
        return True
    # One pass for both bounds: without its sign a label below 0 is larger than any number of classes.
    if not 0 <= ignore_index < classes and np.maximum.reduce(raw.view(_UNSIGNED[raw.dtype]), axis=None) < classes:
        return True
    used = raw[raw != ignore_index]
    bad = used[(used < 0) | (used >= classes)]
    if bad.size:
        raise IndexError(f"Target {int(bad[0])} is out of bounds.")
    return used.size == raw.size


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """-log(softmax(x)[target]) for logits with classes on axis 1, and labels, or probabilities of the same shape."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    if not isinstance(target, Tensor):
        raise TypeError(f"cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not {type(target).__name__}")
    checked(reduction)
    shape = input.array.shape
    if not shape:
        raise RuntimeError("Dimension out of range: cross_entropy needs a class axis")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.array.shape == shape and target.array.dtype.kind in "fV":
        return _soft(input, target, weight, reduction, label_smoothing)
    raw, axis = _labels(input, target, "cross_entropy")
    whole = _in_bounds(raw, shape[axis], ignore_index)
    if whole and weight is None and not label_smoothing and reduction == "mean" and len(shape) == 2 and raw.size:
        return S.cross_entropy(input, raw)
    return S.label_cross_entropy(
        input,
        raw,
        weight,
        ignore_index=None if whole else ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
        axis=axis,
    )


def _soft(x: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    axis = 0 if len(x.array.shape) == 1 else 1
    return S.soft_cross_entropy(x, target, weight, label_smoothing=label_smoothing, reduction=reduction, axis=axis)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """-x[target] for log-probabilities with classes on axis 1, and labels."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    checked(reduction)
    raw, axis = _labels(input, target, "nll_loss")
    whole = _in_bounds(raw, input.array.shape[axis], ignore_index)
    return S.nll_loss(
        input, raw, weight, ignore_index=None if whole else ignore_index, reduction=reduction, axis=axis
    )


# -- probabilities ---------------------------------------------------------------------------------------------
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """-(target log(x) + (1 - target) log(1 - x)) for probabilities; a logarithm counts as -100 at least."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    checked(reduction)
    if target.array.shape != input.array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    raw = values_of(input.read()[0])
    if raw.size and (raw.min() < 0 or raw.max() > 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.array.dtype != input.array.dtype:
        from tapegrad.torch._dtypes import SCALAR_TYPES

        raise RuntimeError(f"Found dtype {SCALAR_TYPES[target.dtype]} but expected {SCALAR_TYPES[input.dtype]}")
    return S.binary_cross_entropy(input, target, weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy` of sigmoid(x), without overflow."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    checked(reduction)
    if target.array.shape != input.array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return S.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction=reduction)


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """target (log(target) - x) for log-probabilities x."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the "
            "next major release.",
            stacklevel=2,
        )
    return S.kl_div_loss(input, target, log_target=log_target, reduction=reduction)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """exp(x) - target x, for the logarithm of a Poisson rate; or the rate itself: x - target log(x + eps)."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce, reduction)
    return S.poisson_nll_loss(input, target, log_input=log_input, full=full, epsilon=eps, reduction=checked(reduction))


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log(var) + (x - target)**2 / var) / 2, with a variance of `eps` at least."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = S.add(S.multiply(input.detach(), 0), var)
    if var.array.shape != input.array.shape:
        if input.array.shape[:-1] == var.array.shape:
            var = var.unsqueeze(-1)
        elif not (input.array.shape[:-1] == var.array.shape[:-1] and var.array.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if (np.asarray(var.array) < 0).any():
        raise ValueError("var has negative entry/entries")
    raised = S.add(var, wrap(np.maximum(eps - np.asarray(var.array), 0).astype(var.array.dtype)))  # not part of the derivative
    return S.gaussian_nll_loss(input, target, raised, full=full, epsilon=eps, reduction=checked(reduction))


# -- distances and margins -------------------------------------------------------------------------------------
def _with_weight(x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return S.multilabel_soft_margin_loss(x, target, weight, reduction=reduction)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes of max(0, 1 - (x[label] - x[other])), over all pairs of a label and a class that is none."""
    reduction = legacy(size_average, reduce, reduction)
    x = input if len(input.array.shape) == 2 else input.unsqueeze(0)
    labels = np.atleast_2d(np.asarray(target.array))
    n, k = x.array.shape
    member, pairs = np.zeros((n, k), bool), []
    for i, row in enumerate(labels):
        for label in row:
            if label < 0:
                break
            member[i, label] = True
            pairs.append((i, int(label)))
    losses = S.sum(S.multiply(x, 0.0), axis=1)
    if pairs:
        at, j = (np.array(v) for v in zip(*pairs, strict=True))
        gap = S.subtract(1.0, S.subtract(S.expand_dims(S.getitem(x, (at, j)), axis=1), S.getitem(x, at)))
        kept = S.where(wrap(member[at]), 0.0, S.relu(gap))
        losses = S.add(losses, S.divide(S.put_add(S.sum(kept, axis=1), (at,), (n,)), float(k)))
    found = reduced(losses, reduction)
    return found.squeeze(0) if reduction == "none" and len(input.array.shape) == 1 else found


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with any distance."""
    from tapegrad.torch.nn.functional.distance import pairwise_distance

    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = S.minimum(far, distance(positive, negative))
    return reduced(S.relu(S.subtract(S.add(near, margin), far)), reduction)


def _cosine_embedding(input1: Any, input2: Any, target: Any, margin: float, reduction: str) -> Any:
    rank = len(target.array.shape)
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    shapes = [tuple(x.array.shape) for x in (input1, input2)]
    if any(len(shape) != rank + 1 for shape in shapes):
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes {list(shapes[0])} and {list(shapes[1])}."
        )
    for a, b in zip(*shapes, strict=True):
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}): inputs of sizes {list(shapes[0])} and "
                f"{list(shapes[1])}"
            )
    if rank and target.array.shape[0] not in (1, max(shapes[0][0], shapes[1][0])):
        raise RuntimeError(
            f"The size of tensor a ({max(shapes[0][0], shapes[1][0])}) must match the size of tensor b ({target.array.shape[0]}): "
            "one target for each pair of inputs"
        )
    return S.cosine_embedding_loss(input1, input2, target, margin=margin, reduction=reduction)


_LEGACY = "size_average=None, reduce=None, reduction='mean'"
_CALL = "legacy(size_average, reduce, reduction)"
_TABLE = {
    f"mse_loss(input, target, {_LEGACY}, weight=None)":
        "_between(S.mse_loss, input, target, size_average, reduce, reduction, weight)",
    f"l1_loss(input, target, {_LEGACY}, weight=None)":
        "_between(S.l1_loss, input, target, size_average, reduce, reduction, weight)",
    f"smooth_l1_loss(input, target, {_LEGACY}, beta=1.0)":
        "_smooth_l1(input, target, size_average, reduce, reduction, beta)",
    "huber_loss(input, target, reduction='mean', delta=1.0, weight=None)": "_huber(input, target, reduction, delta, weight)",
    f"soft_margin_loss(input, target, {_LEGACY})": f"S.soft_margin_loss(input, target, reduction={_CALL})",
    f"hinge_embedding_loss(input, target, margin=1.0, {_LEGACY})":
        f"S.hinge_embedding_loss(input, target, margin=margin, reduction={_CALL})",
    f"margin_ranking_loss(input1, input2, target, margin=0, {_LEGACY})":
        f"S.margin_ranking_loss(input1, input2, target, margin=margin, reduction={_CALL})",
    f"cosine_embedding_loss(input1, input2, target, margin=0, {_LEGACY})":
        f"_cosine_embedding(input1, input2, target, margin, {_CALL})",
    f"multi_margin_loss(input, target, p=1, margin=1.0, weight=None, {_LEGACY})":
        f"S.multi_margin_loss(input, target, weight, p=p, margin=margin, reduction={_CALL})",
    f"multilabel_soft_margin_loss(input, target, weight=None, {_LEGACY})":
        f"_with_weight(input, target, weight, {_CALL})",
    f"triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, {_LEGACY})":
        f"S.triplet_margin_loss(anchor, positive, negative, margin=margin, p=p, epsilon=eps, swap=swap, reduction={_CALL})",
}  # fmt: skip
_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
for _signature, _body in _TABLE.items():
    _name = _signature.partition("(")[0]
    globals()[_name] = compiled(_signature, _body, _NAMES, out=False, where="torch.nn.functional")
    __all__.append(_name)
__all__ += [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "gaussian_nll_loss", "kl_div",
    "multilabel_margin_loss", "nll_loss", "poisson_nll_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip
