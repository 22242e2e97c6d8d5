"""Recurrent layers and cells."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn import init
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.modules.rnn_cells import STEPS, GRUCell, LSTMCell, RNNCell, RNNCellBase
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Layers of recurrent cells over sequences."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check(dropout)
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                f"than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        self._make({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        for name in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0 and name != "input_size":
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _make(self, where: dict[str, Any]) -> None:
        from tapegrad.torch import empty

        gates, h = _GATES[self.mode] * self.hidden_size, self.hidden_size
        state = self.proj_size or h
        self._all_weights = []
        for layer in range(self.num_layers):
            width = self.input_size if layer == 0 else state * (2 if self.bidirectional else 1)
            for direction in range(2 if self.bidirectional else 1):
                end = f"_l{layer}{'_reverse' if direction else ''}"
                shapes: dict[str, Any] = {f"weight_ih{end}": (gates, width), f"weight_hh{end}": (gates, state)}
                if self.bias:
                    shapes |= {f"bias_ih{end}": (gates,), f"bias_hh{end}": (gates,)}
                if self.proj_size:
                    shapes[f"weight_hr{end}"] = (self.proj_size, h)
                for name, shape in shapes.items():
                    setattr(self, name, Parameter(empty(shape, **where)))
                self._all_weights.append(list(shapes))

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Nothing to do: there is one layout."""

    def reset_parameters(self) -> None:
        """Draw all parameters evenly from within 1 / sqrt(hidden_size) of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    # -- the pass ----------------------------------------------------------------------------------------------
    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = isinstance(input, PackedSequence)
        sizes: Any = input.batch_sizes.tolist() if packed else None
        x = input.data if packed else input
        rank = len(x.array.shape)
        batched = packed or rank == 3
        if not packed:
            if rank not in (2, 3):
                raise ValueError(f"{self._kind}: Expected input to be 2D or 3D, got {rank}D instead")
            if rank == 2:
                x = x.unsqueeze(1)
            elif self.batch_first:
                x = x.transpose(0, 1)
            sizes = [x.array.shape[1]] * x.array.shape[0]
            if not sizes:
                raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if x.array.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.array.shape[-1]}"
            )
        states = self._initial(hx, x, sizes[0], batched, input.sorted_indices if packed else None)
        y, last = self._layers(x, states, sizes, packed)
        if packed:
            last = [_permuted(s, input.unsorted_indices) for s in last]
            out: Any = PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        else:
            out = y if batched and not self.batch_first else y.transpose(0, 1) if batched else y.squeeze(1)
            last = last if batched else [s.squeeze(1) for s in last]
        return out, (tuple(last) if self.mode == "LSTM" else last[0])

    @property
    def _kind(self) -> str:
        return self.mode.partition("_")[0]

    def _initial(self, hx: Any, x: Any, batch: Any, batched: bool, order: Any) -> list[Any]:
        """The states to begin with, (layers * directions, N, H) each."""
        from tapegrad.torch import zeros

        n = self.num_layers * (2 if self.bidirectional else 1)
        widths = [self.proj_size or self.hidden_size] + ([self.hidden_size] if self.mode == "LSTM" else [])
        if hx is None:
            return [zeros(n, batch, w, dtype=x.dtype, device=x.device) for w in widths]
        given = list(hx) if self.mode == "LSTM" else [hx]
        if not batched:
            given = [s.unsqueeze(1) for s in given]
        for s, w, name in zip(given, widths, ("hidden[0]", "hidden[1]"), strict=False):
            if tuple(s.shape) != (n, batch, w):
                label = name if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {label} size {(n, batch, w)}, got {list(s.shape)}")
        return [_permuted(s, order) for s in given]

    def _layers(self, x: Any, states: list[Any], sizes: Any, packed: bool) -> tuple[Any, list[Any]]:
        last: list[list[Any]] = [[] for _ in states]
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                k = layer * directions + direction
                begin = [S.getitem(s, k) for s in states]
                y, end = self._one(x, begin, self._all_weights[k], sizes, packed, bool(direction))
                outputs.append(y)
                for kept, s in zip(last, end, strict=True):
                    kept.append(s)
            x = outputs[0] if directions == 1 else S.concat(outputs, axis=-1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, [S.stack(kept) for kept in last]

    def _one(self, x: Any, begin: list[Any], names: list[str], sizes: Any, packed: bool, reverse: bool) -> Any:
        """One layer in one direction; all inputs are multiplied at once."""
        p = {n.rpartition("_l")[0]: getattr(self, n) for n in names}
        if self.mode == "LSTM" and not packed and not self.proj_size:
            return _whole_lstm(x, begin, p, reverse)
        step = STEPS[self.mode]
        gi = F.linear(x, p["weight_ih"], p.get("bias_ih"))
        starts = [0]
        for n in sizes:
            starts.append(starts[-1] + n)
        h, c = begin[0], begin[1] if len(begin) > 1 else None
        outputs: list[Any] = [None] * len(sizes)
        done: list[Any] = []
        alive = sizes[-1] if reverse else sizes[0]
        if packed and reverse:
            h, c, whole = _head(h, alive), _head(c, alive), (h, c)
        else:
            whole = (h, c)
        for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
            n = sizes[t]
            if packed and n != alive:
                if reverse:
                    h, c = (_grown(s, w, alive, n) for s, w in zip((h, c), whole, strict=True))
                else:
                    done.append((_tail(h, n), _tail(c, n)))
                    h, c = _head(h, n), _head(c, n)
                alive = n
            now = S.getitem(gi, slice(starts[t], starts[t + 1])) if packed else S.getitem(gi, t)
            h, c = step(now, h, c, p["weight_hh"], p.get("bias_hh"))
            if "weight_hr" in p:
                h = F.linear(h, p["weight_hr"])
            outputs[t] = h
        for h_, c_ in reversed(done):
            h = S.concat([h, h_], axis=0)
            c = None if c is None else S.concat([c, c_], axis=0)
        y = S.concat(outputs, axis=0) if packed else S.stack(outputs)
        return y, [h] if c is None else [h, c]

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size:
            parts.append(f"proj_size={self.proj_size}")
        if self.num_layers != 1:
            parts.append(f"num_layers={self.num_layers}")
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.batch_first is not False:
            parts.append(f"batch_first={self.batch_first}")
        if self.dropout != 0:
            parts.append(f"dropout={self.dropout}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)


def _whole_lstm(x: Any, begin: list[Any], p: dict[str, Any], reverse: bool) -> Any:
    """A layer of long short-term memory in one direction, of which all times are one op."""
    bias = S.add(p["bias_ih"], p["bias_hh"]) if "bias_ih" in p else None
    inputs = F.linear(x, p["weight_ih"], bias)
    if reverse:
        inputs = S.flip(inputs, axis=0)
    h, c = S.lstm_layer(inputs, *begin, p["weight_hh"])
    end = [S.getitem(h, -1), S.getitem(c, -1)]
    return (S.flip(h, axis=0) if reverse else h), end


def _head(s: Any, n: int) -> Any:
    return None if s is None else S.getitem(s, slice(0, n))


def _tail(s: Any, n: int) -> Any:
    return None if s is None else S.getitem(s, slice(n, None))


def _grown(s: Any, whole: Any, have: int, n: int) -> Any:
    return None if s is None else S.concat([s, S.getitem(whole, slice(have, n))], axis=0)


def _permuted(s: Any, order: Any) -> Any:
    return s if order is None else s.index_select(1, order)


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or relu."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self_nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self_nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = self_nonlinearity


class LSTM(RNNBase):
    """Long short-term memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)
