"""What computes, and its flags: scripts set them, and they change nothing here."""

from __future__ import annotations

import types

from tapegrad.torch._absent import NoDevice, part
from tapegrad.torch._devices import gpus
from tapegrad.torch._missing import refusing
from tapegrad.torch.backends._attention import SWITCHES


def _no() -> bool:
    return False


cudnn = part(
    __name__, "cudnn", "Flags of cuDNN: what TensorFlow does with it is TensorFlow's.", enabled=True, benchmark=False, deterministic=False,
    allow_tf32=True, is_available=lambda: bool(gpus()), version=lambda: None, flags=lambda *_, **__: NoDevice(),
)  # fmt: skip
cuda = part(
    __name__, "cuda", "Flags of CUDA: what TensorFlow does with it is TensorFlow's.", is_built=lambda: bool(gpus()), **SWITCHES,
    matmul=types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True),
)  # fmt: skip
mps = part(__name__, "mps", "Apple's GPUs: not there.", is_available=_no, is_built=_no)
mkl = part(__name__, "mkl", "Intel's library: not used.", is_available=_no)
mkldnn = part(__name__, "mkldnn", "Intel's library: not used.", is_available=_no, enabled=True)
openmp = part(__name__, "openmp", "Threads: those of NumPy's libraries.", is_available=_no)


__getattr__ = refusing(globals())
