"""What computes, and its flags: scripts set them, and they change nothing here."""

from __future__ import annotations

import types

from tapegrad.torch._absent import NoDevice, part


def _no() -> bool:
    return False


cudnn = part(
    __name__, "cudnn", "Flags of cuDNN, which is not there.", enabled=True, benchmark=False, deterministic=False, allow_tf32=True,
    is_available=_no, version=lambda: None, flags=lambda **_: NoDevice(),
)  # fmt: skip
cuda = part(
    __name__, "cuda", "Flags of CUDA, which is not there.", is_built=_no,
    matmul=types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True),
)  # fmt: skip
mps = part(__name__, "mps", "Apple's GPUs: not there.", is_available=_no, is_built=_no)
mkl = part(__name__, "mkl", "Intel's library: not used.", is_available=_no)
mkldnn = part(__name__, "mkldnn", "Intel's library: not used.", is_available=_no, enabled=True)
openmp = part(__name__, "openmp", "Threads: those of NumPy's libraries.", is_available=_no)
