"""A test module for somebody's functions, written from what can be seen of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError
from tapegrad.testing.checking import examine

if TYPE_CHECKING:
    from types import ModuleType

_FORMS: tuple[tuple[tuple[str, ...], ...], ...] = (  # of the first arguments; the last one is that of all others
    ((),),
    (("n",),),
    (("b", "n"),),
    (("b", "n"), ("n",)),
    (("b", "n"), ("n", "m"), ("m",)),
    (("n", "n"),),
    (("n", "n"), ("n",)),
    (("b", "c", "n"),),
)


def written(module: ModuleType) -> str:
    """Python for tests of all public functions of a module whose derivative can be checked; the others in comments."""
    name = module.__name__
    tests, left_out = [], []
    for f_name, f in sorted(vars(module).items()):
        if f_name.startswith("_") or not callable(f) or isinstance(f, type) or f_name.endswith("_vjp"):
            continue
        if getattr(f, "__module__", name) != name:
            continue
        vjp = getattr(module, f"{f_name}_vjp", None)
        found = _words(f, vjp)
        if isinstance(found, str):
            left_out.append(f"# {f_name}: {found}")
        else:
            rule = f", vjp={name}.{f_name}_vjp" if vjp is not None else ""
            words = "".join(f", {word}" for word in found)
            tests.append(f"def test_{f_name}(gradcheck):\n    gradcheck({name}.{f_name}{words}{rule})\n")
    head = f'"""Gradient checks of {name}."""\n\nimport {name}\n'
    parts = [head, *tests, *(["\n".join(left_out) + "\n"] if left_out else [])]
    return "\n\n".join(parts)


def _words(f: Any, vjp: Any) -> list[str] | str:
    """The words with which a check runs, or why there are none."""
    try:
        params = [
            p
            for p in inspect.signature(f).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        ]
    except (TypeError, ValueError):
        return "it does not tell its parameters"
    why, taken = "it takes no arguments", None
    for form in _FORMS if params else ():
        words: dict[str, Any] = {
            p.name: form[min(k, len(form) - 1)] for k, p in enumerate(params) if form[min(k, len(form) - 1)]
        }
        try:
            result = examine(f, vjp=vjp, profile="fast", seed=0, inputs=words)
        except ArgumentError as error:
            why = str(error).splitlines()[0]
            continue
        except Exception as error:  # whatever somebody's function raises
            why = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        if result.ok:
            return [f"{k}={_shown(v)}" for k, v in words.items()]
        taken = taken if taken is not None else [f"{k}={_shown(v)}" for k, v in words.items()]
    return why if taken is None else taken  # where none is right, the test says what is wrong


def _shown(shape: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{d}"' for d in shape) + ("," if len(shape) == 1 else "") + ")"
