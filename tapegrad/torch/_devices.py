"""`torch.device`: where values are.

On NumPy kernels that is the CPU.  On TensorFlow's, `cuda` means the GPUs that TensorFlow sees, and `cpu` its CPU; what is
NumPy's there (`from_numpy`) counts as the CPU's.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any, final

import numpy as np

from tapegrad.registry import backends
from tapegrad.registry.space import NUMPY, default_space
from tapegrad.torch._elsewhere import lend

_KINDS = ("cpu", "cuda", "mps", "xpu", "meta", "mkldnn", "xla", "hpu", "ipu", "vulkan", "privateuseone")


@final
class device:
    """The kind of a device, and its number."""

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = str(type.type), type.index if index is None else index
        if isinstance(type, int):
            type, index = "cuda", type
        kind, _, number = str(type).partition(":")
        if kind not in _KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(_KINDS)} device type at start of device string: {kind}"
            )
        if number:
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        self.type = kind
        self.index = index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        check_device(self)
        _HERE.entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _HERE.entered.pop()


CPU = device("cpu")

#: TensorFlow's names of what `cuda` is to mean in place of its GPUs, for a machine that has none: "CPU:1" and the like.
STAND_INS: list[str] = []
#: What `set_default_device` has said; the CPU if it is empty.
DEFAULT: list[device] = []


class _Here(threading.local):
    """The devices that this thread has entered, and which GPU it means by `cuda` alone."""

    def __init__(self) -> None:
        self.entered: list[device] = []
        self.current = 0


_HERE = lend(_Here())


def gpus() -> list[str]:
    """TensorFlow's names of the devices that `cuda` means; none where new arrays are NumPy's."""
    return [] if default_space() is NUMPY else _gpus_of_tensorflow()


def _gpus_of_tensorflow() -> list[str]:
    return STAND_INS or _seen()


@functools.cache
def _seen() -> list[str]:
    from tapegrad.kernels.tensorflow_devices import names

    return [n for n in names() if n.startswith("GPU:")]


def current(index: int | None = None) -> int:
    """The number of the GPU that this thread means by `cuda` alone; with an index, set to that."""
    if index is not None:
        check_device(device("cuda", index))
        _HERE.current = index
    return _HERE.current


def default_device() -> device:
    """Where new tensors are."""
    return _HERE.entered[-1] if _HERE.entered else DEFAULT[0] if DEFAULT else CPU


def check_device(given: Any) -> None:
    """Refuse a device that is not there."""
    if given is None or given is CPU or given == "cpu":
        return
    found = device(given)
    if found.type == "cuda":
        name_of(found)
    elif found.type != "cpu":
        raise RuntimeError(f"device {found}: tapegrad computes with NumPy, on the CPU, or with TensorFlow, there or on a GPU (cuda)")


def no_gpu() -> Exception:
    """What is raised where a GPU is needed and there is none."""
    if default_space() is NUMPY:
        return AssertionError(
            "Torch not compiled with CUDA enabled: tapegrad computes with NumPy, on the CPU; TensorFlow's kernels "
            '(tapegrad.set_default_backend("tensorflow")) use the GPUs that TensorFlow sees'
        )
    return RuntimeError("No CUDA GPUs are available: TensorFlow sees none")


def name_of(given: Any) -> str:
    """TensorFlow's name of a device that is there; raises for another."""
    found = device(given)
    if found.type != "cuda":
        check_device(found)
        return "CPU:0"
    there = gpus()
    if not there:
        raise no_gpu()
    index = _HERE.current if found.index is None else found.index
    if index >= len(there):
        raise RuntimeError(f"CUDA error: invalid device ordinal: expected {index} < {len(there)}, the number of GPUs that TensorFlow sees")
    return there[index]


def several() -> bool:
    """Whether values of TensorFlow's kernels may be on more than one device; not where TensorFlow has never been imported."""
    return "tensorflow" in sys.modules and bool(_gpus_of_tensorflow())


# -- where values are ------------------------------------------------------------------------------------------
def device_of(raw: Any) -> device:
    """The device of a raw value."""
    if type(raw) is np.ndarray or isinstance(raw, np.generic):
        return CPU
    from tapegrad.registry.places import place_of

    name = place_of(raw)
    if name[:3] == "GPU" or name in STAND_INS:
        there = _gpus_of_tensorflow()
        if name in there:
            return device("cuda", there.index(name))
    return CPU


def placed(raw: Any, given: Any = None) -> Any:
    """A raw value of NumPy's on a device, or where new tensors are."""
    if default_space() is NUMPY:
        check_device(given)
        return raw
    if not gpus():
        check_device(given)
        return backends.placed(raw)
    from tapegrad.registry import places

    return places.at(raw, places.place(name_of(default_device() if given is None else given)))


def moved(x: Any, given: Any) -> Any:
    """A tensor on a device, recorded; itself if it is there."""
    check_device(given)
    if device_of(x.array) == CPU and device(given).type == "cpu":
        return x
    from tapegrad.registry.places import place_of
    from tapegrad.torch._tensor import STYLE

    name, here = name_of(given), place_of(x.array)
    return x if name == here else STYLE.transfer(x, name, here)
