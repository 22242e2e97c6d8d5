"""`tf.function`: compiled through TensorFlow where new arrays are on its kernels; on NumPy kernels a function runs at once."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from typing import Any

import numpy as np

from tapegrad.compiled.tracing import is_tracing, outside_of_traces
from tapegrad.core import tensor as core
from tapegrad.errors import ArgumentError, SymbolicValueError
from tapegrad.registry.space import NUMPY, default_space
from tapegrad.tf import nest
from tapegrad.tf.concrete import ConcreteFunction
from tapegrad.tf.convert import convert, identity
from tapegrad.tf.errors import OperatorNotAllowedInGraphError
from tapegrad.tf.export import export
from tapegrad.tf.graph_gradients import RUNNING, Unrecorded, recorded
from tapegrad.tf.singletons import MAKING
from tapegrad.tf.specs import TensorSpec
from tapegrad.tf.tensor import Tensor

_LOG = logging.getLogger("tapegrad")


class Function:
    """A Python function as `tf.function` shows it.

    On TensorFlow's kernels it is traced once for each kind of arguments, and compiled (`tapegrad.function`).  On NumPy kernels
    there is nothing to compile: the body runs at every call, so what it does besides (printing, appending) happens every
    time, and Python branches on values of tensors work as they stand.  So does, on TensorFlow's kernels too, a function of which
    Python has to know values while it is traced: for an `if`, a `while`, a length.  Its first call is traced in vain, and it is
    logged that the function is not compiled from then on.
    """

    def __init__(self, python_function: Any, input_signature: Any, words: dict[str, Any]) -> None:
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._words = words
        self._compiled: Any = None
        self._concrete: dict[Any, ConcreteFunction] = {}  # of each signature one
        self._records = False  # whether `tf.gradients` was called in it
        self._at_once = False  # whether Python has to know values in it
        self._was_called = False
        # attributes of a function come along; those of an object, such as a model, are its own
        functools.update_wrapper(self, python_function, updated=("__dict__",) if inspect.isfunction(python_function) else ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.input_signature is not None:
            args, kwargs = self._checked(args, kwargs), {}
        if _eager[0]:
            return _tensors(self.python_function(*args, **kwargs))
        if default_space() is NUMPY:
            args, kwargs = tuple(map(_taken, args)), {k: _taken(v) for k, v in kwargs.items()}
        if RUNNING.depth:
            return self._run(args, kwargs)
        MAKING.begin(first=not self._was_called)
        try:
            found = self._run(args, kwargs)
            if not self._was_called:
                MAKING.check()
                self._was_called = True
            return found
        finally:
            MAKING.end()

    def _run(self, args: Any, kwargs: Any) -> Any:
        """The result; a function that turns out to need a tape around it begins again."""
        RUNNING.depth += 1
        try:
            return self._called(args, kwargs)
        except Unrecorded:
            if RUNNING.depth > 1 or self._records:  # the outermost function begins again
                raise
            self._records, self._compiled = True, None
            return self._called(args, kwargs)
        finally:
            RUNNING.depth -= 1

    def _called(self, args: Any, kwargs: Any) -> Any:
        """The result, from the body or from what was compiled of it."""
        body = recorded(self.python_function) if self._records or RUNNING.tape is not None else self.python_function
        if self._at_once or default_space() is NUMPY:
            return _tensors(body(*args, **kwargs))
        from tapegrad.tf import compiling

        if self._compiled is None:
            self._compiled = compiling.compiled(body, self.input_signature, self._words)
        try:
            return compiling.called(self._compiled, args, kwargs)
        except (TypeError, ArgumentError) as error:
            if is_tracing() or not self._asks_for_values(error, args, kwargs):
                raise  # a function around it that is being traced runs at once, as a whole
            said = str(error).split(";", 1)[0]
        _LOG.warning("%r runs at once from now on, as Python has to know values in it: %s", self, said)
        self._at_once = True
        return self._called(*nest.map_structure(_taken, (args, kwargs)))

    def _asks_for_values(self, error: Exception, args: Any, kwargs: Any) -> bool:
        """Whether an error while it was traced says that Python, which AutoGraph would have rewritten, has to know values."""
        if isinstance(error, OperatorNotAllowedInGraphError):
            return bool(self._words["autograph"])
        return isinstance(error, SymbolicValueError) or any(map(_stays, nest.flatten((args, kwargs))))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = Function(self.python_function.__get__(instance, owner), self.input_signature, self._words)
        name = self.__dict__.get("__name__")
        if name and "__slots__" not in type(instance).__dict__:
            instance.__dict__.setdefault(f"_tf_function_{name}", bound)
            return instance.__dict__[f"_tf_function_{name}"]
        return bound

    def _checked(self, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """Arguments as the signature wants them; raises TypeError where they do not fit."""
        assert self.input_signature is not None
        bound = inspect.signature(self.python_function).bind(*args, **kwargs)
        if len(bound.args) < len(self.input_signature):
            bound.apply_defaults()
        given = bound.args
        if len(given) != len(self.input_signature):
            raise TypeError(
                f"Binding inputs to tf.function failed: expected {len(self.input_signature)} arguments for the signature "
                f"{self.input_signature}, got {len(given)}"
            )
        return tuple(
            nest.map_structure(_fits, spec, x) if nest.is_nested(spec) else _fits(spec, x)
            for spec, x in zip(self.input_signature, given, strict=True)
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for one signature, which is that of the arguments: tensors, or specs."""
        given = args or self.input_signature or ()
        if self.input_signature is not None or kwargs or not all(isinstance(a, TensorSpec | core.Tensor) for a in given):
            return ConcreteFunction(self, given, kwargs)
        specs = [a if isinstance(a, TensorSpec) else TensorSpec.from_tensor(a) for a in given]
        key = tuple([(s.shape if s.shape.rank is None else tuple(s.shape), s.dtype, s.name) for s in specs])
        found = self._concrete.get(key)
        if found is None:
            found = self._concrete[key] = ConcreteFunction(Function(self.python_function, specs, self._words), specs, kwargs)
        return found

    def _decorate(self, decorator: Any) -> None:
        """Put a decorator around the Python function: TensorFlow's name for it, which Sonnet's modules know."""
        if self._compiled is not None:
            raise ValueError("a function that has been called cannot be decorated any more")
        self.python_function = decorator(self.python_function)
        self._concrete.clear()

    @property
    def function_spec(self) -> Any:
        """The signature of the Python function."""
        return inspect.signature(self.python_function)

    def experimental_get_tracing_count(self) -> int:
        """How often Python has run to be compiled; 0 where functions run at once."""
        return 0 if self._compiled is None else int(self._compiled.trace_count)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signature, as text."""
        return f"{getattr(self, '__name__', 'function')}{self.input_signature or ''}"

    def __repr__(self) -> str:
        return f"<tapegrad.tf.function of {self.python_function!r}>"


def _fits(spec: Any, x: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        return x
    if not isinstance(x, core.Tensor):
        x = convert(x, spec.dtype.numpy)
    if not spec.is_compatible_with(x):
        raise TypeError(
            f"Binding inputs to tf.function failed: Can not cast TensorSpec(shape={tuple(x.shape)}, dtype={x.dtype!r}) to {spec!r}"
        )
    return x if isinstance(x, Tensor) else convert(x)


def _taken(x: Any) -> Any:
    """An argument as a function gets it: arrays of NumPy's are tensors in it, in structures too."""
    if type(x) is Tensor:
        return x
    if isinstance(x, _ARRAYS):
        return convert(x)
    if nest.is_nested(x) and any(isinstance(leaf, _ARRAYS) for leaf in nest.flatten(x)):
        return nest.map_structure(_taken, x)
    return x


