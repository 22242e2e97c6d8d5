"""Derivatives that the user writes or cuts: `tf.custom_gradient` and its relatives."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import tapegrad as tg
from tapegrad.core import tensor as core
from tapegrad.core.recorder import EMPTY, state
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.export import export
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made


@export("stop_gradient")
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The same values, as constants to every tape."""
    return made(convert(input).array)


@export("preventgradient", "raw_ops.PreventGradient")
def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """The same values; asking for their derivative raises LookupError."""

    @tg.custom_gradient
    def refused(x: Any) -> Any:
        def grad_fn(g: Any) -> NoReturn:
            raise LookupError(f"Gradient explicitly disabled. Reason: {message}")

        return x, grad_fn

    return S.adopt(refused(convert(input)))


def _shown(x: Any) -> Any:
    """What the core gives, in this style."""
    return nest.map_structure(lambda v: S.adopt(v) if isinstance(v, core.Tensor) else v, x)


@export("custom_gradient")
def custom_gradient(f: Any = None) -> Any:
    """A function with a derivative of its own: a decorator for one that returns ``(value, grad_fn)``.

    `grad_fn` takes a gradient for each output and gives one for each tensor among the positional arguments; with variables
    read inside, it takes `variables` too and gives (gradients, gradients of the variables).
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        names = _positional(f, args, kwargs)
        given = [*args, *(kwargs[n] for n in names)]
        rest = {k: v for k, v in kwargs.items() if k not in names}
        leaves = nest.flatten(given)
        places = [k for k, x in enumerate(leaves) if _has_gradient(x)]
        inputs = [leaves[k] if isinstance(leaves[k], core.Tensor) else convert(leaves[k]) for k in places]

        def body(*xs: Any) -> Any:
            filled = list(leaves)
            for k, x in zip(places, xs, strict=True):
                own = leaves[k]
                filled[k] = own if isinstance(own, core.Tensor) else S.adopt(x)
            passed = nest.pack_sequence_as(given, filled)
            result = f(*passed[: len(args)], **dict(zip(names, passed[len(args) :], strict=True)), **rest)
            if not isinstance(result, tuple | list) or len(result) != 2 or not callable(result[1]):
                raise TypeError(f"@tf.custom_gradient: {f.__name__} returns (value, grad_fn), got {result!r}")
            value, grad_fn = result
            outputs = nest.map_structure(lambda v: convert(v) if not isinstance(v, Tensor) else v, value)
            return outputs, _plain_gradient(grad_fn, leaves, places, f.__name__, len(inputs))

        if not inputs and state.active is EMPTY:
            return _shown(body()[0])
        return _shown(tg.custom_gradient(_renamed(body, f))(*inputs))

    return decorated


def _renamed(body: Any, f: Any) -> Any:
    body.__name__ = getattr(f, "__name__", "custom_gradient")
    return body


def _positional(f: Any, args: Any, kwargs: Any) -> list[str]:
    """Tensors that were given by keyword though they could stand in line: they have gradients too."""
    import inspect

    if not any(isinstance(v, core.Tensor) for v in kwargs.values()):
        return []
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    following = parameters[len(args) :]
    names = []
    for p in following:
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.name not in kwargs:
            break
        names.append(p.name)
    return names


def _has_gradient(x: Any) -> bool:
    return (isinstance(x, core.Tensor | IndexedSlices | int | float | complex) and not isinstance(x, bool)) or hasattr(x, "dtype")


def _plain_gradient(grad_fn: Any, leaves: Any, places: Any, name: str, count: int) -> Any:
    """`grad_fn` in the core's words."""
    import inspect

    def gradients(found: Any) -> list[Any]:
        flat = nest.flatten(found)
        if len(flat) == len(leaves) != count:  # TensorFlow makes tensors of all arguments, of strings and flags too
            flat = [flat[k] for k in places]
        if len(flat) != count:
            raise ValueError(
                f"custom_gradient function expected to return {len(leaves)} gradients, but returned {len(flat)} instead: {name}."
            )
        return [convert(g) if isinstance(g, IndexedSlices) else g for g in flat]

    def plain(*upstream: Any, **words: Any) -> Any:
        seeds = [S.adopt(g) for g in upstream]
        if not words:
            return gradients(grad_fn(*seeds))
        found = grad_fn(*seeds, **words)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise ValueError(f"custom_gradient function {name}: with variables, grad_fn returns (gradients, variable gradients)")
        of_inputs, of_variables = found
        return gradients(of_inputs), [convert(g) if isinstance(g, IndexedSlices) else g for g in of_variables]

    parameters = inspect.signature(grad_fn).parameters if callable(grad_fn) else {}
    if "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):

        def with_variables(*upstream: Any, variables: Any = None) -> Any:
            return plain(*upstream) if variables is None else plain(*upstream, variables=variables)

        return with_variables

    def without(*upstream: Any) -> Any:  # the core looks whether `variables` is among the arguments
        return plain(*upstream)

    return without


@export("recompute_grad")
def recompute_grad(f: Any) -> Any:
    """The function, whose inner values are computed again for the derivative instead of being kept."""

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) if state.active is EMPTY else _recomputed(f, args, kwargs)

    return decorated


def _recomputed(f: Any, args: Any, kwargs: Any) -> Any:
    checkpoint = getattr(tg, "checkpoint", None)
    if checkpoint is None:
        return f(*args, **kwargs)
    return _shown(checkpoint(lambda *xs: f(*nest.map_structure(_in_style, xs), **kwargs))(*args))


def _in_style(x: Any) -> Any:
    return S.adopt(x) if isinstance(x, core.Tensor) else x


@export("grad_pass_through")
def grad_pass_through(f: Any) -> Any:
    """The function, with the derivative of the identity."""

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        @custom_gradient
        def passing(*args: Any) -> Any:
            def grad_fn(*g: Any, variables: Any = None) -> Any:
                return (
                    (g[0] if len(g) == 1 else list(g), [None] * len(variables))
                    if variables is not None
                    else (g[0] if len(g) == 1 else list(g))
                )

            return f(*args, **kwargs), grad_fn

        return passing(*args)

    return decorated


@export("no_gradient", "NoGradient", "NotDifferentiable")
def no_gradient(op_type: str) -> None:
    """Accepted: it says of a graph's op that it has no derivative, and there are no such ops here."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")


@export("RegisterGradient")
class RegisterGradient:
    """Raises NotImplementedError: gradients are not registered by the names of graph ops here; use tf.custom_gradient."""

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        raise NotImplementedError("tf.RegisterGradient: ops have no names to register for; use tf.custom_gradient")
