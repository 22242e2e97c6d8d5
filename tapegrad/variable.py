"""Variables: tensors whose value changes, and which tapes watch by themselves."""

from __future__ import annotations

import _thread
import contextlib
from typing import TYPE_CHECKING, Any, NoReturn, final, overload

import numpy as np

from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor
from tapegrad.core.watching import met
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DTypeError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.ops.convert import asarray, raw_of
from tapegrad.ops.inplace import is_alone
from tapegrad.registry.call import NO_GRADIENT
from tapegrad.registry.lengths import may_agree, raw_brought_to
from tapegrad.registry.places import beside
from tapegrad.registry.space import BUILDING
from tapegrad.sparse import SparseRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.core.node import Node
    from tapegrad.kernels.numpy_scatter import Rows


class Variable(Tensor):
    """A tensor whose value can be replaced.

    Active tapes watch a trainable variable when it is first read; its gradient is over all reads.  It changes by `assign`,
    `assign_add` and `assign_sub`: what `w - step` gives, and so `w -= step`, is a Tensor, which no tape watches by itself.

    * `initial_value`: anything that `asarray` takes, or a function without arguments that gives it.
    * `trainable`: whether tapes watch it by themselves.
    * `name`: for messages only.

    >>> import tapegrad as tg
    >>> w = tg.Variable([1.5, -2.5])
    >>> with tg.GradientTape() as tape:
    ...     loss = tg.sum(w * w)
    >>> w.assign_sub(0.1 * tape.gradient(loss, w))
    Variable([ 1.2, -2. ], dtype=float32)
    """

    __slots__ = ("cell", "name", "trainable")

    #: Where compiled functions keep the value (`tapegrad.compiled`); None if none has met the variable.
    cell: Any

    def __init__(
        self, initial_value: Any, trainable: bool = True, *, name: str | None = None, dtype: Any = None
    ) -> None:
        def start(settled: Callable[[Any], Any]) -> None:
            self._set_up(settled(_begun(initial_value, dtype)), trainable, name)

        TRACED.started(start)

    def _set_up(self, raw: Any, trainable: bool, name: str | None) -> None:
        self.array = raw
        self.node = None
        self.like = None
        self.trainable = trainable and bool(is_inexact(raw.dtype))
        self.name = name

    def __getattr__(self, name: str) -> Any:
        """What no slot holds: the array, where a compiled function has assigned it since it was last read."""
        if name == "cell":
            self.cell = None
            return None
        if name == "array" and self.cell is not None:
            return self.cell.fetch(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def read(self) -> tuple[Any, Node | None]:
        """The raw value and its node, watched by the active tapes that watch variables by themselves."""
        if STAND_INS:
            given = present(self)
            if given is not self:
                return _read_in_place(self, given)
        active = state.active
        node = self.node
        if active is not EMPTY and (node is None or node.owners is not active) and self.trainable:
            node = met(self, active, self)
        return self.array if not BUILDING or BUILDING[0].is_eager else _placed(self), node

    @property
    def value(self) -> Tensor:
        """The present value, as a tensor that does not change."""
        from tapegrad.registry.space import F

        found: Tensor = F.astype(self, self.array.dtype)
        return found

    def _checked(self, what: str, value: Any, *, copy: bool | None = None) -> Any:
        if type(value) is Tensor and not STAND_INS and type(raw := value.array) is np.ndarray:
            here = self.array
            if type(here) is np.ndarray and raw.dtype is here.dtype and raw.shape == here.shape:
                return raw  # as in each step of an optimiser
        if value is None:
            raise ArgumentError(
                f"{self._label()}.{what}(value): expected an array or a number, got None; {NO_GRADIENT}"
            )
        raw = raw_of(value if isinstance(value, Tensor) else asarray(value, dtype=self.array.dtype, copy=copy))
        if getattr(raw, "symbolic", False) and not TRACED.here():
            TRACED.refuse(f"{self._label()}.{what}(value)")
        if raw.shape != self.array.shape and may_agree(raw.shape, self.array.shape):
            raw = raw_brought_to(raw, self.array.shape)
        self._fits(what, raw)
        return raw if type(raw) is type(self.array) else beside(raw, self.array)

    def _fits(self, what: str, raw: Any) -> None:
        """Refuse a value of another shape or dtype, and any where another thing stands in the variable's place."""
        if STAND_INS and present(self) is not self:
            raise ArgumentError(
                f"{self._label()}.{what}(value): inside functional.call it has a value from outside, which can't be replaced; "
                "return the new value instead"
            )
        if type(raw) is Batched:
            raise raw.refused(f"{self._label()}.{what}(value)", "return the value, and assign it outside")
        if raw.shape != self.array.shape:
            raise ShapeError(f"{self._label()}.{what}(value): expected value.shape == {self.array.shape}, got {raw.shape}")
        if raw.dtype != self.array.dtype:
            raise DTypeError(
                f"{self._label()}.{what}(value): expected value.dtype == {self.array.dtype}, got {raw.dtype}; "
                f"write tapegrad.astype(value, {self.array.dtype})"
            )

    def _label(self) -> str:
        return f"Variable {self.name!r}" if self.name else "Variable"

    def assign(self, value: Any) -> Variable:
        """Replace the value by one of the same shape and dtype.  What tapes have recorded is not changed.

        The variable stays on its device: a value from elsewhere moves there.

        Raises ShapeError, DTypeError or ArgumentError, and then leaves the variable as it was.
        """
        self.array = beside(self._checked("assign", value, copy=True), self.array)
        return self

    def assign_add(self, value: Any) -> Variable:
        """Add to the value."""
        if type(value) is SparseRows:
            return self._add_rows("assign_add", value.rows)
        change = self._checked("assign_add", value)
        if is_alone(self):
            self.array += change
        else:
            self.array = self.array + change
        return self

    def assign_sub(self, value: Any) -> Variable:
        """Subtract from the value."""
        if type(value) is SparseRows:
            return self._add_rows("assign_sub", value.rows.scaled(-1))
        change = self._checked("assign_sub", value)
        if is_alone(self):
            self.array -= change
        else:
            self.array = self.array - change
        return self

    def _add_rows(self, what: str, rows: Rows) -> Variable:
        """Add to a few rows alone."""
        self._fits(what, rows)
        on_numpy = isinstance(self.array, np.ndarray)
        if not on_numpy and not rows.is_memory:
            self.array = rows.moved(lambda raw: beside(raw, self.array)).added_to(self.array)
            return self
        if not on_numpy or not rows.is_memory:
            self.array = self.array + beside(rows.dense(), self.array)
            return self
        if not is_alone(self):
            self.array = self.array.copy()
        rows.add_to(self.array)
        return self

    @overload
    def __mul__(self, other: SparseRows) -> SparseRows: ...
    @overload
    def __mul__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Any:
        """The product; a learning rate that is a variable leaves sparse rows sparse."""
        return other.__rmul__(self) if type(other) is SparseRows else Tensor.__mul__(self, other)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            f"{self._label()}[index] = value: a variable changes by assign, which no tape records; write "
            "variable.assign(tapegrad.put(variable, value, index))"
        )

    def __reduce__(self) -> Any:
        return _restored, (self.array, self.trainable, self.name)

    def __copy__(self) -> Variable:
        return _restored(self.array, self.trainable, self.name)

    def __repr__(self) -> str:
        label = "Variable(" if self.name is None else f"Variable({self.name!r}, "
        return Tensor.__repr__(self).replace("Tensor(", label, 1)


