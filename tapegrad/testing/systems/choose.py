"""Which framework a function is of: seen from what is given, from the op object, or from what it returns."""

from __future__ import annotations

import contextlib
import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.binding import Binding
    from tapegrad.testing.systems.base import System

#: framework -> (module to be installed, the adapter's module)
FRAMEWORKS = {
    "numpy": ("numpy", "plain"),
    "tapegrad": ("tapegrad", "taped"),
    "tapegrad.torch": ("tapegrad", "taped"),
    "tapegrad.tf": ("tapegrad", "taped"),
    "torch": ("torch", "torch"),
    "tensorflow": ("tensorflow", "tensorflow"),
    "jax": ("jax", "jax"),
    "autograd": ("autograd", "autograd"),
    "mygrad": ("mygrad", "mygrad"),
}
_OF_MODULE = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "jaxlib": "jax",
    "autograd": "autograd",
    "mygrad": "mygrad",
}


def framework_of(x: Any) -> str | None:
    """The framework that an object is of, by where its class comes from."""
    for kind in type(x).__mro__:
        top = kind.__module__.partition(".")[0]
        if top in _OF_MODULE:
            return _OF_MODULE[top]
        if kind.__module__.startswith(("tapegrad.torch.nn.", "tapegrad.tf.module")):
            return _style(kind.__module__)
    from tapegrad.core.tensor import Tensor
    from tapegrad.registry.op import Op

    if type(x).__module__.partition(".")[0] == "keras":  # on tapegrad, if its variables are
        held = [getattr(v, "value", v) for v in getattr(x, "trainable_variables", ())]
        return "tapegrad.tf" if held and all(isinstance(v, Tensor) for v in held) else None
    return _style(type(x).__module__) if isinstance(x, Tensor | Op) else None


def _style(module: str) -> str:
    """Which of tapegrad's styles a module is of."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[1:2] in (["torch"], ["tf"]) else "tapegrad"


def framework_for(f: Any, examples: Sequence[Any], named: str | None) -> str | None:
    """The framework, as far as it can be told before the function is called."""
    if named is not None:
        if named not in FRAMEWORKS:
            raise ArgumentError(f"framework={named!r}: expected one of {', '.join(FRAMEWORKS)}")
        module = FRAMEWORKS[named][0]
        if find_spec(module) is None:
            raise ArgumentError(
                f"framework={named!r}: {module} is not installed here; pip install {module}, or check it elsewhere"
            )
        return named
    for x in (f, *examples):
        found = framework_of(x)
        if found is not None:
            return found
    for owner in (getattr(f, "__self__", None), getattr(f, "__wrapped__", None)):
        if owner is not None and framework_of(owner) is not None:
            return framework_of(owner)
        if isinstance(owner, type):
            for kind in owner.__mro__:
                if kind.__module__.partition(".")[0] in _OF_MODULE:
                    return _OF_MODULE[kind.__module__.partition(".")[0]]
    module = str(getattr(f, "__module__", "") or "")
    top = module.partition(".")[0]
    if top in _OF_MODULE:
        return _OF_MODULE[top]
    if top == "tapegrad" and not module.startswith(("tapegrad.testing", "tapegrad.kernels")):
        return _style(module)
    return None


def trial_frameworks(f: Any) -> list[str]:
    """Frameworks whose names the function's code mentions, and that are imported already; then tapegrad."""
    named: list[str] = []
    f = getattr(f, "__func__", f)
    code = getattr(f, "__code__", None)
    if code is None:
        return named
    scope = dict(f.__globals__)
    for free, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not filled yet
            scope[free] = cell.cell_contents
    for name in (*code.co_names, *code.co_freevars):
        value = scope.get(name)
        module = getattr(value, "__name__", "") if value is not None else ""
        top = (
            str(module).partition(".")[0]
            if isinstance(value, type(sys))
            else str(getattr(value, "__module__", "")).partition(".")[0]
        )
        if top in _OF_MODULE and _OF_MODULE[top] in FRAMEWORKS and FRAMEWORKS[_OF_MODULE[top]][0] in sys.modules:
            named.append(_OF_MODULE[top])
        elif top == "tapegrad":
            named.append(_style(str(module) if isinstance(value, type(sys)) else str(value.__module__)))
    return list(dict.fromkeys(named))


