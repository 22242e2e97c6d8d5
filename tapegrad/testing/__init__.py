"""Checks of gradients: of anybody's functions, and of the ops of this package.

>>> import numpy as np
>>> from tapegrad.testing import check
>>> def softmax(x):
...     e = np.exp(x - x.max(-1, keepdims=True))
...     return e / e.sum(-1, keepdims=True)
>>> def vjp(g, y, x):
...     return y * (g - (g * y).sum(-1, keepdims=True))
>>> from tapegrad.testing import array
>>> check(softmax, x=array("b", 5), vjp=vjp).ok
True

`check` and the words for its arguments are for any framework; `Draw`, `Case` and the laws are what the registry's own
ops are held to.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapegrad.testing.case import Case
    from tapegrad.testing.checking import check, examine
    from tapegrad.testing.comparing import compare
    from tapegrad.testing.decorator import gradcheck
    from tapegrad.testing.draw import Draw
    from tapegrad.testing.dropins import check_grads, torch_gradcheck, torch_gradgradcheck
    from tapegrad.testing.law import LAWS, Law, LawError, Unresolved
    from tapegrad.testing.laws import broken, laws_of
    from tapegrad.testing.report import GradientCheckError, Result
    from tapegrad.testing.words import array, broadcast, fixed, indices, like, psd

#: Where each public name is; imported when it is first asked for.
_HOMES = {
    **dict.fromkeys(("check", "examine"), "checking"),
    "compare": "comparing",
    "gradcheck": "decorator",
    **dict.fromkeys(("check_grads", "torch_gradcheck", "torch_gradgradcheck"), "dropins"),
    **dict.fromkeys(("GradientCheckError", "Result"), "report"),
    **dict.fromkeys(("array", "broadcast", "fixed", "indices", "like", "psd"), "words"),
    "Case": "case",
    "Draw": "draw",
    **dict.fromkeys(("LAWS", "Law", "LawError", "Unresolved"), "laws"),
    **dict.fromkeys(("broken", "laws_of"), "laws"),
}

__all__ = [
    "LAWS",
    "Case",
    "Draw",
    "GradientCheckError",
    "Law",
    "LawError",
    "Result",
    "Unresolved",
    "array",
    "broadcast",
    "broken",
    "check",
    "check_grads",
    "compare",
    "examine",
    "fixed",
    "gradcheck",
    "indices",
    "laws_of",
    "like",
    "psd",
    "torch_gradcheck",
    "torch_gradgradcheck",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tapegrad.testing' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tapegrad.testing.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
