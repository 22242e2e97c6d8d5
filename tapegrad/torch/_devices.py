"""`torch.device`: where values are.  On NumPy kernels that is the CPU."""

from __future__ import annotations

from typing import Any, final

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
        return self

    def __exit__(self, *_: object) -> None:
        return None


CPU = device("cpu")


def check_device(given: Any) -> None:
    """Refuse a device that is not there."""
    if given is None or given == "cpu":
        return
    found = device(given)
    if found.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled: tapegrad computes with NumPy, on the CPU")
    if found.type != "cpu":
        raise RuntimeError(f"device {found}: tapegrad computes with NumPy, on the CPU")