@final
class Traced:
    """What becomes of variables where a function is traced; `tapegrad.compiled` says it.

    * `here`: whether this thread is tracing for `tapegrad.function`, where variables are seen through already.
    * `placed`: the raw value of a variable in a `tf.function` of the user's: read anew in each call.
    * `handed`: its value as such a call begins, a tensor of TensorFlow's, recorded by the tapes that watch the variable.
    * `refuse`: raises the error for an assignment there.
    * `started`: calls `start(settled)`, which gives a new variable its first value, with what makes of a raw array one that
      has values: a variable may be made inside of a function that is being traced.
    """

    __slots__ = ("handed", "here", "placed", "refuse", "started")

    def __init__(self) -> None:
        self.here: Callable[[], bool] = lambda: False
        self.placed: Callable[[Variable], Any] = lambda variable: variable.array
        self.handed: Callable[[Variable], Any] = lambda variable: variable.raw
        self.refuse: Callable[[str], None] = lambda label: None
        self.started: Callable[[Callable[[Callable[[Any], Any]], None]], None] = lambda start: start(_as_it_is)


def _as_it_is(raw: Any) -> Any:
    return raw


TRACED = Traced()


def _placed(variable: Variable) -> Any:
    """The raw value of a variable where TensorFlow builds a graph."""
    return variable.array if TRACED.here() else TRACED.placed(variable)


def _begun(value: Any, dtype: Any) -> Any:
    """The raw array with which a variable begins."""
    value = value() if callable(value) and not isinstance(value, Tensor) else value
    return raw_of(asarray(value, dtype=dtype, copy=True))


#: Tensors that are read in the place of variables, by thread and variable.
STAND_INS: dict[tuple[int, int], Tensor] = {}


def present(x: Any) -> Any:
    """The tensor that this thread reads in the place of a variable; anything else as it is."""
    return STAND_INS.get((_thread.get_ident(), id(x)), x)


@contextlib.contextmanager
def standing_in(pairs: Sequence[tuple[Variable, Tensor]]) -> Iterator[None]:
    """Let this thread read these tensors in the place of these variables."""
    me = _thread.get_ident()
    before = [((me, id(v)), STAND_INS.get((me, id(v)))) for v, _ in pairs]
    try:
        for v, x in pairs:
            STAND_INS[me, id(v)] = x
        yield
    finally:
        for key, earlier in reversed(before):
            if earlier is None:
                STAND_INS.pop(key, None)
            else:
                STAND_INS[key] = earlier


def _read_in_place(variable: Variable, given: Tensor) -> tuple[Any, Node | None]:
    """What `read` gives of the tensor in a variable's place, watched as the variable would be."""
    raw, node = given.read()
    if variable.trainable and state.active is not EMPTY:
        node = met(given, state.active, variable)
    return raw, node


def _restored(raw: Any, trainable: bool, name: str | None) -> Variable:
    """A variable from what was pickled or copied: of the same value, watched by nobody."""
    return Variable(raw, trainable, name=name)


def _of_a_new_tensor(self: Variable, other: Any) -> Any:
    """`variable += x` is `variable = variable + x`, a tensor, as in TensorFlow; `assign_add` changes the variable."""
    return NotImplemented


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    setattr(Variable, f"__i{_name}__", _of_a_new_tensor)
