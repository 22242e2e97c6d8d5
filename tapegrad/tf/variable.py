"""`tf.Variable`: TensorFlow's look on the core's variable."""

from __future__ import annotations

import itertools
from enum import Enum
from typing import Any, NoReturn, Self

import numpy as np

from tapegrad.compiled.tracing import outside_of_traces, settled
from tapegrad.core import tensor as core
from tapegrad.core.recorder import EMPTY, state
from tapegrad.sparse import SparseRows
from tapegrad.tf.convert import convert, convert_raw, fresh, identity
from tapegrad.tf.dtypes import DType, as_dtype, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.names import scoped
from tapegrad.tf.shapes import TensorShape, shape_of
from tapegrad.tf.singletons import MAKING
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.tensor import CPU, Absent, Reference, Tensor, made, shown, truth, values
from tapegrad.tf.variable_creators import Created
from tapegrad.tf.variable_parts import give_operators
from tapegrad.tf.variable_scatter import Scatters
from tapegrad.variable import Variable as CoreVariable

#: Variables in the order in which they were made.
_BIRTHS = itertools.count()


class VariableSynchronization(Enum):
    """When copies of a variable are brought together; there is one copy only."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """How copies of a variable are brought together; there is one copy only."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class Variable(Scatters, CoreVariable, metaclass=Created):
    """A tensor whose value can be replaced by `assign`; tapes watch it by themselves if it is `trainable`."""

    __slots__ = ("__dict__", "_aggregation", "_born", "_constraint", "_label", "_spec", "_synchronization")  # users hang their own on it

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a "
                "`variable_def`. You provided neither."
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if not isinstance(aggregation, VariableAggregation):
            raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
        if not isinstance(synchronization, VariableSynchronization):
            raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
        value = initial_value
        with outside_of_traces():
            if callable(value) and not isinstance(value, core.Tensor):
                value = value()
            raw = settled(convert_raw(value, numpy_dtype(dtype))[0])
            self._begin(raw if isinstance(value, list | tuple | int | float) else raw.copy())
        self.trainable = synchronization is not VariableSynchronization.ON_READ if trainable is None else bool(trainable)
        self.name = scoped(name or "Variable") + ":0"
        self._spec = None if shape is None else TensorShape(shape)
        if self._spec is not None and not self._spec.is_compatible_with(raw.shape):
            raise ValueError(
                f"The initial value's shape ({tuple(raw.shape)}) is not compatible with the explicitly supplied `shape` "
                f"argument ({self._spec})."
            )
        MAKING.met(self)
        self._born = next(_BIRTHS)
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation

    def _begin(self, raw: Any) -> None:
        self.array = raw
        self.node = None
        self.like = None

    # -- what it is ------------------------------------------------------------------------------------
    @property
    def shape(self) -> TensorShape:
        """The length of each axis; unknown ones where the variable was made so."""
        return shape_of(self.array) if self._spec is None else self._spec

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return as_dtype(self.array.dtype)

    @property
    def device(self) -> str:
        """Where the values are."""
        return CPU

    @property
    def constraint(self) -> Any:
        """The function that optimisers apply after an update."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """As it was given."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """As it was given."""
        return self._aggregation

    @property
    def handle(self) -> Reference:
        """What stands for the variable itself, and not for its value."""
        return Reference(self)

    @property
    def initializer(self) -> None:
        """None: an eager variable has its value from the beginning, and nothing is left to run."""

    @property
    def initial_value(self) -> NoReturn:
        """Raises RuntimeError: an eager variable does not keep it."""
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    @property
    def _shared_name(self) -> str:
        return (self.name or "").partition(":")[0]

    graph = Absent("Tensor.graph is undefined when eager execution is enabled.")
    op = Absent("Tensor.op is undefined when eager execution is enabled.")

    def get_shape(self) -> TensorShape:
        """The length of each axis."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape against one that may have unknown lengths."""
        self.shape.merge_with(shape)

    def numpy(self) -> Any:
        """A copy of the values as an array of NumPy's; a scalar of NumPy's for a 0-d variable."""
        return values(self)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """True: an eager variable always has a value."""
        return fresh(np.bool_(True))

    def ref(self) -> Reference:
        """A key for dictionaries and sets, equal for the same object alone."""
        return Reference(self)

    experimental_ref = ref

    def value(self) -> Tensor:  # type: ignore[override]
        """The present value, as a tensor that does not change."""
        return identity(self)

    read_value = value

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the present value."""
        from tapegrad.tf.gathering import gather

        return gather(self, indices)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Elements or slices of the present value, at index tuples."""
        from tapegrad.tf.gathering import gather_nd

        return gather_nd(self, indices)

    def eval(self, session: Any = None) -> NoReturn:
        """Raises RuntimeError: there are no sessions."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")

    # -- assignment --------------------------------------------------------------------------------------
    def _new_value(self, value: Any, what: str) -> Any:
        """A raw value for this variable, of its dtype and of a shape that fits."""
        raw = convert_raw(value, self.array.dtype)[0]
        wanted = self.array.shape if self._spec is None else self._spec
        if raw.shape != wanted and (self._spec is None or not self._spec.is_compatible_with(raw.shape)):
            raise ValueError(
                f"Cannot {what} to variable '{self.name}': Shape mismatch. The variable shape {TensorShape(wanted)}, and the "
                f"assigned value shape {TensorShape(raw.shape)} are incompatible."
            )
        return raw

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replace the value by one of the same shape and dtype.  What tapes have recorded is not changed."""
        raw = self._new_value(value, "assign value")
        self.array = raw.copy() if isinstance(value, core.Tensor) else raw
        return self._accessed() if read_value else None

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Add to the value."""
        return self._change(CoreVariable.assign_add, delta, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract from the value."""
        return self._change(CoreVariable.assign_sub, delta, read_value)

    def _change(self, how: Any, delta: Any, read_value: bool) -> Any:
        if isinstance(delta, IndexedSlices):
            delta = convert(delta)
        if type(delta) is not SparseRows:
            raw = convert_raw(delta, self.array.dtype)[0]
            if raw.shape != self.array.shape:
                raise invalid(None, f"cannot update variable with shape {self.shape} using a Tensor with shape {tuple(raw.shape)}")
            delta = made(raw)
        how(self, delta)
        return self._accessed() if read_value else None

    def _accessed(self) -> Self:
        """The variable itself, which the tapes of this thread watch: what gives its value reads it."""
        if state.active is not EMPTY:
            self.read()
        return self

    # -- protocols -----------------------------------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array, dtype=dtype)

    __array_ufunc__ = Absent()
    __array_function__ = Absent()
    __array_namespace__ = Absent()

    def __hash__(self) -> int:
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self!r})")

    __len__ = Tensor.__len__
    __iter__ = Tensor.__iter__
    __int__ = Tensor.__int__
    __float__ = Tensor.__float__
    __complex__ = Tensor.__complex__
    __index__ = Tensor.__index__

    def __bool__(self) -> bool:
        return truth(self)

    def __format__(self, spec: str) -> str:
        return format(values(self), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={shown(self)}>"

    __str__ = __repr__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("'tf.Variable' object does not support item assignment; write variable[key].assign(value)")

    def __reduce__(self) -> Any:
        return _restored, (self.array, self.trainable, self.name, self._spec)

    def __copy__(self) -> Variable:
        return _restored(*self.__reduce__()[1])

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        found = memo[id(self)] = _restored(*self.__reduce__()[1])
        return found

    sum = prod = max = min = std = var = all = any = argmax = argmin = mean = reshape = astype = squeeze = Absent()
    size = item = tolist = to_device = T = mT = Absent()


def _restored(raw: Any, trainable: bool, name: str, spec: Any) -> Variable:
    """A variable of the same value, watched by nobody."""
    found = Variable(made(raw), trainable, shape=spec)
    found.name = name
    return found


give_operators(Variable)
