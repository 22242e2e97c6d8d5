"""Windows for spectra, in the dtype's own arithmetic: the functions of `torch` that are periodic unless told otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import DEFAULT, numpy_of
from tapegrad.torch._functions._build import FUNCTIONS, function
from tapegrad.torch._functions.create import finished


def _numpy(dtype: Any) -> np.dtype[Any]:
    return DEFAULT[0].numpy if dtype is None else numpy_of(dtype)


def _window(name: str, f: Any) -> None:
    """`f` makes a window of so many steps from the numbers of its points, and the dtype."""

    def window(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Any:
        n, kind = window_length, _numpy(dtype)
        if n < 2:
            return finished(np.ones(n, kind), requires_grad, None, device)
        made = f(n if periodic else n - 1, np.arange(n).astype(kind), kind.type)
        return finished(made.astype(kind), requires_grad, None, device)

    window.__name__ = window.__qualname__ = name
    FUNCTIONS[name] = window


def _cosine(x: Any) -> Any:
    """In double precision: float32 has the value next to the exact one, as PyTorch's has in most windows."""
    return np.cos(x.astype(np.float64)).astype(x.dtype)


# In the order in which PyTorch rounds: in float64 every number is the same.
_window("hann_window", lambda n, i, kind: _cosine(i * kind(np.pi * 2 / n)) * kind(-0.5) + kind(0.5))
_window("hamming_window", lambda n, i, kind: _cosine(i * kind(np.pi * 2 / n)) * kind(-0.46) + kind(0.54))
_window("bartlett_window", lambda n, i, kind: 1 - np.abs(i * kind(2 / n) - 1))


def _blackman(n: int, i: Any, kind: Any) -> Any:
    x = i * kind(np.pi / n)
    return _cosine(x * kind(4)) * kind(0.08) - _cosine(x * kind(2)) * kind(0.5) + kind(0.42)


_window("blackman_window", _blackman)


@function
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **words: Any) -> Any:
    """The window of Kaiser, a quotient of Bessel functions."""
    n = window_length + 1 if periodic and window_length > 1 else window_length
    found = np.kaiser(n, beta)[:window_length].astype(_numpy(dtype))
    return finished(found, words.get("requires_grad", False), None, words.get("device"))