def adapter(framework: str) -> Any:
    """The module of an adapter."""
    return importlib.import_module(f"tapegrad.testing.systems.{FRAMEWORKS[framework][1]}")


def build(
    framework: str,
    f: Callable[..., Any],
    binding: Binding,
    name: str,
    *,
    vjp: Any = None,
    jvp: Any = None,
    second: Any = None,
) -> System:
    """The function as a system."""
    call, active = binding.caller(f), binding.active
    if framework == "numpy":
        from tapegrad.testing.systems.plain import Plain

        return Plain(name, call, active, [f], arguments=binding.arguments, vjp=vjp, jvp=jvp, second=second)
    if vjp is not None or jvp is not None or second is not None:
        raise ArgumentError(
            f"{name}: vjp=, jvp= and second= are for NumPy functions; {framework} has the derivative of this one"
        )
    made: System = adapter(framework).make(f, name, call, active)
    if framework.startswith("tapegrad."):
        made.wrap = adapter(framework).wrapper(framework)  # type: ignore[attr-defined]
        made.shows -= {"negative strides"}
    return made


def framework_returned(f: Callable[..., Any], binding: Binding, xs: list[Any]) -> str:
    """The framework of what a function returns for NumPy arrays; NumPy itself where it refuses them.

    Where it asks an array for what no array of NumPy has, a method of PyTorch's, say: the framework whose arrays it takes.
    """
    with np.errstate(all="ignore"):
        try:
            y = binding.caller(f)(list(xs))
        except AttributeError as error:
            if "numpy.ndarray" not in str(error):
                raise
            found = _that_takes(f, binding, xs)
            if found is None:
                told = "for a function of a framework, give its arrays, or framework='torch'"
                raise ArgumentError(f"a function of NumPy arrays: {error}; {told}") from error
            return found
        except Exception:  # whatever it is, it is raised again when the check begins
            return "numpy"
    while isinstance(y, tuple | list | dict) and y:
        y = next(iter(y.values() if isinstance(y, dict) else y))
    return framework_of(y) or "numpy"


def _that_takes(f: Callable[..., Any], binding: Binding, xs: list[Any]) -> str | None:
    """The first of the frameworks imported so far whose arrays a function takes."""
    for name in ("torch", "tensorflow", "jax", "mygrad", "tapegrad.torch", "tapegrad.tf", "tapegrad"):
        if FRAMEWORKS[name][0] not in sys.modules or (name.startswith("tapegrad.") and name not in sys.modules):
            continue
        with contextlib.suppress(Exception):  # whatever it is that it refuses them with
            build(name, f, binding, "f").value(xs)
            return name
    return None


def as_numpy(x: Any) -> Any:
    """An example of any framework as a NumPy array; anything else as it is."""
    framework = framework_of(x)
    if framework is None or framework.startswith("tapegrad"):
        from tapegrad.core.tensor import Tensor

        return x.numpy() if isinstance(x, Tensor) else x
    if framework == "torch" and hasattr(x, "detach"):
        from tapegrad.testing.systems.torch import array_of

        return array_of(x.cpu())
    if framework == "mygrad" and hasattr(x, "data"):
        return np.asarray(x.data)
    if framework == "tensorflow" and hasattr(x, "numpy"):
        from tapegrad.testing.systems.tensorflow import array_of as of_tensorflow

        return of_tensorflow(x)
    if framework in ("tensorflow", "jax", "autograd") and hasattr(x, "dtype") and hasattr(x, "__array__"):
        return np.asarray(x)
    return x
