"""What can be asked of the library, and of the machine: answers are honest, on NumPy kernels about a CPU."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

from tapegrad._version import __version__ as _own_version

__version__ = "2.13.0"


class _Named:
    """A thing with a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


strided = _Named("strided")
sparse_coo = _Named("sparse_coo")
sparse_csr = _Named("sparse_csr")
contiguous_format = _Named("contiguous_format")
preserve_format = _Named("preserve_format")
channels_last = _Named("channels_last")
channels_last_3d = _Named("channels_last_3d")
layout = memory_format = _Named


def module(name: str, doc: str, **members: Any) -> Any:
    """A module made of these members."""
    made = types.ModuleType(f"tapegrad.torch.{name}", doc)
    vars(made).update(members)
    sys.modules[made.__name__] = made
    return made


# -- threads ---------------------------------------------------------------------------------------------------
_THREADS = [os.cpu_count() or 1]


def get_num_threads() -> int:
    """How many threads an op may use, as far as it was said."""
    return _THREADS[0]


def set_num_threads(n: int) -> None:
    """Say how many threads an op may use; NumPy's libraries look at their environment variables instead."""
    if not isinstance(n, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _THREADS[0] = n


def get_num_interop_threads() -> int:
    """How many ops run at a time."""
    return 1


def set_num_interop_threads(n: int) -> None:
    """One op runs at a time."""


# -- switches that change nothing here ---------------------------------------------------------------------------
_FLAGS: dict[str, Any] = {"deterministic": False, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """All algorithms here are deterministic."""
    _FLAGS["deterministic"] = mode


def are_deterministic_algorithms_enabled() -> bool:
    """What was said last."""
    return bool(_FLAGS["deterministic"])


def set_float32_matmul_precision(precision: str) -> None:
    """Products of float32 are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _FLAGS["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What was said last."""
    return str(_FLAGS["precision"])


def set_flush_denormal(mode: bool) -> bool:
    """Not possible with NumPy."""
    return False


def set_warn_always(b: bool) -> None:
    """Warnings are Python's: its filters decide."""


def compile(model: Any = None, **_: Any) -> Any:  # noqa: A001
    """Nothing is compiled: the function or module as it is, with the same results."""
    return model if model is not None else lambda f: f


def typename(obj: Any, /) -> str:
    """The name of a tensor's kind, or of an object's class."""
    from tapegrad.torch.nn.modules._names import typename as name

    return name(obj)


def set_default_tensor_type(t: Any, /) -> None:
    """The older form of `set_default_dtype`."""
    from tapegrad.torch._dtypes import set_default_dtype
    from tapegrad.torch._functions.convert import as_dtype

    if "cuda" in str(t):
        raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
    set_default_dtype(as_dtype(t))


def set_default_device(device: Any) -> None:
    """Say where new tensors are: they are on the CPU."""
    from tapegrad.torch._devices import check_device

    check_device(device)


def get_default_device() -> Any:
    """Where new tensors are."""
    from tapegrad.torch._devices import CPU

    return CPU


def _assert(condition: Any, message: Any) -> None:
    assert condition, message


# -- devices ---------------------------------------------------------------------------------------------------
def _no_cuda(*_: Any, **__: Any) -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled: tapegrad computes with NumPy, on the CPU")


def _nothing(*_: Any, **__: Any) -> None:
    return None


class _DeviceContext:
    """The context of a device that is not there: `cuda.device(-1)` changes nothing."""

    def __init__(self, device: Any = None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _legacy_classes() -> dict[str, Any]:
    from tapegrad.torch._functions.convert import LEGACY

    def of(name: str) -> Any:
        def __new__(cls: Any, *args: Any, **words: Any) -> Any:
            raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

        return type(name, (), {"__new__": __new__, "__module__": "torch.cuda"})

    return {name: of(name) for name in LEGACY}


def make_cuda() -> Any:
    """The module `cuda`, which answers that there is none."""
    amp = module("cuda.amp", "Mixed precision on GPUs.")
    zero = {
        name: (lambda *_, **__: 0)
        for name in (
            "device_count", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
            "memory_cached", "max_memory_cached",
        )
    }  # fmt: skip
    quiet = dict.fromkeys(("empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_device", "init", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated"), _nothing)  # fmt: skip
    refused = dict.fromkeys(("current_device", "get_device_name", "get_device_properties", "get_device_capability", "synchronize", "current_stream", "default_stream", "memory_summary", "memory_stats", "mem_get_info", "Stream", "Event", "get_rng_state"), _no_cuda)  # fmt: skip
    members: dict[str, Any] = {
        "is_available": lambda: False,
        "is_initialized": lambda: False,
        "is_bf16_supported": lambda *_, **__: False,
        "device": _DeviceContext,
        "amp": amp,
        "nccl": module("cuda.nccl", "Not there.", version=_no_cuda),
        **zero,
        **quiet,
        **refused,
        **_legacy_classes(),
    }
    return module("cuda", "GPUs: there is none on NumPy kernels.", **members)


class _Flags(types.ModuleType):
    """Flags that scripts set, and that change nothing."""


def make_backends() -> Any:
    """The module `backends`."""
    cudnn = _Flags("tapegrad.torch.backends.cudnn", "Flags of cuDNN, which is not there.")
    vars(cudnn).update(
        enabled=True, benchmark=False, deterministic=False, allow_tf32=True,
        is_available=lambda: False, version=lambda: None, flags=lambda **_: _DeviceContext(),
    )  # fmt: skip
    matmul = types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)
    parts = {
        "cudnn": cudnn,
        "cuda": module("backends.cuda", "Flags of CUDA, which is not there.", matmul=matmul, is_built=lambda: False),
        "mps": module("backends.mps", "Not there.", is_available=lambda: False, is_built=lambda: False),
        "mkl": module("backends.mkl", "Not used.", is_available=lambda: False),
        "mkldnn": module("backends.mkldnn", "Not used.", is_available=lambda: False),
        "openmp": module("backends.openmp", "Not used.", is_available=lambda: False),
    }
    sys.modules[cudnn.__name__] = cudnn
    return module("backends", "What computes, and its flags.", **parts)


def make_accelerator() -> Any:
    """The module `accelerator`, which answers that there is none."""
    refused = dict.fromkeys(("current_device_index", "set_device_index", "set_device_idx", "synchronize"), _no_cuda)
    return module(
        "accelerator",
        "Accelerators: there is none on NumPy kernels.",
        is_available=lambda: False,
        device_count=lambda: 0,
        current_accelerator=lambda check_available=False: None,
        device_index=_DeviceContext,
        **refused,
    )


def make_version() -> Any:
    """The module `version`."""
    return module(
        "version", "Which version this is like.", __version__=__version__, cuda=None, hip=None, debug=False,
        git_version=f"tapegrad {_own_version}",
    )  # fmt: skip


NAMES = [
    "__version__", "are_deterministic_algorithms_enabled", "channels_last", "channels_last_3d", "compile", "contiguous_format",
    "get_default_device", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "layout",
    "memory_format", "preserve_format", "set_default_device", "set_default_tensor_type", "set_float32_matmul_precision",
    "set_flush_denormal", "set_num_interop_threads", "set_num_threads", "set_warn_always", "sparse_coo", "sparse_csr",
    "strided", "typename", "use_deterministic_algorithms", "_assert",
]  # fmt: skip
