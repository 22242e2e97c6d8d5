"""Styles: the ops once more, compiled to take and give a subclass of Tensor.

A facade has a Tensor class of its own, with its framework's methods and promotion.  Its ops are the same ops: the text of
the entry is compiled again with that class in the place of `Tensor`, so a facade costs no second call.  Rules and
composites never see the class: they work on plain Tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tapegrad.core.tensor import Tensor
from tapegrad.registry import call
from tapegrad.registry.entry import stub
from tapegrad.registry.op import Op, follow
from tapegrad.registry.space import offer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.core.node import Node

    Meet = Callable[[Op, Sequence[Any], Sequence[Node | None]], tuple[tuple[Any, ...], tuple[Node | None, ...]]]
    Unpack = Callable[[Op, str, Any, Sequence[Any]], tuple[Any, Node | None]]
    Failed = Callable[[Op, Exception, Sequence[Any]], Exception]


@final
class Style:
    """The ops for one subclass of Tensor, as attributes: `style.sin(x)` gives a `cls`.

    `meet(op, raws, nodes)` is called where an elementwise op gets anything but float32 or float64 of one dtype (a float
    tensor and a Python number that is not complex count as that), and where any other op gets arrays of different dtypes.
    It gives back raws and nodes as the style promotes them, by recorded casts, or raises.

    `unpack(op, name, value, others)` gives raw array and node of an argument that is not plainly a `cls`; `others` are all
    arguments of the call, as they were given.  `failed(op, error, raws)` gives what is raised for an error inside an op.
    Composites and sequences of arrays are unpacked by the plain ops.  `holds`: the graph keeps alive the tensors that it has saved
    values of, as some frameworks' graphs do, and not just the values.
    """

    def __init__(
        self, cls: type[Tensor], meet: Meet, *, unpack: Unpack = call.unpack, failed: Failed = call.failed, holds: bool = False
    ) -> None:
        self.cls = cls
        self.alike: set[type] = set()  # classes of its tensors that are read as plainly
        self.meet = meet
        self.unpack = unpack
        self.failed = failed
        self.holds = holds
        self.new: Callable[[type], Any] = object.__new__
        follow(self.learn)

    def learn(self, op: Op) -> None:
        offer(self, op, stub(op, self))

    def adopt(self, x: Any) -> Any:
        """A result of plain ops as one of this style: tensors, tuples and lists of them; anything else as it is."""
        kind = type(x)
        if kind is Tensor:
            out = self.new(self.cls)
            out.array = x.array
            out.node = x.node
            out.like = x.like
            return out
        if isinstance(x, tuple):
            made = map(self.adopt, x)
            return tuple(made) if kind is tuple else kind(*made)  # a named tuple keeps its names
        return [self.adopt(y) for y in x] if kind is list else x

    def outputs(self, op: Op, y: Any, raws: Any, nodes: Any, params: Any, variant: Any) -> Any:
        """What `call.outputs` gives, in this style."""
        return self.adopt(call.outputs(op, y, raws, nodes, params, variant))

    def make_with(self, new: Callable[[type], Any]) -> None:
        """Let ops make their results with this function from now on, which takes the class."""
        self.new = new
        for entry in list(vars(self).values()):
            env = getattr(entry, "__globals__", None)
            if env is not None and env.get("Tensor") is self.cls:
                env["new"] = new

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __repr__(self) -> str:
        return f"<ops on {self.cls.__module__}.{self.cls.__qualname__}>"
