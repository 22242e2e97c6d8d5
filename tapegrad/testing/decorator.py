"""`@gradcheck`: a test whose body is the function under test."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


def gradcheck(*examples: Any, **words: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A test that the derivative of its own body is right; what the body returns is differentiated.

    Takes what `check` takes.  Parameters without a word or an example are fixtures of pytest.  Raises ArgumentError where a
    function stands in the place of an example, as in `@gradcheck` without parentheses: no test would run.

    >>> import tapegrad as tg
    >>> from tapegrad.testing import array, gradcheck
    >>> @gradcheck(x=array("b", 3))
    ... def test_softmax(x):
    ...     return tg.softmax(x, axis=-1)
    >>> test_softmax.gradcheck
    True
    """
    if examples and callable(examples[0]):
        name = getattr(examples[0], "__name__", "f")
        raise ArgumentError(
            f"gradcheck decorates a test: write @gradcheck(x=array('n')) above it; to check {name} here and now write check({name}, x), "
            "or, with the arguments that PyTorch's has, torch_gradcheck"
        )

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        import pytest

        params = list(inspect.signature(body).parameters.values())
        drawn = [p.name for p in params[: len(examples)]] + [p.name for p in params if p.name in words]
        fixtures = [p for p in params if p.name not in drawn]
        if not drawn:
            raise ArgumentError(
                f"@gradcheck of {body.__name__}: say what its arguments look like: @gradcheck(x=array('n'))"
            )

        def test(*, request: Any, gradcheck_property: str | None, **given: Any) -> None:
            from tapegrad.testing.plugin import checker

            def function(*args: Any, **kwargs: Any) -> Any:
                return body(*args, **kwargs, **given)

            function.__name__ = function.__qualname__ = body.__name__
            function.__module__ = body.__module__
            function.__wrapped__ = body  # type: ignore[attr-defined]  # whose code is searched for numbers and names
            function.__signature__ = inspect.Signature([p for p in params if p.name in drawn])  # type: ignore[attr-defined]
            rest = {"only": gradcheck_property} if gradcheck_property else {}
            checker(request)(function, *examples, **{**rest, **words})

        test.__name__, test.__qualname__ = body.__name__, body.__qualname__
        test.__module__, test.__doc__ = body.__module__, body.__doc__
        test.gradcheck = True  # type: ignore[attr-defined]
        test.gradcheck_body = body  # type: ignore[attr-defined]  # what `check` takes, where a report's line is pasted
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in fixtures]
        own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in ("request", "gradcheck_property")]
        test.__signature__ = inspect.Signature([*keyword, *own])  # type: ignore[attr-defined]
        return pytest.mark.gradcheck(test)

    return decorate
