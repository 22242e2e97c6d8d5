"""Modules and layers as functions of their inputs and of their parameters, whatever framework they are of."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import is_float
from tapegrad.testing.words import like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    #: A function, examples, words.
    Opened = tuple[Any, Sequence[Any], dict[str, Any]]


def functional(module: Any, call: Callable[..., Any], examples: Sequence[Any], words: dict[str, Any]) -> Opened:
    """A module of the PyTorch style, in double precision; `call` is `torch.func.functional_call`."""
    parameters = {k: p.detach().double() for k, p in module.named_parameters()}
    rest = {k: b.double() if b.is_floating_point() else b for k, b in module.named_buffers()}

    def layer(*args: Any, parameters: dict[str, Any], **kwargs: Any) -> Any:
        return call(module, {**rest, **parameters}, args, kwargs)

    given = [p for p in inspect.signature(module.forward).parameters.values() if p.kind is not p.VAR_KEYWORD]
    _described(layer, given, "parameters", type(module).__name__)
    return layer, examples, {**words, "parameters": {k: like(p.numpy()) for k, p in parameters.items()}}


def with_variables(
    module: Any, variables: Sequence[Any], call: Callable[..., Any], examples: Sequence[Any], words: dict[str, Any]
) -> Opened:
    """A layer of the TensorFlow style, in double precision where its variables can be.

    `call(args, kwargs, values)` is the layer's output where its variables have these values.
    """

    def layer(*args: Any, variables: list[Any], **kwargs: Any) -> Any:
        return call(args, kwargs, variables)

    target = module.call if hasattr(module, "call") else module.__call__
    given = [p for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    _described(layer, given, "variables", type(module).__name__)
    values = [np.asarray(v) for v in variables]
    doubled = [x.astype(np.float64) if is_float(x) and x.dtype.kind != "c" else x for x in values]
    return layer, examples, {**words, "variables": list(map(like, doubled))}


def is_keras(module: Any) -> bool:
    """Whether a layer or a model is one of Keras 3, which can be called without its variables' state."""
    return hasattr(module, "stateless_call") and getattr(module, "built", False)


def of_keras(layer: Any) -> tuple[list[Any], Callable[..., Any]]:
    """The trainable variables of a Keras layer, and its call with other values for them: in double precision, if it can be."""
    layer = _doubled(layer)
    rest = [v.value for v in layer.non_trainable_variables]

    def call(args: Any, kwargs: Any, values: list[Any]) -> Any:
        return layer.stateless_call(values, rest, *args, **kwargs)[0]

    return [v.value for v in layer.trainable_variables], call


def _doubled(layer: Any) -> Any:
    """A copy of a Keras layer in double precision; the layer itself where it says too little of itself for that."""
    try:
        made = type(layer).from_config(_in_double(layer.get_config()))
        if not made.built:
            made.build_from_config(layer.get_build_config())
        made.set_weights(layer.get_weights())
    except Exception:  # a layer of one's own need not have a configuration, and says so in its own way
        return layer
    return made if len(made.trainable_variables) == len(layer.trainable_variables) else layer


def _in_double(config: Any) -> Any:
    """The configuration with double precision in the place of single precision, all the way down."""
    if isinstance(config, dict):
        return {k: _in_double(v) for k, v in config.items()}
    if isinstance(config, list | tuple):
        return type(config)(map(_in_double, config))
    return "float64" if isinstance(config, str) and config == "float32" else config


class Swap:
    """A module whose attributes hold tensors for the time of a call, in the place of its variables.

    `whole`: whether each of the variables is an attribute of the module, or of what it is made of.
    """

    def __init__(self, module: Any, held: Sequence[Any], kinds: Sequence[Any]) -> None:
        self.module = module
        known = {id(v): k for k, v in enumerate(held)}
        self.places = list(_places(module, known, set()))
        self.whole = {k for _, _, made_of in self.places for k in made_of.which} == set(range(len(held)))
        self.double = True
        self.kinds = kinds

    def __call__(self, args: Any, kwargs: Any, values: list[Any], cast: Callable[[Any, Any], Any]) -> Any:
        """The output for these values; in the variables' own precision, if double precision is refused."""
        if self.double:
            try:
                return self._with(values, args, kwargs)
            except Exception:  # each framework has a class of its own for two dtypes that do not go together
                own = self._in_their_own(args, kwargs, values, cast)  # raises if it is not for precision
                self.double = False
                return own
        return self._in_their_own(args, kwargs, values, cast)

    def _in_their_own(self, args: Any, kwargs: Any, values: list[Any], cast: Callable[[Any, Any], Any]) -> Any:
        given = [cast(x, self.kinds[0]) for x in args]
        return self._with([cast(x, kind) for x, kind in zip(values, self.kinds, strict=True)], given, kwargs)

    def _with(self, values: Sequence[Any], args: Any, kwargs: Any) -> Any:
        before = [store[name] for store, name, _ in self.places]
        try:
            for (store, name, made_of), v in zip(self.places, before, strict=True):
                store[name] = made_of.again(v, values)
            return self.module(*args, **kwargs)
        finally:
            for (store, name, _), v in zip(self.places, before, strict=True):
                store[name] = v


@final
class _MadeOf:
    """A variable, or a tuple with variables in it, which is made anew: nothing in a tuple can be replaced."""

    __slots__ = ("known", "which")

    def __init__(self, value: Any, known: dict[int, int]) -> None:
        self.known = known
        self.which = set(self._of(value))

    def _of(self, value: Any) -> Iterator[int]:
        if id(value) in self.known:
            yield self.known[id(value)]
        elif isinstance(value, tuple):
            for part in value:
                yield from self._of(part)

    def again(self, value: Any, values: Sequence[Any]) -> Any:
        """The same of other values."""
        if id(value) in self.known:
            return values[self.known[id(value)]]
        if not isinstance(value, tuple):
            return value
        parts = [self.again(part, values) for part in value]
        kind: Any = value.__class__  # of TensorFlow's wrappers, which track what is in them, that of what is wrapped
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def _places(x: Any, known: dict[int, int], seen: set[int]) -> Iterator[tuple[Any, Any, _MadeOf]]:
    """Where variables are: (an object's attributes, a list or a dict, the name in it, what is there)."""
    if id(x) in seen:
        return
    seen.add(id(x))
    attributes = getattr(x, "__dict__", None)
    items: Any = ()
    store: Any = None
    if isinstance(x, list):
        store, items = x, list(enumerate(x))
    elif isinstance(x, dict):
        store, items = x, list(x.items())
    elif isinstance(x, tuple):
        items = list(enumerate(x))
    elif hasattr(x, "trainable_variables") and isinstance(attributes, dict):
        store, items = attributes, list(attributes.items())
    for name, v in items:
        made_of = _MadeOf(v, known)
        if made_of.which and store is not None:
            yield store, name, made_of
        if id(v) not in known:
            yield from _places(v, known, seen)


def _described(layer: Any, given: Sequence[inspect.Parameter], more: str, name: str) -> None:
    extra = inspect.Parameter(more, inspect.Parameter.KEYWORD_ONLY)
    layer.__signature__ = inspect.Signature([*given, extra])
    layer.__name__ = layer.__qualname__ = name
