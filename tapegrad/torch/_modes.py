"""Switching recording off and on: contexts, decorators and calls."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from tapegrad.torch._elsewhere import lend
from tapegrad.torch._recorder import enter_mode, is_enabled, leave_mode, switch


class _Mode:
    """A context that can also decorate functions, generator functions and classes."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def again(self) -> Any:
        """A new context like this one."""
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            return self._on_class(function)
        if inspect.isgeneratorfunction(function):
            return self._on_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            with self.again():
                return function(*args, **words)

        return wrapped

    def _on_class(self, cls: Any) -> Any:
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. "
            "To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        cls.__init__ = self(cls.__init__)
        return cls

    def _on_generator(self, function: Any) -> Any:
        """Each step runs in the mode, and what runs between the steps does not."""

        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            body = function(*args, **words)
            step: Any = functools.partial(body.send, None)
            while True:
                try:
                    with self.again():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self.again():
                        body.close()
                    raise
                except BaseException as error:
                    step = functools.partial(body.throw, error)
                else:
                    step = functools.partial(body.send, sent)

        return wrapped


def _or_decorate(cls: Any, function: Any) -> Any:
    made: Any = object.__new__(cls)
    if function is None:
        return made
    made.__init__()
    return made(function)


class _Inference(threading.local):
    """Whether `inference_mode` is in force on a thread, and what `no_grad` and its like have said since: nothing is recorded there."""

    on = False
    grad = False


INFERENCE = lend(_Inference())


def _enter(on: bool) -> Any:
    """Switch recording as a mode says; give back how it was."""
    if not INFERENCE.on:
        return enter_mode(on)
    was, INFERENCE.grad = INFERENCE.grad, on
    return was


def _leave(was: Any) -> None:
    if INFERENCE.on:
        INFERENCE.grad = was
    else:
        leave_mode(was)


class no_grad(_Mode):
    """A context in which nothing is recorded."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return _or_decorate(cls, function)

    def __init__(self) -> None:
        self._was: list[Any] = []

    def __enter__(self) -> None:
        self._was.append(_enter(False))

    def __exit__(self, *_: object) -> None:
        _leave(self._was.pop())


class enable_grad(no_grad):
    """A context in which everything is recorded, inside `no_grad` too."""

    def __enter__(self) -> None:
        self._was.append(_enter(True))


class set_grad_enabled(_Mode):
    """Switch recording on or off: at once, and until a context made of this call is left."""

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self.mode = mode
        self._was = _enter(mode)

    def again(self) -> Any:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        _enter(self.mode)

    def __exit__(self, *_: object) -> None:
        _leave(self._was)

    def __call__(self, function: Any) -> Any:
        _leave(self._was)  # as a decorator it is not a call
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """Whether what is computed now is recorded."""
    return INFERENCE.grad if INFERENCE.on else is_enabled()


class inference_mode(_Mode):
    """A context in which nothing is recorded, and whose tensors never can be."""

    def __new__(cls, mode: Any = True) -> Any:
        return _or_decorate(cls, mode if callable(mode) else None)

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)
        self._was: list[tuple[bool, bool, bool]] = []

    def again(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        from tapegrad.torch._inference import enter

        self._was.append((INFERENCE.on, INFERENCE.grad, switch(not self.mode)))
        INFERENCE.grad = False
        enter(self.mode)

    def __exit__(self, *_: object) -> None:
        from tapegrad.torch._inference import leave

        on, INFERENCE.grad, recorded = self._was.pop()
        leave(on)
        switch(recorded)


def is_inference_mode_enabled() -> bool:
    """Whether an `inference_mode` is in force on this thread."""
    return INFERENCE.on


class _Multithreading(threading.local):
    on = True


_MULTITHREADING = _Multithreading()


class set_multithreading_enabled(_Mode):
    """Say whether a sweep may use several threads, at once and until a context made of this call is left; here it uses one."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._was = _MULTITHREADING.on
        _MULTITHREADING.on = self._mode

    def again(self) -> Any:
        return set_multithreading_enabled(self._mode)

    def __enter__(self) -> None:
        _MULTITHREADING.on = self._mode

    def __exit__(self, *_: object) -> None:
        _MULTITHREADING.on = self._was


def is_multithreading_enabled() -> bool:
    """What was said of threads."""
    return _MULTITHREADING.on
