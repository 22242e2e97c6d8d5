"""Out of tensors into other libraries: NumPy arrays and DLPack, read-only where memory is shared."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.cuts import noted
from tapegrad.core.recorder import NOTING, state
from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import as_dtype
from tapegrad.errors import DetachedError
from tapegrad.ops.convert import asarray
from tapegrad.registry import backends, places
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from tapegrad.core.node import Node


class _Unsaid(Enum):
    """The default of an argument of which None says something else."""

    UNSAID = "unsaid"

    def __repr__(self) -> str:
        return "None"


UNSAID: Any = _Unsaid.UNSAID


def is_recorded(node: Node | None) -> bool:
    """Whether a tape that is recording now knows a value."""
    return node is not None and not node.owners.recorders.isdisjoint(state.active.recorders)


def numpy(self: Tensor) -> np.ndarray[Any, Any]:
    """The values as a NumPy array, which shares memory with the tensor where it can and is then read-only."""
    raw, node = self.read()
    if NOTING:
        noted("x.numpy()", (node,))
    found = np.asarray(raw)
    if found.flags.writeable:
        found = found.view()
        found.flags.writeable = False
    return found


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """NumPy's protocol.  A tensor that a tape is recording is refused: its history would be lost silently."""
    if is_recorded(self.read()[1]):
        raise DetachedError(
            "a recorded tensor would become a bare NumPy array, and lose its derivative; write x.numpy() to detach it, "
            "or use the function of tapegrad with this name"
        )
    return np.array(numpy(self), dtype=dtype, copy=copy)


def dlpack(
    self: Tensor,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = UNSAID,
) -> Any:
    """A DLPack capsule of the values: read-only memory of the tensor for who has a word about copies, else a copy.

    A write to shared memory would change what tapes have saved.  Protocols before version 1.0 have no word for read-only;
    PyTorch 2.13 reads the word and does not heed it, but it says nothing of `copy` either, so it gets a copy, unless its
    user writes `copy=False`.  NumPy says `copy=None` and shares read-only memory.  Raises DetachedError while a tape is
    recording the tensor, BufferError where a copy is needed and `copy` is False.
    """
    if is_recorded(self.read()[1]):
        raise DetachedError(
            "a recorded tensor would leave through DLPack without its derivative; write tapegrad.stop_gradient(x) to "
            "hand over its values"
        )
    values = numpy(self)
    knows_read_only = max_version is not None and max_version[0] >= 1
    if copy is UNSAID or (copy is None and not knows_read_only):
        copy = True
    if copy is False and not knows_read_only:
        raise BufferError("__dlpack__(copy=False): a tensor is read-only, which DLPack can say from version 1.0 on")
    if copy:
        values = values.copy()
    return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)


def dlpack_device(self: Tensor, /) -> tuple[int, int]:
    """The kind and number of the device, in DLPack's terms."""
    found: tuple[int, int] = numpy(self).__dlpack_device__()
    return found


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array; a copy of it if `copy`.

    The array must not be written to while the tensor is in use.

    >>> import numpy as np, tapegrad as tg
    >>> tg.from_dlpack(np.asarray([0.25, 0.5]))
    Tensor([0.25, 0.5 ], dtype=float64)
    """
    return asarray(np.from_dlpack(x, copy=copy), device=device)


def device(self: Tensor) -> str:
    """Where the values are: "cpu" for NumPy's arrays, such as "CPU:0" or "GPU:1" for TensorFlow's.

    Inside a compiled function it is "", where the graph is to decide.
    """
    return places.place_of(self.array)


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device; itself, if it is there.  A linear op: its cotangent goes back to where this tensor is.

    Raises DeviceError for a device that is not there.
    """
    if stream is not None:
        raise ValueError(f"to_device(stream=...): there are no streams to choose from, got {stream!r}")
    return sent(self, places.place(device))


def sent(x: Tensor, where: places.Place) -> Tensor:
    """The tensor at a place; itself, if it is there."""
    raw = x.read()[0]
    if places.is_at(raw, where):
        return x
    found: Tensor = F.transfer(x, where.name, places.place_of(raw))
    return found


def to(self: Tensor, target: Any = None, /, *, device: Any = None, backend: str | None = None, dtype: Any = None) -> Tensor:
    """The tensor on another device, on other kernels, in another dtype; itself, if nothing changes.

    `target` is any one of the three: a device such as "GPU:0" (or "cpu" for NumPy's kernels), "numpy" or "tensorflow", or a
    dtype.  Moving is a linear op: the cotangent goes back to where this tensor is.

    >>> import tapegrad as tg
    >>> tg.asarray([0.25, 0.5]).to("float64")
    Tensor([0.25, 0.5 ], dtype=float64)
    """
    if target is not None:
        if isinstance(target, str) and target in backends.NAMES:
            backend = target
        elif isinstance(target, str) and not is_dtype(target):
            device = target
        else:
            dtype = target
    x = self
    if device is not None or backend is not None:
        x = sent(x, places.place(device, backend))
    return x if dtype is None or x.dtype == as_dtype(dtype) else F.astype(x, dtype)


def is_dtype(name: str) -> bool:
    """Whether a dtype has this name."""
    try:
        as_dtype(name)
    except (TypeError, ValueError):
        return False
    return True


__all__ = ["array", "device", "dlpack", "dlpack_device", "from_dlpack", "is_recorded", "numpy", "to", "to_device"]
