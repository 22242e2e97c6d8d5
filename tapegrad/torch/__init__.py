"""The PyTorch-style facade: `from tapegrad import torch`.

Names, signatures, defaults and errors are PyTorch's; the tensors are tapegrad's, and mix with those of its other styles
under any tape.  What is not here raises an AttributeError that says so.
"""

from tapegrad.torch import _members
from tapegrad.torch._construct import as_tensor, from_numpy, tensor
from tapegrad.torch._devices import device
from tapegrad.torch._dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from tapegrad.torch._dtypes import NAMES as _DTYPES
from tapegrad.torch._modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tapegrad.torch._promotion import can_cast, promote_types, result_type
from tapegrad.torch._size import Size
from tapegrad.torch._tensor import Tensor
from tapegrad.torch._text import set_printoptions

globals().update(_DTYPES)
