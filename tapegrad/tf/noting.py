"""What TensorFlow's graphs know of a tensor, and Keras's losses ask for: the logits that it is the softmax or sigmoid of."""

from __future__ import annotations

from tapegrad.keras.logits import ask, is_compiled, note
from tapegrad.tf.graph_gradients import RUNNING
from tapegrad.tf.tensor import Tensor


def noted(y: Tensor, x: object, function: str) -> Tensor:
    """The tensor y, noted as this function of x where TensorFlow would compile; done at once, TensorFlow notes nothing."""
    if is_compiled() and isinstance(x, Tensor):
        note(y, x, function)
    return y


ask(lambda: RUNNING.depth > 0)
