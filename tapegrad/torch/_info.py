"""What can be asked of the library, and of the machine: answers are honest, on NumPy kernels about a CPU."""

from __future__ import annotations

import os
from typing import Any

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
complex32 = _Named("complex32")  # no tensor has this dtype here
channels_last = _Named("channels_last")
channels_last_3d = _Named("channels_last_3d")
layout = memory_format = _Named


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


class SymInt:
    """A length that is not known yet, where functions are traced: there are none here, and it is asked for by name alone."""


class SymFloat(SymInt):
    """A number that is not known yet."""


class SymBool(SymInt):
    """A truth value that is not known yet."""


# -- switches that change nothing here ---------------------------------------------------------------------------
_FLAGS: dict[str, Any] = {"deterministic": False, "warn_only": False, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """All algorithms here are deterministic."""
    _FLAGS["deterministic"], _FLAGS["warn_only"] = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What was said last."""
    return bool(_FLAGS["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was said that what is not deterministic is only to be warned of."""
    return bool(_FLAGS["deterministic"] and _FLAGS["warn_only"])


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


def is_warn_always_enabled() -> bool:
    """Whether warnings that come once would come always: never."""
    return False


def set_warn_always(b: bool) -> None:
    """Warnings are Python's: its filters decide."""


def compile(model: Any = None, **_: Any) -> Any:
    """Nothing is compiled: the function or module as it is, with the same results."""
    return model if model is not None else lambda f: f


def typename(obj: Any, /) -> str:
    """The name of a tensor's kind, or of an object's class."""
    from tapegrad.torch.nn.modules._names import typename as name

    return name(obj)


def set_default_tensor_type(t: Any, /) -> None:
    """The older form of `set_default_dtype`."""
    from tapegrad.torch._devices import gpus, no_gpu
    from tapegrad.torch._dtypes import set_default_dtype
    from tapegrad.torch._functions.convert import as_dtype, device_named

    where = device_named(t)
    if where == "cuda" and not gpus():
        raise TypeError(f"type {t} not available. {no_gpu()}")
    set_default_dtype(as_dtype(t))
    if where is not None:
        set_default_device(where)


def set_default_device(device: Any) -> None:
    """Say where new tensors are; None for the CPU."""
    from tapegrad.torch import _devices

    _devices.check_device(device)
    _devices.DEFAULT[:] = [] if device is None else [_devices.device(device)]


def get_default_device() -> Any:
    """Where new tensors are."""
    from tapegrad.torch._devices import default_device

    return default_device()


def _assert(condition: Any, message: Any) -> None:
    assert condition, message


def _assert_async(input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise unless a tensor of one element is true."""
    from tapegrad.torch._tensor import Tensor

    if not isinstance(input, Tensor):
        raise TypeError(f"_assert_async(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not input:
        raise RuntimeError(assert_msg)


NAMES = [
    "SymBool", "SymFloat", "SymInt", "__version__", "complex32",
    "are_deterministic_algorithms_enabled", "channels_last", "channels_last_3d", "compile", "contiguous_format",
    "get_default_device", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "layout",
    "memory_format", "preserve_format", "set_default_device", "set_default_tensor_type", "set_float32_matmul_precision",
    "set_flush_denormal", "set_num_interop_threads", "set_num_threads", "set_warn_always", "sparse_coo", "sparse_csr",
    "strided", "typename", "use_deterministic_algorithms", "_assert", "_assert_async",
]  # fmt: skip
