"""What a module says of a name that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

_COMPILED = "it runs functions as they stand and makes no graphs of them: call the function or module itself"
_WHERE = "its devices are the CPU, and TensorFlow's with the extra `tensorflow`"
_WHEN = "write it in Python, or keep this part in PyTorch"

#: What is to be done without the larger parts of PyTorch that are not here.
_INSTEAD = {
    **dict.fromkeys(("torch.export", "torch._dynamo", "torch._inductor"), _COMPILED),
    **dict.fromkeys(("torch.mps", "torch.xpu", "torch.mtia"), _WHERE),
    **dict.fromkeys(("torch.quantization", "torch.ao", "torch.nn.quantized"), "it has no quantized tensors: " + _WHEN),
    "torch.utils.cpp_extension": "it has no C++ to extend: " + _WHEN,
    "torch.autograd.variable": "Variable is in torch.autograd",
}


def refuse(module: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise the AttributeError for a name that this facade does not have; it says what to do, or names the nearest it has."""
    import sys

    if name.startswith("__"):
        # Not a name that somebody wants: Python asks for `__path__` at each import inside a function.
        raise AttributeError(f"module 'tapegrad.{module}' has no attribute {name!r}", name=name)
    hint = HINTS.get((module, name))
    if hint is None:
        hint = HINTS[module, name] = _hint(module, name, known)
    raise AttributeError(
        f"module 'tapegrad.{module}' has no attribute {name!r}: tapegrad's facade lacks it{hint}",
        name=name,
        obj=sys.modules.get(f"tapegrad.{module}"),
    )


#: What was said of names that are not there: programs ask for them by `hasattr`, some in their loops.
HINTS: dict[tuple[str, str], str] = {}


def _hint(module: str, name: str, known: Iterable[str]) -> str:
    import difflib

    if instead := _INSTEAD.get(f"{module}.{name}"):
        return f"; {instead}"
    near = difflib.get_close_matches(name, [k for k in known if not k.startswith("_")], n=1, cutoff=0.7)
    return f"; did you mean {module}.{near[0]}?" if near else ""


def refusing(members: dict[str, Any]) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module with these members."""
    module = str(members["__name__"]).removeprefix("tapegrad.")
    return lambda name: refuse(module, name, members)
