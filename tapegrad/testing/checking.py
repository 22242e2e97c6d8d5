"""The check: what the user says of a function, and whether its derivative is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError
from tapegrad.testing.profiles import profile_named
from tapegrad.testing.properties import OTHERS, PROPERTIES
from tapegrad.testing.report import GradientCheckError, Result
from tapegrad.testing.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Function = Callable[..., Any]


def check(f: Function, /, *examples: Any, **words: Any) -> Result:
    """That the derivative of `f` is right: a `Result`, whose text is one line; or GradientCheckError, whose text is a report.

    * `f`: a function or an op of NumPy (with `vjp`), tapegrad, PyTorch, TensorFlow, JAX, autograd or MyGrad.
    * `examples`, and `words` by the names of parameters: what arguments look like: arrays, tuples of dimensions such as
      ``("b", "n")``, the words of this module, Hypothesis strategies, or lists and dicts of these; anything else is
      passed on as it is.  Without any, each argument is an array of any shape.
    * `vjp`: for NumPy, ``vjp(g, *xs)``, or ``vjp(g, y, *xs)`` with the output; or let `f` return ``(value, pullback)``; `jvp`:
      ``jvp(t, *xs)``; `second`: ``second(h, g, *xs)``, what `vjp` has for its own vjp.
    * `profile`: "fast", "default", "ci", "thorough"; `seed`: of all that is drawn; `only`, `skip`: names of properties.
    * `cotangent`: instead of drawn ones, with examples; `kinks`: "fail", or "warn" for programs of many ops.
    * `dtypes`: "fail" or, the default for NumPy, "warn" where single precision in gives a gradient in double precision.
    * `nondeterministic`: how far two calls may differ; `prove`: also count which planted mistakes are caught.
    * `inputs`: a dict of words for parameters whose names are among these.

    >>> import numpy as np
    >>> check(np.sin, vjp=lambda g, x: g * np.cos(x)).ok
    True
    >>> check(np.cos, vjp=lambda g, x: g * np.sin(x))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tapegrad.testing.report.GradientCheckError: cos: the gradient is not the derivative...
    """
    result = examine(f, *examples, **words)
    if not result.ok:
        raise GradientCheckError(result)
    return result


def examine(
    f: Function, /, *examples: Any, prove: bool = False, progress: Callable[[float], None] | None = None, **words: Any
) -> Result:
    """The same as `check`, but a failure is a `Result` too, and nothing is raised for it.

    >>> import numpy as np
    >>> examine(np.cos, vjp=lambda g, x: g * np.sin(x)).ok
    False
    """
    session = session_of(f, examples, progress=progress, **words)
    with session.system.at_work():
        result = session.run()
        if prove and result.ok:
            from tapegrad.testing.prove import prove as proof

            result.mutants = proof(session)
    return result


def session_of(
    f: Function,
    examples: Sequence[Any],
    /,
    *,
    vjp: Function | None = None,
    jvp: Function | None = None,
    second: Function | None = None,
    framework: str | None = None,
    profile: str | None = None,
    seed: int | None = None,
    only: str | Sequence[str] | None = None,
    skip: str | Sequence[str] = (),
    cotangent: Any = None,
    kinks: str | None = None,
    dtypes: str | None = None,
    nondeterministic: float = 0.0,
    inputs: Any = None,
    progress: Callable[[float], None] | None = None,
    **words: Any,
) -> Session:
    """A check before its first input; takes what `check` takes."""
    # Layers of Keras have a parameter of that name: what is no dict of words is the word for it.
    named = inputs if isinstance(inputs, dict) else {} if inputs is None else {"inputs": inputs}
    return Session(
        getattr(f, "gradcheck_body", f), examples, {**words, **named}, vjp=vjp, jvp=jvp, second=second, framework=framework,
        profile=profile_named(profile), seed=seed, only=_names("only", only), skip=_names("skip", skip) or frozenset(),
        cotangent=cotangent, kinks=kinks, dtypes=dtypes, nondeterministic=nondeterministic, progress=progress,
    )  # fmt: skip


def _names(option: str, given: str | Sequence[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    names = [n for n in given.split(",") if n] if isinstance(given, str) else list(given)
    for n in names:
        if n not in PROPERTIES and n not in OTHERS:
            raise ArgumentError(f"{option}={n!r}: expected names among {', '.join([*PROPERTIES, *OTHERS])}")
    return frozenset(names)
