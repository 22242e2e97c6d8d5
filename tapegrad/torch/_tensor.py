"""The Tensor of the PyTorch style, and the ops on it.

`STYLE.sin(x)` is the op `sin`, compiled to take and give this class; it costs what the core's costs.  Functions and methods
of the facade are written with it, or with plain ops and `STYLE.adopt` around their result.

A tensor has, besides what the core's has:

* `_store`: what it shares with its views (`tapegrad.torch._storage`); unset until a view is taken or it is written to.
* `_view`: of a view, its base and how it comes from that (`tapegrad.torch._views`); otherwise unset.
* `_auto`: its gradient, hooks and flags (`Auto`); unset until there are any.

Whether it requires a gradient is whether the implicit recorder owns its node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched
from tapegrad.registry.backends import moved
from tapegrad.registry.places import beside as beside_another
from tapegrad.registry.styles import Style
from tapegrad.torch._devices import placed, several
from tapegrad.torch._dtypes import dtype, dtype_of
from tapegrad.torch._errors import failed
from tapegrad.torch._promotion import meet
from tapegrad.torch._size import Size
from tapegrad.torch._unpacking import unpack


@final
class Auto:
    """What autograd keeps with a tensor."""

    __slots__ = ("accumulate", "flags", "grad", "hooks", "post", "retains")

    def __init__(self) -> None:
        self.grad: Any = None
        self.hooks: dict[int, Any] | None = None
        self.post: dict[int, Any] | None = None
        self.retains = False
        self.flags: dict[str, Any] = {}
        self.accumulate: Any = None


class Tensor(Core):
    """An n-dimensional array, as PyTorch's."""

    __slots__ = ("__dict__", "_auto", "_store", "_view")
    _is_inference = False

    def __new__(cls, *args: Any, **words: Any) -> Any:
        from tapegrad.torch._legacy import construct

        made = construct(dtype_of(np.dtype(np.float32)), args, words)
        if cls is Tensor:
            return made
        from tapegrad.torch._dispatching import as_subclass

        return as_subclass(made, cls)

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if not cls.__module__.startswith("tapegrad.torch."):
            from tapegrad.torch._dispatching import derive

            derive(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not (getattr(func, "__module__", None) or "").startswith("tapegrad"):  # PyTorch's own function, called with a tensor of ours
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]
        from tapegrad.torch._dispatching import usual_answer

        return usual_answer(cls, func, types, args, kwargs)

    if TYPE_CHECKING:  # members that are given to it elsewhere

        def __getattr__(self, name: str) -> Any: ...

    @property
    def shape(self) -> Any:
        """The length of each axis."""
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtype:
        """The kind of number."""
        return dtype_of(self.array.dtype)


STYLE = Style(Tensor, meet, unpack=unpack, failed=failed, holds=True)
adopt = STYLE.adopt
_new = object.__new__


def wrap(raw: Any, node: Any = None) -> Any:
    """A tensor of a raw array."""
    out = _new(Tensor)
    out.array = raw
    out.node = node
    out.like = None
    return out


#: Types of raw arrays of the NumPy kernels.
OF_NUMPY = frozenset([np.ndarray, *np.sctypeDict.values()])


#: Types of raw arrays of which no device is asked: NumPy's, and batches, which are not on one by themselves.
WITHOUT_DEVICE = OF_NUMPY | {Batched}


def fresh(raw: Any, device: Any = None) -> Any:
    """A tensor of values that are NumPy's, on a device or where new tensors are made."""
    return wrap(placed(raw, device) if type(raw) in OF_NUMPY else raw)


def another(raw: Any) -> Any:
    """A raw array of the same values that is told apart from the first; copied only if it can be written to."""
    if type(raw) in OF_NUMPY:
        return raw.copy()
    made = object.__new__(type(raw))
    for name in type(raw).__slots__:
        if name != "__weakref__" and hasattr(raw, name):
            setattr(made, name, getattr(raw, name))
    return made


def beside(raw: Any, other: Any) -> Any:
    """A raw array on the kernels and the device of another one, if both are concrete."""
    here = type(other) in OF_NUMPY
    if type(raw) is Batched or type(other) is Batched:
        return raw
    if (type(raw) in OF_NUMPY) is here and (here or not several()):
        return raw
    return moved(raw, "numpy") if here else beside_another(raw, other)


#: The classes of tensors that tell what a tensor is for, by the flag that says so; what is made of one is a plain Tensor.
BY_FLAG: dict[str, type[Tensor]] = {}
ORDINARY: set[type] = {Tensor}


def settle_class(x: Any) -> Any:
    """The tensor, with the class that its flags ask for; one of a class with a meaning of its own keeps it."""
    auto = getattr(x, "_auto", None)
    if auto is not None and type(x) is Tensor:
        mine = auto.flags.get("class")  # one that a program has written
        if mine is not None:
            x.__class__ = mine
            return x
        for flag, kind in BY_FLAG.items():
            if auto.flags.get(flag):
                x.__class__ = kind
    return x


def auto_of(x: Any) -> Auto:
    """What autograd keeps with a tensor, made if there is nothing yet."""
    found: Auto | None = getattr(x, "_auto", None)
    if found is None:
        found = x._auto = Auto()
    return found
