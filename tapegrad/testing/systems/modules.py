"""Modules and layers as functions of their inputs and of their parameters, whatever framework they are of."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.words import like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    module: Any,
    variables: Sequence[Any],
    call: Callable[..., Any],
    examples: Sequence[Any],
    words: dict[str, Any],
) -> Opened:
    """A layer of the TensorFlow style, in the precision of its variables.

    `call(args, kwargs, values)` is the layer's output where its variables have these values.
    """

    def layer(*args: Any, variables: list[Any], **kwargs: Any) -> Any:
        return call(args, kwargs, variables)

    target = module.call if hasattr(module, "call") else module.__call__
    given = [p for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    _described(layer, given, "variables", type(module).__name__)
    layer.of_variables = True  # type: ignore[attr-defined]  # so that there is no second order
    return layer, examples, {**words, "variables": [like(np.asarray(v)) for v in variables]}


def _described(layer: Any, given: Sequence[inspect.Parameter], more: str, name: str) -> None:
    extra = inspect.Parameter(more, inspect.Parameter.KEYWORD_ONLY)
    layer.__signature__ = inspect.Signature([*given, extra])
    layer.__name__ = layer.__qualname__ = name
