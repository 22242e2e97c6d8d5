"""What `get_concrete_function` gives: a function for one signature, in which what is no tensor is fixed."""

from __future__ import annotations

import inspect
from typing import Any

from tapegrad.core import tensor as core
from tapegrad.tf import nest
from tapegrad.tf.errors import invalid
from tapegrad.tf.specs import TensorSpec, spec_of
from tapegrad.tf.style import short


class ConcreteFunction:
    """A function for one signature: its tensors are given at each call, the other arguments once and for all.

    A call gives arguments as the Python function takes them, those that are fixed may be left out; or the tensors alone.
    """

    def __init__(self, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self._function = function
        self._signature = inspect.signature(function.python_function)
        bound = self._signature.bind(*args, **kwargs)
        if function.input_signature is None:
            bound.apply_defaults()  # else the signature has no place for them
        self._fixed = bound.arguments
        self.structured_input_signature = (_described(bound.args), _described(bound.kwargs))
        self.name = getattr(function, "__name__", "function")
        self._given: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._bound(args, kwargs)
        found = self._function(*bound.args, **bound.kwargs)
        self._given = nest.map_structure(_spec_or_itself, found)
        return found

    @property
    def inputs(self) -> list[Any]:
        """What it takes: the specs of its tensors."""
        return [x for x in nest.flatten(self.structured_input_signature) if isinstance(x, TensorSpec)]

    @property
    def structured_outputs(self) -> Any:
        """The specs of what it gives, once it was called."""
        if self._given is None:
            raise RuntimeError(f"{self.name}: there is no graph here, so what a concrete function gives is known after its first call")
        return self._given

    @property
    def outputs(self) -> list[Any]:
        """The specs of the tensors that it gives, once it was called."""
        return [x for x in nest.flatten(self.structured_outputs) if isinstance(x, TensorSpec)]

    @property
    def output_shapes(self) -> Any:
        """The shapes of what it gives, once it was called."""
        return nest.map_structure(lambda x: getattr(x, "shape", None), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of what it gives, once it was called."""
        return nest.map_structure(lambda x: getattr(x, "dtype", None), self.structured_outputs)

    @property
    def graph(self) -> Any:
        """Raises AttributeError: there is none."""
        raise AttributeError(
            f"{self.name}: there are no graphs here; a concrete function has structured_input_signature, inputs, and, once it was "
            "called, structured_outputs, outputs, output_shapes and output_dtypes",
            name="graph",
            obj=self,
        )

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that the Python function holds by its object or by names of its surroundings."""
        f = self._function.python_function
        held = [getattr(f, "__self__", None), *(c.cell_contents for c in getattr(f, "__closure__", None) or () if _is_filled(c))]
        found: list[Any] = []
        for x in held:
            several = getattr(x, "variables", None)
            found += [x] if hasattr(x, "assign") else list(several) if isinstance(several, list | tuple) else []
        return tuple({id(v): v for v in found}.values())

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of its variables that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Arguments as the Python function takes them; raises TypeError where they do not fit."""
        try:
            given = self._signature.bind_partial(*args, **kwargs).arguments
            problem = self._problem(given)
        except TypeError as error:
            given, problem = {}, str(error)
        if problem:
            if kwargs or len(args) != len(self.inputs):
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `{problem}`. Received args: {args} and kwargs: {kwargs} "
                    f"for signature: {self._signature}"
                )
            rest = iter(args)  # the tensors alone, in their order
            given = {k: _filled(v, rest) for k, v in self._fixed.items()}
        for k, v in given.items():
            _check_dtypes(self.name, self._fixed[k], v)
        return inspect.BoundArguments(self._signature, self._fixed | given)

    def _problem(self, given: dict[str, Any]) -> str:
        """Why these arguments do not fit; "" if they do."""
        for k in given:
            if k not in self._fixed:
                return f"the argument {k!r} has its default"
        for k, fixed in self._fixed.items():
            if k not in given:
                if any(map(_is_open, nest.flatten(fixed))):
                    return f"missing a required argument: {k!r}"
            elif not _fits(fixed, given[k]):
                return f"Can not cast {given[k]!r} to {fixed!r} for the argument {k!r}"
        return ""


def _is_open(x: Any) -> bool:
    """Whether a call gives another one."""
    return isinstance(x, core.Tensor | TensorSpec)


def _spec_or_itself(x: Any) -> Any:
    return spec_of(x) if _is_open(x) else x


def _is_filled(cell: Any) -> bool:
    """Whether a name of the surroundings has a value yet."""
    try:
        cell.cell_contents  # noqa: B018  it raises if not
    except ValueError:
        return False
    return True


def _described(x: Any) -> Any:
    return nest.map_structure(_spec_or_itself, x)


def _fits(fixed: Any, given: Any) -> bool:
    """Whether an argument can stand where this one stood."""
    try:
        nest.assert_same_structure(fixed, given)
    except (TypeError, ValueError):
        return False
    return all(
        _could_be_tensor(v) if _is_open(f) else f is v or (not isinstance(v, core.Tensor) and type(f) is type(v) and bool(f == v))
        for f, v in zip(nest.flatten(fixed), nest.flatten(given), strict=True)
    )


def _could_be_tensor(x: Any) -> bool:
    return isinstance(x, int | float | complex | str | bytes | core.Tensor) or hasattr(x, "__array__") or hasattr(x, "__tf_tensor__")


def _filled(fixed: Any, rest: Any) -> Any:
    return nest.map_structure(lambda f: next(rest) if _is_open(f) else f, fixed)


def _check_dtypes(name: str, fixed: Any, given: Any) -> None:
    """Raise InvalidArgumentError for a tensor of another dtype than that of the signature."""
    wanted, got = nest.flatten(fixed), nest.flatten(given)
    if len(wanted) != len(got):
        raise TypeError(f"Binding inputs to tf.function failed: {name} takes {fixed!r}, got {given!r}")
    for i, (f, v) in enumerate(zip(wanted, got, strict=True)):
        if _is_open(f) and isinstance(v, core.Tensor) and v.dtype != f.dtype:
            raise invalid(
                name,
                f"cannot compute {name} as input #{i}(zero-based) was expected to be a {short(f.dtype.numpy)} tensor but is a "
                f"{short(v.dtype.numpy)} tensor",
            )
