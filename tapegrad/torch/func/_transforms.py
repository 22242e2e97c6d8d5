"""Derivatives of functions, as functions."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad import transforms
from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import TapegradError
from tapegrad.torch._errors import translated
from tapegrad.torch.func._batches import styled


def _inside(func: Any) -> Any:
    """A function that is given tensors of this style, whatever a transform makes of them."""

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        return func(*styled(args), **words)

    return run


def _asked(call: Any) -> Any:
    """What a transform gives, with its errors in this style's words."""
    try:
        return styled(call())
    except TapegradError as error:
        raise translated(error) from error


def _scalar(name: str, func: Any, has_aux: bool) -> Any:
    @functools.wraps(func)
    def checked(*args: Any, **words: Any) -> Any:
        given = func(*styled(args), **words)
        if has_aux and not (isinstance(given, tuple) and len(given) == 2):
            raise RuntimeError(
                f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        y = given[0] if has_aux else given
        if not isinstance(y, Core):
            raise RuntimeError(f"{name}(f)(*args): Expected f(*args) to return a scalar Tensor, got a {type(y).__name__}")
        if len(y.array.shape):
            raise RuntimeError(
                f"{name}(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {len(y.array.shape)} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        return given

    return checked


def grad_and_value(func: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that gives the gradient of `func` and its value."""

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        made = transforms.value_and_grad(_scalar("grad_and_value", func, has_aux), _numbers(argnums, args), has_aux=has_aux)
        value, found = _asked(lambda: made(*args, **words))
        return found, value

    return run


def grad(func: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that gives the gradient of `func`; with `has_aux`, along with what `func` gives beside its value."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        found, value = both(*args, **words)
        return (found, value[1]) if has_aux else found

    return run


def _numbers(argnums: Any, args: tuple[Any, ...]) -> Any:
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(n, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    return argnums


def vjp(func: Any, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its pullback: from cotangents of the value to those of the arguments."""
    found = _asked(lambda: transforms.vjp(_inside(func), *primals, has_aux=has_aux))
    y, pullback = found[0], found[1]

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return _asked(lambda: pullback(cotangents))

    return (y, back, found[2]) if has_aux else (y, back)


def jvp(func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function, and its change along a direction."""
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals is a "
            "tuple of 3 tensors, tangents also must be."
        )
    return _asked(lambda: transforms.jvp(_inside(func), primals, tangents, has_aux=has_aux))


def linearize(func: Any, *primals: Any) -> tuple[Any, Any]:
    """The value of a function, and its linear approximation there."""
    y, push = _asked(lambda: transforms.linearize(_inside(func), *primals))
    return y, lambda *tangents: _asked(lambda: push(*tangents))


def _jacobian(func: Any, argnums: Any, has_aux: bool, mode: str, chunk_size: int | None = None) -> Any:
    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        made = transforms.jacobian(_inside(func), _numbers(argnums, args), mode=mode, has_aux=has_aux)  # type: ignore[arg-type]
        return _asked(lambda: made(*args, **words))

    return run


def jacrev(
    func: Any, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None, _preallocate_and_copy: bool = False
) -> Any:
    """A function that gives the Jacobian of `func`, by reverse sweeps."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, "reverse")


def jacfwd(func: Any, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Any:
    """A function that gives the Jacobian of `func`, by forward mode."""
    return _jacobian(func, argnums, has_aux, "forward")


def hessian(func: Any, argnums: Any = 0) -> Any:
    """A function that gives the Hessian of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """The function itself: what is written in place is computed anew here anyhow."""
    return func


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The value of a tensor inside a transform."""
    return tensor

