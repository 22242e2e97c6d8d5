"""Functions of neural networks as `torch` itself has them: other orders of arguments, and reductions by number, none unless given."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """`nn.functional.batch_norm`."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """`nn.functional.instance_norm`."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """`nn.functional.embedding`; -1 is no row of padding."""
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def constant_pad_nd(input: Any, pad: Any, value: float = 0) -> Any:
    """`nn.functional.pad` with one value."""
    return F.pad(input, pad, "constant", value)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, align_corners)


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`nn.functional.grid_sample`, of modes by number."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return F.grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight)


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """`nn.functional.kl_div`."""
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """`nn.functional.poisson_nll_loss`."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_REDUCTIONS[reduction])


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """`nn.functional.hinge_embedding_loss`."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """`nn.functional.cosine_embedding_loss`."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """`nn.functional.margin_ranking_loss`."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """`nn.functional.triplet_margin_loss`."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_REDUCTIONS[reduction])


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """`nn.functional.ctc_loss`."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)


# -- one step of a recurrent layer, with weights of one's own ------------------------------------------------------
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """The state and the memory of an LSTM after one step; `hx` has those before."""
    h, c = hx
    return _step("LSTM", input, h, c, w_ih, w_hh, b_ih, b_hh)


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The state of a GRU after one step."""
    return _step("GRU", input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The state of a plain recurrent layer with tanh after one step."""
    return _step("RNN_TANH", input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The state of a plain recurrent layer with ReLU after one step."""
    return _step("RNN_RELU", input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


def _step(mode: str, input: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> tuple[Any, Any]:
    from tapegrad.torch.nn.modules.rnn_cells import STEPS

    found: tuple[Any, Any] = STEPS[mode](F.linear(input, w_ih, b_ih), h, c, w_hh, b_hh)
    return found


# -- dropout in place ------------------------------------------------------------------------------------------------
def dropout_(input: Any, p: float, train: bool) -> Any:
    """`nn.functional.dropout`, in place."""
    return F.dropout(input, p, train, True)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`nn.functional.alpha_dropout`, in place."""
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`nn.functional.feature_alpha_dropout`, in place."""
    return F.feature_alpha_dropout(input, p, train, True)
