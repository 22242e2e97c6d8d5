"""What the array API lets a program ask of a namespace: `tapegrad.__array_namespace_info__()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.dtypes import KINDS, as_dtype, complex64, float32, int64
from tapegrad.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

#: The only device of the NumPy kernels.
CPU = "cpu"
#: What names the devices of kernel sets that have been loaded.
DEVICES: list[Callable[[], list[str]]] = []
#: What names the device of new arrays; set where kernel sets are known.
DEFAULT: list[Callable[[], str]] = []


def devices() -> list[str]:
    """The devices of the kernel sets that have been loaded: "cpu" for NumPy's, and TensorFlow's such as "GPU:0"."""
    return [CPU, *(name for names in DEVICES for name in names())]


def check_device(device: Any) -> None:
    """Refuse a device that is not there; None is the default one."""
    if device is not None and str(device) not in devices():
        raise DeviceError(f"device: expected {' or '.join(map(repr, devices()))}, got {device!r}")


@final
class NamespaceInfo:
    """The devices, the dtypes and the abilities of tapegrad, by the words of the array API."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What of the standard's optional behaviour there is."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new arrays."""
        return DEFAULT[0]()

    def devices(self) -> list[str]:
        """The devices there are: "cpu" for NumPy's kernels, and TensorFlow's, once its kernels have been loaded."""
        DEFAULT[0]()  # loads those that make new arrays
        return devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of new arrays, by what they are for."""
        check_device(device)
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard, by name; those of one kind, or of several, if `kind` says so."""
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k not in KINDS]
        if unknown:
            raise ValueError(f"dtypes(kind=...): expected kinds among {', '.join(map(repr, KINDS))}, got {unknown[0]!r}")
        found = (d for k in kinds for d in KINDS[k])
        return {d.name: d for d in found if d != as_dtype(np.float16)}  # which the standard does not have


def namespace_info() -> NamespaceInfo:
    """The object that answers questions about devices and dtypes; the array API calls it `__array_namespace_info__`."""
    return NamespaceInfo()
