"""What could be called with its scalars before the tensors that they belong to, and still can: `addmm(beta, x, alpha, a, b)`."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.torch._functions._build import FUNCTIONS, METHODS
from tapegrad.torch._tensor import Tensor
from tapegrad.torch._warnings import warn_once

_NUMBER = int | float | complex
_OPERANDS = {
    "addmm": ("mat1", "mat2"), "addmv": ("mat", "vec"), "addbmm": ("batch1", "batch2"), "baddbmm": ("batch1", "batch2"),
    "addr": ("vec1", "vec2"),
}  # fmt: skip


def _with_scalars_first(function: Any, name: str, *, method: bool) -> Any:
    """The function, that takes beta, or beta and alpha, before its tensors too."""
    own = 1 if method else 0

    @functools.wraps(function)
    def called(*args: Any, **words: Any) -> Any:
        if len(args) > 3 and isinstance(args[own], _NUMBER):
            scalars = [a for a in args[own:] if isinstance(a, _NUMBER)]
            kinds = [isinstance(a, _NUMBER) for a in args[own:]]
            old = ([True, True, False, False], [True, False, False]) if method else (
                [True, False, True, False, False], [True, False, False, False]
            )  # fmt: skip
            if kinds in old:
                _warn(name, len(scalars))
                words.update(zip(("beta", "alpha"), scalars, strict=False))
                args = tuple(a for a in args if isinstance(a, Tensor))
        return function(*args, **words)

    return called


def _warn(name: str, scalars: int) -> None:
    first, second = (f"Tensor {operand}" for operand in _OPERANDS[name])
    alpha = "Number alpha, " if scalars == 2 else ""
    warn_once(
        "overload",
        f"This overload of {name} is deprecated:\n\t{name}(Number beta, Tensor input, {alpha}{first}, {second}, *, Tensor out = None)\n"
        f"Consider using one of the following signatures instead:\n\t{name}(Tensor input, {first}, {second}, *, Number beta = 1, "
        "Number alpha = 1, Tensor out = None)",
    )


for _name in _OPERANDS:
    FUNCTIONS[_name] = _with_scalars_first(FUNCTIONS[_name], _name, method=False)
    for _method in (_name, f"{_name}_"):
        METHODS[_method] = _with_scalars_first(METHODS[_method], _name, method=True)


def _removed(name: str, instead: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


#: What PyTorch keeps only to say what to call in its place.
_REMOVED = {
    "symeig": "The lower triangle is read now: L, V = torch.symeig(A, eigenvectors=True) should be replaced with "
              "L, V = torch.linalg.eigh(A), and without eigenvectors with L = torch.linalg.eigvalsh(A).",
    "eig": "`torch.linalg.eig` returns complex tensors: L, V = torch.eig(A, eigenvectors=True) should be replaced with "
           "L_complex, V_complex = torch.linalg.eig(A), and without eigenvectors with torch.linalg.eigvals(A).",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed: "
             "X = torch.linalg.lstsq(A, B).solution.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed: X = torch.linalg.solve(A, B).",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead.",
}  # fmt: skip
for _name, _instead in _REMOVED.items():
    FUNCTIONS[_name] = METHODS[_name] = _removed(_name, _instead)
