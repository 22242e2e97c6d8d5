"""`torch.autograd.forward_ad`: dual numbers, whose tangents are computed along with the values."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, NamedTuple

from tapegrad.core import recorder as rec
from tapegrad.core.node import Node
from tapegrad.core.recorder import Recorder
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.core.watching import root, watch
from tapegrad.forward import _push
from tapegrad.torch._elsewhere import lend
from tapegrad.torch._missing import refusing
from tapegrad.torch._shapes import _reshaper, _unshape
from tapegrad.torch._tensor import STYLE, Tensor
from tapegrad.torch._views import take


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, which is None where there is none."""

    primal: Any
    tangent: Any


class _Level:
    """One level: who records it, and the tangents of nodes."""

    def __init__(self) -> None:
        self.tangents: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()
        self.recorder = Recorder(auto=False, on_push=functools.partial(_push, self.tangents))


class _Levels(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Level] = []


_LEVELS = lend(_Levels())


def enter_dual_level() -> int:
    """Begin a level; give its number."""
    if _LEVELS.stack:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = _Level()
    _LEVELS.stack.append(level)
    rec.enter(level.recorder)
    return len(_LEVELS.stack) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the latest level; its tangents are gone."""
    if not _LEVELS.stack or (level is not None and level != len(_LEVELS.stack) - 1):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    rec.abandon(_LEVELS.stack.pop().recorder)


class dual_level:
    """A context in which dual tensors can be made."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def _level(level: int | None) -> _Level | None:
    if not _LEVELS.stack or (level is not None and not 0 <= level < len(_LEVELS.stack)):
        return None
    return _LEVELS.stack[-1]


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """The tensor with a tangent, as a view of it."""
    found = _level(level)
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if tangent_of(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                           f"{len(_LEVELS.stack) - 1} is not supported.")  # fmt: skip
    if not isinstance(tensor, Tensor):
        raise TypeError(f"make_dual(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    if tensor.array.dtype.kind not in "fcV":
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not isinstance(tangent, Core) or tangent.array.dtype.kind not in "fcV":
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {getattr(tangent, 'dtype', type(tangent))}")
    if tangent.array.shape != tensor.array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.array.shape)} while the given forward gradient is of size {list(tangent.array.shape)}."
        )
    dual = take(tensor, _reshaper(tensor.array.shape), _unshape)
    if tangent.array.dtype != tensor.array.dtype:
        tangent = STYLE.astype(tangent, tensor.array.dtype)
    raw, node = tangent.read()
    found.tangents[watch(dual, frozenset([found.recorder]))] = linked(raw, node)
    return dual


def tangent_of(tensor: Any) -> Any:
    """The tangent of a tensor at the present level, or None."""
    node = None if not _LEVELS.stack or not isinstance(tensor, Core) else tensor.node
    t = None if node is None else _LEVELS.stack[-1].tangents.get(node)
    return None if t is None else STYLE.adopt(linked(t.array, t.node))


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value, and the tangent at this level."""
    found = _level(level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    node = tensor.node
    primal = take(tensor, _reshaper(tensor.array.shape), _unshape)
    if node is not None:
        primal.node = root(node, _implicit())
    return UnpackedDualTensor(primal, tangent_of(tensor))


def _implicit() -> Recorder:
    from tapegrad.torch._recorder import IMPLICIT

    return IMPLICIT


__getattr__ = refusing(globals())

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
