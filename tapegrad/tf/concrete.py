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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._bound(args, kwargs)
        return self._function(*bound.args, **bound.kwargs)

    @property
    def inputs(self) -> list[Any]:
        """What it takes: the specs of its tensors."""
        return [x for x in nest.flatten(self.structured_input_signature) if isinstance(x, TensorSpec)]

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


def _described(x: Any) -> Any:
    return nest.map_structure(lambda v: spec_of(v) if _is_open(v) else v, x)


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
