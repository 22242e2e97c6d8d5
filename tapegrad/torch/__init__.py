"""The PyTorch-style facade: `from tapegrad import torch`.

Names, signatures, defaults and errors are PyTorch's; the tensors are tapegrad's, and mix with those of its other styles
under any tape.  What is not here raises an AttributeError that says so.
"""

from math import e, inf, nan, pi
from typing import Any as _Any

from tapegrad.silence import silence as _silence
from tapegrad.torch import _functions, _info, _members, _refusals, _tagged, autograd
from tapegrad.torch._construct import as_tensor, from_dlpack, from_numpy, tensor
from tapegrad.torch._devices import device
from tapegrad.torch._dtypes import NAMES as _DTYPES
from tapegrad.torch._dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from tapegrad.torch._legacy import TYPES as _TYPES
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
from tapegrad.torch.amp.autocast_mode import (
    autocast,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)
from tapegrad.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled

_silence()
newaxis = None
globals().update(_DTYPES)
globals().update(_TYPES)


#: What is a function of neural networks under the same name, with the same arguments.
_OF_NN = frozenset(
    [
        *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)),
        *(f"max_pool{n}d" for n in (1, 2, 3)),
        *("avg_pool1d", "adaptive_avg_pool1d", "dropout", "alpha_dropout", "feature_alpha_dropout", "celu", "selu", "prelu", "rrelu"),
        *("hardshrink", "cosine_similarity", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
        *("layer_norm", "group_norm", "rms_norm", "bilinear", "celu_", "selu_", "rrelu_"),
    ]
)
#: What is such a function with other arguments.
_FORMS_OF_NN = frozenset(
    [
        *("affine_grid_generator", "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "cosine_embedding_loss"),
        *("ctc_loss", "embedding", "grid_sampler", "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss"),
        *("poisson_nll_loss", "triplet_margin_loss", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
        *("dropout_", "alpha_dropout_", "feature_alpha_dropout_"),
    ]
)


def __getattr__(name: str) -> _Any:
    """A module that is imported when it is first asked for."""
    from importlib import import_module, util

    from tapegrad.torch._missing import HINTS, refuse

    if ("torch", name) in HINTS:
        return refuse("torch", name, ())
    if name in _OF_NN:
        return getattr(import_module("tapegrad.torch.nn.functional"), name)
    if name in _FORMS_OF_NN:
        return getattr(import_module("tapegrad.torch._nn_forms"), name)
    if name == "GradScaler":
        return import_module("tapegrad.torch.amp").GradScaler
    if name == "vmap":
        return import_module("tapegrad.torch.func").vmap
    if name == "torch":  # PyTorch's module has itself as an attribute, and programs use that
        return import_module("tapegrad.torch")
    is_module = name in ("_C", "_subclasses", "__config__", "__future__") or not name.startswith("_")
    if is_module and util.find_spec(f"tapegrad.torch.{name}") is not None:
        return import_module(f"tapegrad.torch.{name}")
    return refuse("torch", name, globals())


globals().update(_functions.install())
_functions.add_in_place(Tensor, globals())
_tagged.name_all(globals())
_refusals.refuse_all(globals())
_tagged.name_all(Tensor)
globals().update({name: getattr(_info, name) for name in _info.NAMES})
