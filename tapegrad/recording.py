"""Switching recording off and on, and cutting derivatives."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Self, TypeVar, final

from tapegrad.core import recorder as rec
from tapegrad.core.cuts import noted, paused
from tapegrad.core.recorder import NOTING, Recorder, state
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.errors import ArgumentError
from tapegrad.ops.convert import asarray, raw_of
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")


@final
class no_grad:
    """A context, or a decorator, in which the tapes that are active around it record nothing.

    A tape that is entered inside records.  On a generator function, or a coroutine function, it is in force only
    while the body runs.

    >>> import tapegrad as tg
    >>> x = tg.asarray(1.5)
    >>> with tg.GradientTape() as tape:
    ...     tape.watch(x)
    ...     with tg.no_grad():
    ...         y = x * x
    >>> tape.gradient(y, x) is None
    True
    """

    __slots__ = ("_stopped",)

    def __init__(self, *function: NoReturn) -> None:
        if function:
            raise ArgumentError("no_grad(): expected no argument; as a decorator it has parentheses, `@no_grad()`")
        self._stopped: list[list[Recorder]] = []

    def __enter__(self) -> Self:
        if NOTING:
            paused("no_grad")
        self._stopped.append(rec.pause(list(state.active.recorders)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rec.resume(self._stopped.pop())

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        flags = function.__code__.co_flags if isinstance(function, types.FunctionType) else 0
        if flags & _ASYNC_GENERATOR:
            raise ArgumentError(f"no_grad: {function.__name__} is an asynchronous generator; write `with no_grad():` in it")
        if flags & (_GENERATOR | _COROUTINE):
            return _on_coroutine(function) if flags & _COROUTINE else _on_generator(function)

        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            with no_grad():
                return function(*args, **kwargs)

        return wrapped


_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


def _on_generator(function: Any) -> Any:
    """A generator function whose body, and nothing else, runs under `no_grad`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _off(function(*args, **kwargs)))

    return wrapped


def _on_coroutine(function: Any) -> Any:
    """The same for a coroutine function: what runs while it waits is not its body."""

    @functools.wraps(function)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(_off(function(*args, **kwargs)))

    return wrapped


@types.coroutine
def _awaited(body: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    return (yield from body)


def _off(body: Any) -> Generator[Any, Any, Any]:
    """Run a generator or coroutine, each step of it under `no_grad`."""
    step: Any = functools.partial(body.send, None)
    while True:
        try:
            with no_grad():
                value = step()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
        except GeneratorExit:
            with no_grad():
                body.close()
            raise
        except BaseException as error:
            step = functools.partial(body.throw, error)
        else:
            step = functools.partial(body.send, sent)


def stop_gradient(x: Any) -> Any:
    """The same values (of a tensor, or each in a nested structure), as constants to every tape.  None stays None."""
    leaves, rebuild = flatten(x)
    if NOTING:
        noted("stop_gradient", [v.read()[1] for v in leaves if isinstance(v, Tensor)])
    return rebuild([None if v is None else tensor(raw_of(v if isinstance(v, Tensor) else asarray(v))) for v in leaves])