_ARRAYS = (np.ndarray, np.generic)


def _stays(x: Any) -> bool:
    """Whether an argument stays on the host: strings do, and iterators."""
    return hasattr(type(x), "__next__") or (isinstance(x, core.Tensor) and bool(x.array.dtype.hasobject))


def _tensors(found: Any) -> Any:
    """Results as a function gives them: numbers, texts and arrays are tensors."""
    if found is None or type(found) is Tensor:
        return found
    return nest.map_structure(result_of, found)


def result_of(x: Any) -> Any:
    """A variable by its value at the end; a number, a text and an array as a tensor."""
    if isinstance(x, core.Tensor) or hasattr(type(x), "__tapegrad_tensor__"):
        return x if isinstance(x, Tensor) else identity(x)
    if isinstance(x, str | bytes):
        return x if is_tracing() else convert(x)  # text stays on the host
    return convert(x) if isinstance(x, int | float | complex | np.ndarray | np.generic) else x


@export("function")
def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """A function that TensorFlow's kernels compile; on NumPy kernels it runs at once (see `Function`)."""
    if input_signature is not None and not isinstance(input_signature, list | tuple):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(input_signature)}.")
    words = {
        "autograph": autograph,
        "jit_compile": jit_compile or experimental_compile,
        "reduce_retracing": reduce_retracing,
        "input_signature": input_signature,
    }

    def decorate(f: Any) -> Function:
        if not callable(f):
            raise TypeError(f"{f!r} is not a callable object")
        return Function(f, input_signature, words)

    return decorate if func is None else decorate(func)


_eager = [False]


@export("config.run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Let functions run at once, as they do on NumPy kernels anyway."""
    _eager[0] = bool(run_eagerly)


@export("config.functions_run_eagerly")
def functions_run_eagerly() -> bool:
    """What was set last."""
    return _eager[0]


@export("autograph.experimental.do_not_convert")
def do_not_convert(func: Any = None) -> Any:
    """The function itself."""
    return do_not_convert if func is None else func


@export("autograph.to_graph")
def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """The function itself: branches and loops of Python run as they stand."""
    return entity


@export("autograph.to_code")
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The source of a function, which runs as it stands."""
    return inspect.getsource(getattr(entity, "python_function", entity))


@export("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = None, swap_memory: Any = None, maximum_iterations: Any = None, shape_invariants: Any = None
) -> None:
    """Accepted: a loop of Python runs as it stands."""


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted: there is nothing to report."""


@export("init_scope")
def init_scope() -> contextlib.AbstractContextManager[None]:
    """A context outside of the function that is being traced; elsewhere everything is as it was."""
    return outside_of_traces()


@export("control_dependencies")
def control_dependencies(control_inputs: Any = None) -> contextlib.AbstractContextManager[None]:
    """A context in which everything is as it was: what is given has been done already."""
    return contextlib.nullcontext()
