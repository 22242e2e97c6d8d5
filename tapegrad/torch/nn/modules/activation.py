"""Activations as modules, and attention."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn import init
from tapegrad.torch.nn.modules._tables import module_classes
from tapegrad.torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.parameter import Parameter

_ROWS = {
    "ReLU(inplace=False)": ("relu(input, inplace)", "{alone}"),
    "ReLU6(inplace=False)": ("relu6(input, inplace)", "{alone}"),
    "SELU(inplace=False)": ("selu(input, inplace)", "{alone}"),
    "SiLU(inplace=False)": ("silu(input, inplace)", "{alone}"),
    "Mish(inplace=False)": ("mish(input, inplace)", "{alone}"),
    "Hardsigmoid(inplace=False)": ("hardsigmoid(input, inplace)", ""),
    "Hardswish(inplace=False)": ("hardswish(input, inplace)", ""),
    "Threshold(threshold, value, inplace=False)": (
        "threshold(input, threshold, value, inplace)", "threshold={threshold}, value={value}{more}"
    ),
    "RReLU(lower=0.125, upper=0.3333333333333333, inplace=False)": (
        "rrelu(input, lower, upper, self.training, inplace)", "lower={lower}, upper={upper}{more}"
    ),
    "Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)": (
        "hardtanh(input, min_val, max_val, inplace)", "min_val={min_val}, max_val={max_val}{more}"
    ),
    "ELU(alpha=1.0, inplace=False)": ("elu(input, alpha, inplace)", "alpha={alpha}{more}"),
    "CELU(alpha=1.0, inplace=False)": ("celu(input, alpha, inplace)", "alpha={alpha}{more}"),
    "LeakyReLU(negative_slope=0.01, inplace=False)": (
        "leaky_relu(input, negative_slope, inplace)", "negative_slope={negative_slope}{more}"
    ),
    "Sigmoid()": ("sigmoid(input)", ""),
    "Tanh()": ("tanh(input)", ""),
    "LogSigmoid()": ("logsigmoid(input)", ""),
    "Softsign()": ("softsign(input)", ""),
    "Tanhshrink()": ("tanhshrink(input)", ""),
    "GLU(dim=-1)": ("glu(input, dim)", "dim={dim}"),
    "GELU(approximate='none')": ("gelu(input, approximate=self.approximate)", "approximate={approximate!r}"),
    "Hardshrink(lambd=0.5)": ("hardshrink(input, lambd)", "{lambd}"),
    "Softshrink(lambd=0.5)": ("softshrink(input, lambd)", "{lambd}"),
    "Softplus(beta=1.0, threshold=20.0)": ("softplus(input, beta, threshold)", "beta={beta}, threshold={threshold}"),
    "Softmin(dim=None)": ("softmin(input, dim)", "dim={dim}"),
    "Softmax(dim=None)": ("softmax(input, dim)", "dim={dim}"),
    "LogSoftmax(dim=None)": ("log_softmax(input, dim)", "dim={dim}"),
    "Softmax2d()": ("softmax(input, -3)", ""),
}  # fmt: skip


class _Activation(Module):
    """What activations that may write into their input show of that."""

    inplace: bool

    @property
    def more(self) -> str:
        return ", inplace=True" if self.inplace else ""

    @property
    def alone(self) -> str:
        return "inplace=True" if self.inplace else ""


globals().update(module_classes(_ROWS, "The activation of this name in `nn.functional`.", base=_Activation))
__all__ = [*(s.partition("(")[0] for s in _ROWS), "MultiheadAttention", "PReLU"]  # noqa: PLE0604


class PReLU(Module):
    """x where it is positive, and a learned slope times x elsewhere."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        from tapegrad.torch import full

        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the slopes to what they were at first."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class MultiheadAttention(Module):
    """Attention of several heads.  A. Vaswani et al., "Attention is all you need", 2017, section 3.2.2."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        from tapegrad.torch import empty

        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        where = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim), **where))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(empty((embed_dim, embed_dim), **where))
            self.k_proj_weight = Parameter(empty((embed_dim, self.kdim), **where))
            self.v_proj_weight = Parameter(empty((embed_dim, self.vdim), **where))
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = Parameter(empty(3 * embed_dim, **where))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **where))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **where))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        first = self.batch_first and len(query.array.shape) == 3
        if first:
            query, key, value = (x.transpose(1, 0) for x in (query, key, value))
        y, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal and attn_mask is not None,
        )
        return (y.transpose(1, 0) if first else y), weights


