"""GPUs, as `torch.cuda` has them.

On NumPy kernels there is none, and every question is answered so.  On TensorFlow's they are those that TensorFlow sees, and
what it can't tell is refused.  Random numbers that go to a GPU come from the generator of the CPU.
"""

from __future__ import annotations

import types
from typing import Any

from tapegrad.torch import _devices
from tapegrad.torch import random as _random
from tapegrad.torch._absent import NoDevice, nothing, part
from tapegrad.torch._devices import device as _named
from tapegrad.torch._legacy import CUDA_TYPES
from tapegrad.torch.cuda import graphs
from tapegrad.torch.cuda._streams import Event, Stream, current_stream, default_stream, stream, synchronize

#: What has no effect, as TensorFlow keeps memory by itself.
_QUIET = ["empty_cache", "init", "ipc_collect", "reset_max_memory_allocated", "reset_max_memory_cached"]
_REFUSED = [
    *("can_device_access_peer", "clock_rate", "memory_snapshot", "memory_usage", "power_draw"),
    *("memory_summary", "memory_stats", "mem_get_info", "utilization", "temperature"),
]


def is_available() -> bool:
    """Whether there is a GPU."""
    return bool(_devices.gpus())


def device_count() -> int:
    """How many GPUs there are."""
    return len(_devices.gpus())


def is_initialized() -> bool:
    """Whether a GPU has been used, or could be: TensorFlow has set all of them up."""
    return is_available()


def current_device() -> int:
    """The number of the GPU that `cuda` alone means on this thread."""
    _devices.name_of("cuda")
    return _devices.current()


def set_device(device: Any) -> None:
    """Let `cuda` alone mean another GPU on this thread; nothing for a negative number, or on a machine without a GPU."""
    index = _index(device)
    if index >= 0 and is_available():
        _devices.current(index)


def _index(given: Any) -> int:
    if isinstance(given, int):
        return given
    found = _named("cuda" if given is None else given)
    return _devices.current() if found.index is None else found.index


class device:
    """A context in which `cuda` alone means another GPU; it changes nothing where there is none."""

    def __init__(self, device: Any = None) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _devices.current()
        set_device(self.idx)

    def __exit__(self, *_: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """The same for the GPU of a tensor; it changes nothing for a tensor on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.is_cuda else -1)


# -- what TensorFlow tells of a GPU ------------------------------------------------------------------------------
def _told(device: Any) -> dict[str, Any]:
    index = _index(device)
    _devices.name_of(_named("cuda", index))  # refused on NumPy's kernels, before TensorFlow is looked for
    import tensorflow as tf

    seen = tf.config.list_physical_devices("GPU")
    return dict(tf.config.experimental.get_device_details(seen[index])) if index < len(seen) else {}


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(_told(device).get("device_name", "unknown to TensorFlow"))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The version of what a GPU computes, such as (8, 0)."""
    major, minor = _told(device).get("compute_capability", (0, 0))
    return int(major), int(minor)


class _Properties(types.SimpleNamespace):
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"get_device_properties().{name}: TensorFlow does not tell that of a GPU; it tells {sorted(vars(self))}")


def get_device_properties(device: Any = None) -> Any:
    """Name and version of a GPU."""
    major, minor = get_device_capability(device)
    return _Properties(name=get_device_name(device), major=major, minor=minor)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16."""
    return is_available() and get_device_capability() >= (8, 0)


def _memory(device: Any, key: str) -> int:
    if not is_available():
        return 0
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info(_devices.name_of(_named("cuda", _index(device))))[key])


def memory_allocated(device: Any = None) -> int:
    """The bytes of arrays on a GPU."""
    return _memory(device, "current")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of arrays on a GPU since the start, or since `reset_peak_memory_stats`."""
    return _memory(device, "peak")


memory_reserved = memory_cached = memory_allocated  # of what TensorFlow holds besides it tells nothing
max_memory_reserved = max_memory_cached = max_memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let `max_memory_allocated` start anew."""
    if is_available():
        import tensorflow as tf

        tf.config.experimental.reset_memory_stats(_devices.name_of(_named("cuda", _index(device))))


# -- random numbers --------------------------------------------------------------------------------------------
def manual_seed(seed: int) -> None:
    """Seed the numbers that go to a GPU, which are those of the CPU's generator; nothing on a machine without one."""
    if is_available():
        _random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seed them from the operating system; nothing on a machine without a GPU."""
    if is_available():
        _random.seed()


seed_all = seed


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the generator whose numbers go to a GPU."""
    _devices.name_of("cuda")
    return _random.get_rng_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Put that generator into a state."""
    _devices.name_of("cuda")
    _random.set_rng_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The state of the generator of each GPU, which they share."""
    return [_random.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Put the generators of the GPUs into states; they share one, which takes the last."""
    for state in new_states:
        set_rng_state(state)


def initial_seed() -> int:
    """The seed of the generator whose numbers go to a GPU."""
    _devices.name_of("cuda")
    return _random.initial_seed()


def get_arch_list() -> list[str]:
    """The kinds of GPU that kernels were compiled for, as TensorFlow does not tell: none."""
    return []


def get_gencode_flags() -> str:
    """The flags for those kinds: none."""
    return ""


def set_stream(stream: Any) -> None:
    """Let work go to a stream: there is one."""
    if stream is not None:
        _devices.name_of("cuda")


def _refused(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        if not is_available():
            raise _devices.no_gpu()
        raise NotImplementedError(f"torch.cuda.{name}: TensorFlow does not tell that of a GPU; memory_allocated() is there")

    return refuse


globals().update(dict.fromkeys(_QUIET, nothing))
globals().update({name: _refused(name) for name in _REFUSED})
globals().update(CUDA_TYPES)
CUDAGraph, graph, graph_pool_handle = graphs.CUDAGraph, graphs.graph, graphs.graph_pool_handle
make_graphed_callables, is_current_stream_capturing = graphs.make_graphed_callables, graphs.is_current_stream_capturing
default_generators: tuple[Any, ...] = ()


def _no_nccl(*_: Any) -> Any:
    raise NotImplementedError("torch.cuda.nccl: there is no communication between GPUs here")


nccl = part(__name__, "nccl", "Communication between GPUs: not there.", version=_no_nccl, is_available=lambda _=None: False)


def _range(*_: Any, **__: Any) -> NoDevice:
    return NoDevice()


nvtx = part(
    __name__, "nvtx", "Marks for a profiler of GPUs, which nobody reads here.", range=_range, mark=nothing, range_push=nothing,
    range_pop=nothing, range_start=nothing, range_end=nothing,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module("tapegrad.torch.cuda.amp")
    from tapegrad.torch._missing import refuse

    return refuse("torch.cuda", name, globals())


__all__ = [
    "Event", "Stream", "current_device", "current_stream", "default_stream", "device", "device_count", "device_of",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "is_available", "is_bf16_supported",
    "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated", "seed", "set_device",
    "set_rng_state", "stream", "synchronize",
]  # fmt: skip
