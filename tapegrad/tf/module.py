"""`tf.Module`: an object that finds the variables in its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tapegrad.tf.export import export
from tapegrad.tf.names import name_scope
from tapegrad.tf.variable import Variable


@export("Module")
class Module:
    """A container of variables and other modules, which are its attributes, in lists and dicts too."""

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        elif not re.fullmatch(r"[a-zA-Z_]\w*", name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._name_scope = name_scope(scope)  # TensorFlow's name for it, which Sonnet's modules know

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        waiting = self.__dict__.get("_waiting")
        if waiting is not None and value is not waiting:
            waiting.met(name, value)

    @property
    def name(self) -> str:
        """The name that was given, or that of the class."""
        return self.__dict__.get("_name") or type(self).__name__.lower()

    @property
    def name_scope(self) -> name_scope:
        """A context in which variables are named after the module."""
        return self.__dict__.get("_name_scope") or name_scope(self.name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables, each once, in the order of the names of the attributes."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are trainable."""
        return tuple(v for v in self._flatten(predicate=_is_variable) if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are not trainable."""
        return tuple(v for v in self._flatten(predicate=_is_variable) if not v.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All modules inside."""
        return tuple(self._flatten(predicate=lambda x: isinstance(x, Module) and x is not self))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Any = None,
        attribute_traversal_key: Any = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """What is found in the attributes and satisfies a predicate, with its path if asked for."""
        for path, x in _walk(self, (), {id(self)}, recursive):
            if predicate is None or predicate(x):
                yield (path, x) if with_path else x

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """A method that runs in the name scope of its module: a decorator."""
        import functools

        @functools.wraps(method)
        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapped


def _is_variable(x: Any) -> bool:
    return isinstance(x, Variable) or hasattr(type(x), "__tapegrad_tensor__")


def _holds(x: Any) -> dict[str, Any] | None:
    """The attributes of a module, or of what looks like one (a Keras layer)."""
    if isinstance(x, Module):
        return {k: v for k, v in vars(x).items() if k not in x._TF_MODULE_IGNORED_PROPERTIES}
    return None


def _walk(module: Any, path: tuple[Any, ...], seen: set[int], recursive: bool) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inner: list[tuple[tuple[Any, ...], Any]] = []
    for name in sorted(_holds(module) or {}):
        for where, x in _leaves((_holds(module) or {})[name], (*path, name)):
            if id(x) in seen:
                continue
            seen.add(id(x))
            yield where, x
            if recursive and isinstance(x, Module):
                inner.append((where, x))
            elif recursive and not _is_variable(x) and hasattr(x, "trainable_variables") and hasattr(x, "variables"):
                for k, v in enumerate(x.variables):  # a layer of Keras knows its own
                    if id(v) not in seen:
                        seen.add(id(v))
                        yield (*where, k), v
    for where, x in inner:
        yield from _walk(x, where, seen, recursive)


def _leaves(x: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(x, Mapping):
        try:
            keys = sorted(x)
        except TypeError:
            keys = list(x)
        for k in keys:
            yield from _leaves(x[k], (*path, k))
    elif isinstance(x, list | tuple):
        for k, v in enumerate(x):
            yield from _leaves(v, (*path, k))
    else:
        yield path, x
