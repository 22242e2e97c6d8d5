"""What scripts ask of ONNX: nothing is exported here, and programs that export at their end run until then."""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad.torch._missing import refusing


def is_in_onnx_export() -> bool:
    """Whether a graph is being exported: never."""
    return False


def export(model: Any = None, args: Any = (), f: Any = None, **_: Any) -> NoReturn:
    """Refused: there is no graph of operators to write."""
    raise RuntimeError(
        "torch.onnx.export: tapegrad writes no ONNX files: save the state_dict with torch.save, load it into the same module under "
        "PyTorch, and export it there"
    )


__getattr__ = refusing(globals())

__all__ = ["export", "is_in_onnx_export"]
