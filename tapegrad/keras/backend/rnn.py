"""Recurrent layers, step by step: the loops of LSTM and GRU in ops alone, without a layer's bookkeeping at each step."""

from __future__ import annotations

from typing import Any

from tapegrad.keras.backend.core import convert_to_tensor
from tapegrad.registry.space import F

__all__ = ["gru", "lstm", "unstack"]


def unstack(x: Any, axis: int = 0) -> list[Any]:
    """The slices along an axis."""
    return list(F.unstack(x, axis=axis))


def _steps(inputs: Any, kernel: Any, bias: Any, time_major: bool, go_backwards: bool) -> tuple[list[Any], int]:
    """What each step gets of the inputs, all multiplied by the kernel at once, and the axis of time."""
    axis = 0 if time_major else 1
    x = F.matmul(convert_to_tensor(inputs), kernel)
    found = unstack(x if bias is None else x + bias, axis)
    return found[::-1] if go_backwards else found, axis


def _found(outputs: list[Any], axis: int, return_sequences: bool, states: list[Any]) -> tuple[Any, Any, list[Any]]:
    whole = F.stack(outputs, axis=axis) if return_sequences else F.expand_dims(outputs[-1], axis=axis)
    return outputs[-1], whole, states


def lstm(
    inputs: Any,
    initial_state_h: Any,
    initial_state_c: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    time_major: bool = False,
) -> tuple[Any, Any, list[Any]]:
    """The last output, all of them, and the states, of an LSTM without masks; Keras has a way of its own for those.

    S. Hochreiter, J. Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers et al., 2000.
    """
    if mask is not None or unroll:
        raise NotImplementedError
    recurrent = convert_to_tensor(recurrent_kernel)
    steps, axis = _steps(inputs, kernel, bias, time_major, go_backwards)
    h, c = convert_to_tensor(initial_state_h), convert_to_tensor(initial_state_c)
    n = recurrent.shape[0]
    outputs = []
    for x in steps:
        z = x + F.matmul(h, recurrent)
        gates = recurrent_activation(z)  # of all four parts, and three of them used: one op instead of three
        c = gates[:, n : 2 * n] * c + gates[:, :n] * activation(z[:, 2 * n : 3 * n])
        h = gates[:, 3 * n :] * activation(c)
        outputs.append(h)
    return _found(outputs, axis, return_sequences, [h, c])


def gru(
    inputs: Any,
    initial_state: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    time_major: bool = False,
    reset_after: bool = True,
) -> tuple[Any, Any, list[Any]]:
    """The last output, all of them, and the state, of a GRU without masks whose reset gate comes after the product.

    K. Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.
    """
    if mask is not None or unroll or not reset_after:
        raise NotImplementedError
    recurrent = convert_to_tensor(recurrent_kernel)
    before, after = (None, None) if bias is None else unstack(convert_to_tensor(bias))
    steps, axis = _steps(inputs, kernel, before, time_major, go_backwards)
    h = convert_to_tensor(initial_state)
    n = recurrent.shape[0]
    outputs = []
    for x in steps:
        inner = F.matmul(h, recurrent)
        if after is not None:
            inner = inner + after
        gates = recurrent_activation(x[:, : 2 * n] + inner[:, : 2 * n])
        keep = gates[:, :n]
        h = keep * h + (1 - keep) * activation(x[:, 2 * n :] + gates[:, n:] * inner[:, 2 * n :])
        outputs.append(h)
    return _found(outputs, axis, return_sequences, [h])


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
