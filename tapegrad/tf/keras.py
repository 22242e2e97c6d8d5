"""`tf.keras`: Keras 3 on tapegrad, with tensors and variables of `tapegrad.tf`.

This module puts Keras's own in its place, so that `from tapegrad.tf.keras.layers import Dense` works as with TensorFlow.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import tapegrad.tf
from tapegrad.keras import load, look
from tapegrad.keras.loading import use_framework
from tapegrad.tf.random_functions import order_in_fit, set_seed
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor
from tapegrad.tf.variable import Variable

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


look.use(Tensor, S.adopt, Variable, TensorShape, order_in_fit, set_seed)
load()
use_framework(tapegrad.tf)
sys.modules[__name__] = importlib.import_module("keras._tf_keras.keras")
