"""Compiled methods: a function for each instance, which lives as long as that."""

from __future__ import annotations

import functools
import types
import weakref
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from tapegrad.compiled.function import Function


@final
class Methods:
    """The compiled methods of one function, by instance."""

    def __init__(self, function: Function[Any, Any]) -> None:
        self._function = function
        self._known: dict[int, tuple[Any, Any]] = {}
        self._past = 0  # how often Python has run for instances that are no more

    def of(self, instance: Any) -> Any:
        """The method of an instance."""
        known = self._known.get(id(instance))
        if known is None:
            try:
                known = self._made(instance)
            except TypeError:  # it can't be referred to weakly: a constant of the graph like any other
                return functools.partial(self._function, instance)
        return Method(instance, known[1])

    def _made(self, instance: Any) -> tuple[Any, Any]:
        from tapegrad.compiled.function import Function

        key, methods = id(instance), weakref.ref(self)

        def forget(_: Any) -> None:
            of = methods()
            if of is not None:
                of._past += of._known.pop(key)[1].trace_count

        ref = weakref.ref(instance, forget)
        fn = self._function
        made = self._known[key] = ref, Function(WeaklyBound(fn.python_function, ref), fn.jit_compile, fn.shapes)
        return made

    @property
    def trace_count(self) -> int:
        """How often Python has run."""
        return self._past + sum(f.trace_count for _, f in self._known.values())


@final
class WeaklyBound:
    """A method that does not keep its instance alive; who calls it does."""

    def __init__(self, fn: Any, ref: Any) -> None:
        self._fn = fn
        self._ref = ref
        functools.update_wrapper(self, fn)

    @property
    def __wrapped__(self) -> Any:
        return types.MethodType(self._fn, self._ref())

    @__wrapped__.setter
    def __wrapped__(self, fn: Any) -> None:
        """What `update_wrapper` sets."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn(self._ref(), *args, **kwargs)


@final
class Method:
    """A compiled function and its instance."""

    __slots__ = ("__self__", "_function")

    def __init__(self, instance: Any, function: Function[Any, Any]) -> None:
        self.__self__ = instance
        self._function = function

    @property
    def _name(self) -> str:
        return str(vars(self._function)["__name__"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self._name)

    def __deepcopy__(self, memo: Any) -> Any:
        import copy

        return getattr(copy.deepcopy(self.__self__, memo), self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and self._function is other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __repr__(self) -> str:
        return f"<compiled method {self._name} of {self.__self__!r}>"
