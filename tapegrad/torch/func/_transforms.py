"""Derivatives of functions, as functions."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad import transforms
from tapegrad.core.recorder import state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import TapegradError
from tapegrad.torch._errors import translated
from tapegrad.torch._recorder import recording_transform
from tapegrad.torch.func import _checks as checks
from tapegrad.torch.func._batches import settled, styled
from tapegrad.tree import flatten


def _inside(func: Any) -> Any:
    """A function that is given tensors of this style, whatever a transform makes of them, and that `no_grad` works in."""
    before = state.active.recorders

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        with recording_transform(before):
            return settled(func(*styled(args), **words))

    return run


def _asked(call: Any) -> Any:
    """What a transform gives, with its errors in this style's words."""
    try:
        return styled(call())
    except TapegradError as error:
        raise translated(error) from error


def _scalar(name: str, func: Any, has_aux: bool) -> Any:
    inside = _inside(func)

    @functools.wraps(func)
    def checked(*args: Any, **words: Any) -> Any:
        given = inside(*args, **words)
        y = checks.pair(f"{name}(f)(*args)", given, has_aux)
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
        made = transforms.value_and_grad(_scalar("grad_and_value", func, has_aux), checks.numbers(argnums, args), has_aux=has_aux)
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


def _checked(api: str, func: Any, has_aux: bool, more: Any = None) -> Any:
    """A function whose value is looked at before it is differentiated; `more` looks further."""
    inside = _inside(func)

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        given = inside(*args, **words)
        value = checks.pair(api, given, has_aux)
        checks.tensors_given(api, value)
        if more is not None:
            more(value)
        return given

    return run


def vjp(func: Any, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its pullback: from cotangents of the value to those of the arguments."""
    checks.tensors_alone("vjp(f, *primals)", "primals", primals)
    checked = _checked("vjp(f, *primals)", func, has_aux, _inexact)
    found = _asked(lambda: transforms.vjp(checked, *primals, has_aux=has_aux))
    y, pullback = found[0], found[1]
    structure = checks.structure(y)

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        if checks.structure(cotangents) != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. cotangents: "
                f"{checks.structure(cotangents)}, primal output: {structure}"
            )
        return _asked(lambda: pullback(cotangents))

    return (y, back, found[2]) if has_aux else (y, back)


def jvp(func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function, and its change along a direction."""
    checks.same_structure(primals, tangents)
    checked = _checked("jvp(f, primals, tangents)", func, has_aux, _dependent if strict else None)
    return _asked(lambda: transforms.jvp(checked, primals, tangents, has_aux=has_aux))


def _inexact(value: Any) -> None:
    for y in flatten(value)[0]:
        if y.array.dtype.kind not in "fcV":
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {y.dtype}"
            )


def _dependent(value: Any) -> None:
    """Refuse a value that the innermost forward mode knows nothing of."""
    forward = [r for r in state.active.recorders if r.on_push is not None]
    newest = max(forward, key=lambda r: r.serial)
    for y in flatten(value)[0]:
        if y.node is None or newest not in y.node.owners.recorders:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )


def linearize(func: Any, *primals: Any) -> tuple[Any, Any]:
    """The value of a function, and its linear approximation there."""
    y, push = _asked(lambda: transforms.linearize(_inside(func), *primals))
    return y, lambda *tangents: _asked(lambda: push(*tangents))


def _jacobian(func: Any, argnums: Any, has_aux: bool, name: str, chunk_size: int | None = None) -> Any:
    mode: Any = "reverse" if name == "jacrev" else "forward"
    api = "vjp(f, *primals)" if name == "jacrev" else "jvp(f, primals, tangents)"  # what each is made of there

    @functools.wraps(func)
    def run(*args: Any, **words: Any) -> Any:
        chosen = checks.numbers(argnums, args)
        checks.real(name, "inputs", args)
        checked = _checked(api, func, has_aux, lambda value: checks.real(name, "outputs", value))
        made = transforms.jacobian(checked, chosen, mode=mode, has_aux=has_aux, vectorized=chunk_size != 1)
        return _asked(lambda: made(*args, **words))

    return run


def jacrev(
    func: Any, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None, _preallocate_and_copy: bool = False
) -> Any:
    """A function that gives the Jacobian of `func`, by reverse sweeps."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, "jacrev", chunk_size)


def jacfwd(func: Any, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Any:
    """A function that gives the Jacobian of `func`, by forward mode."""
    return _jacobian(func, argnums, has_aux, "jacfwd")


def hessian(func: Any, argnums: Any = 0) -> Any:
    """A function that gives the Hessian of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """The function itself: what is written in place is computed anew here anyhow."""
    return func


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The value of a tensor inside a transform."""
    return tensor

