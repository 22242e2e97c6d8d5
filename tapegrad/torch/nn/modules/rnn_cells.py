"""One step of recurrent layers, and cells, which take one."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn import init
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def _step_rnn(act: Any) -> Any:
    def step(gi: Any, h: Any, c: Any, w: Any, b: Any) -> Any:
        return act(S.add(gi, F.linear(h, w, b))), None

    return step


def _parts(x: Any, n: int) -> list[Any]:
    k = x.array.shape[-1] // n
    return [S.getitem(x, (Ellipsis, slice(i * k, (i + 1) * k))) for i in range(n)]


def _step_lstm(gi: Any, h: Any, c: Any, w: Any, b: Any) -> Any:
    """S. Hochreiter, J. Schmidhuber, "Long short-term memory", 1997, with the forget gate of F. Gers et al., 2000."""
    i, f, g, o = _parts(S.add(gi, F.linear(h, w, b)), 4)
    c = S.add(S.multiply(S.sigmoid(f), c), S.multiply(S.sigmoid(i), S.tanh(g)))
    return S.multiply(S.sigmoid(o), S.tanh(c)), c


def _step_gru(gi: Any, h: Any, c: Any, w: Any, b: Any) -> Any:
    """K. Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, with the reset behind the product."""
    (ri, zi, ni), (rh, zh, nh) = _parts(gi, 3), _parts(F.linear(h, w, b), 3)
    r, z = S.sigmoid(S.add(ri, rh)), S.sigmoid(S.add(zi, zh))
    n = S.tanh(S.add(ni, S.multiply(r, nh)))
    return S.add(n, S.multiply(z, S.subtract(h, n))), None


#: By the mode of a layer: (the input's part, h, c, the weight for h, its bias) -> h, c.
STEPS = {"LSTM": _step_lstm, "GRU": _step_gru, "RNN_TANH": _step_rnn(S.tanh), "RNN_RELU": _step_rnn(S.relu)}


class RNNCellBase(Module):
    """One step of a recurrent layer."""

    _mode = ""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        from tapegrad.torch import empty

        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        where = {"device": device, "dtype": dtype}
        n = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((n, input_size), **where))
        self.weight_hh = Parameter(empty((n, hidden_size), **where))
        for name in ("bias_ih", "bias_hh"):
            if bias:
                setattr(self, name, Parameter(empty(n, **where)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters evenly from within 1 / sqrt(hidden_size) of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _run(self, mode: str, input: Any, hx: Any) -> tuple[Any, Any]:
        from tapegrad.torch import zeros

        rank = len(input.array.shape)
        if rank not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {rank}D instead")
        x = input if rank == 2 else input.unsqueeze(0)
        if hx is None:
            h = zeros(x.array.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
            c = h if mode == "LSTM" else None
        else:
            h, c = hx if mode == "LSTM" else (hx, None)
            if rank == 1:
                h, c = h.unsqueeze(0), None if c is None else c.unsqueeze(0)
        if x.array.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.array.shape[1]} expected {self.input_size}")
        for i, state in enumerate((h,) if c is None else (h, c)):
            if tuple(state.array.shape) != (x.array.shape[0], self.hidden_size):
                raise RuntimeError(
                    f"Input batch size {x.array.shape[0]} and hidden_size {self.hidden_size} ask for hidden{i} of shape "
                    f"{(x.array.shape[0], self.hidden_size)}, but got {tuple(state.array.shape)}: hidden{i} has inconsistent "
                    "hidden_size, or a batch size that doesn't match"
                )
        h, c = STEPS[mode](F.linear(x, self.weight_ih, self.bias_ih), h, c, self.weight_hh, self.bias_hh)
        if rank == 1:
            h, c = h.squeeze(0), None if c is None else c.squeeze(0)
        return h, c

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)


class RNNCell(RNNCellBase):
    """One step of `RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run("GRU", input, hx)[0]
