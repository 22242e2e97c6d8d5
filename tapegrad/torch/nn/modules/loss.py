"""Losses as modules."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn.functional.loss import legacy
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.modules.shapes import PairwiseDistance

_OLD = "size_average=None, reduce=None, reduction='mean'"
#: Constructor, arguments of a call, and what else the function takes.
_ROWS: dict[str, tuple[str, str, str, str]] = {
    "L1Loss": (_OLD, "input, target", "l1_loss", ""),
    "MSELoss": (_OLD, "input, target", "mse_loss", ""),
    "SmoothL1Loss": (f"{_OLD}, beta=1.0", "input, target", "smooth_l1_loss", "beta"),
    "HuberLoss": ("reduction='mean', delta=1.0", "input, target", "huber_loss", "delta"),
    "SoftMarginLoss": (_OLD, "input, target", "soft_margin_loss", ""),
    "KLDivLoss": (f"{_OLD}, log_target=False", "input, target", "kl_div", "log_target"),
    "PoissonNLLLoss": (
        "log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'", "input, target",
        "poisson_nll_loss", "log_input, full, eps",
    ),
    "GaussianNLLLoss": ("*, full=False, eps=1e-06, reduction='mean'", "input, target, var", "gaussian_nll_loss", "full, eps"),
    "HingeEmbeddingLoss": (f"margin=1.0, {_OLD}", "input, target", "hinge_embedding_loss", "margin"),
    "MultiLabelMarginLoss": (_OLD, "input, target", "multilabel_margin_loss", ""),
    "MarginRankingLoss": (f"margin=0.0, {_OLD}", "input1, input2, target", "margin_ranking_loss", "margin"),
    "CosineEmbeddingLoss": (f"margin=0.0, {_OLD}", "input1, input2, target", "cosine_embedding_loss", "margin"),
    "TripletMarginLoss": (
        f"margin=1.0, p=2.0, eps=1e-06, swap=False, {_OLD}", "anchor, positive, negative", "triplet_margin_loss",
        "margin, p, eps, swap",
    ),
    "CTCLoss": (
        "blank=0, reduction='mean', zero_infinity=False", "log_probs, targets, input_lengths, target_lengths", "ctc_loss",
        "blank, zero_infinity",
    ),
    "NLLLoss": ("weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'", "input, target", "nll_loss",
                "weight, ignore_index"),
    "CrossEntropyLoss": (
        "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0", "input, target",
        "cross_entropy", "weight, ignore_index, label_smoothing",
    ),
    "BCELoss": (f"weight=None, {_OLD}", "input, target", "binary_cross_entropy", "weight"),
    "BCEWithLogitsLoss": (
        f"weight=None, {_OLD}, pos_weight=None", "input, target", "binary_cross_entropy_with_logits", "weight, pos_weight"
    ),
    "MultiLabelSoftMarginLoss": (f"weight=None, {_OLD}", "input, target", "multilabel_soft_margin_loss", "weight"),
    "MultiMarginLoss": (f"p=1, margin=1.0, weight=None, {_OLD}", "input, target", "multi_margin_loss", "p, margin, weight"),
}  # fmt: skip
_BUFFERS = ("weight", "pos_weight")


class _Loss(Module):
    """A loss, and how those of single elements are reduced."""

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with weights."""


def _made(name: str, options: str, takes: str, function: str, more: str) -> Any:
    extra = [m.strip() for m in more.split(",") if m.strip()]
    old = "size_average, reduce, reduction" if "size_average" in options else "None, None, reduction"
    stored = [
        f"        self.register_buffer({p!r}, {p})" if p in _BUFFERS else f"        self.{p} = {p}" for p in extra
    ]
    passed = "".join(f", {p}=self.{p}" for p in extra)
    lines = [
        f"class {name}(Base):",
        f"    'The loss of this name: `nn.functional.{function}`.'",
        f"    def __init__(self, {options}):",
        f"        Loss.__init__(self, {old})",
        *stored,
        f"    def forward(self, {takes}):",
        f"        return F.{function}({takes}{passed}, reduction=self.reduction)",
    ]
    weighted = any(p in _BUFFERS for p in extra)
    space: dict[str, Any] = {
        "Base": _WeightedLoss if weighted else _Loss,
        "Loss": _Loss,
        "F": F,
    }
    exec("\n".join(lines), space)
    found = space[name]
    found.__module__ = __name__
    return found


for _name, _row in _ROWS.items():
    globals()[_name] = _made(_name, *_row)


class TripletMarginWithDistanceLoss(_Loss):
    """The loss of this name: `nn.functional.triplet_margin_with_distance_loss`."""

    def __init__(
        self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class NLLLoss2d(globals()["NLLLoss"]):  # type: ignore[misc]
    """The older name of `NLLLoss`."""


__all__ = [*_ROWS, "NLLLoss2d", "TripletMarginWithDistanceLoss"]  # noqa: PLE0604
