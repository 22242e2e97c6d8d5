"""Filling tensors with random numbers, in the order of their memory; the numbers are PyTorch's under the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import levels
from tapegrad.torch import _inplace, _uniform, _variates
from tapegrad.torch._dtypes import SCALAR_TYPES
from tapegrad.torch._functions._build import method
from tapegrad.torch._functions.random import (
    Draw,
    bell,
    bernoulli,
    check_probabilities,
    check_std,
    coins,
    drawn,
    even,
    floating,
    integers,
    value,
)
from tapegrad.torch._memory_order import memory_order, permuted, restored
from tapegrad.torch._tensor import STYLE, Tensor, wrap
from tapegrad.torch._uniform import DIGITS


def filled(x: Any, draw: Draw, generator: Any) -> Any:
    """The tensor, with drawn numbers written into it in the order of its memory."""
    if type(x.array) is not Batched and any(level.randomness == "different" for level in levels()):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor, which has one value for all items. Draw new "
            "numbers, as by torch.rand(...), or write into what is made of a tensor that is vmapped over."
        )
    return _inplace.update(x, lambda _: _in_its_order(x, draw, generator))


def _in_its_order(x: Any, draw: Draw, generator: Any) -> Any:
    raw, shape = x.array, tuple(x.shape)
    if type(raw) is np.ndarray:
        axes: Any = None if raw.flags.c_contiguous else sorted(range(len(shape)), key=lambda k: -abs(raw.strides[k]))
    else:
        axes = None if levels() else memory_order(x)
    if axes is None:
        return wrap(_scalar(drawn(shape, draw, generator)))
    return wrap(restored(drawn(permuted(shape, axes), draw, generator), axes))


def _scalar(raw: Any) -> Any:
    return raw[()] if type(raw) is np.ndarray and raw.ndim == 0 else raw


def _is_contiguous(x: Any) -> bool:
    if type(x.array) is np.ndarray:
        return bool(x.array.flags.c_contiguous)
    return bool(levels()) or memory_order(x) is None


@method
def uniform_(self: Any, *args: Any, generator: Any = None, to: float = 1.0, **words: Any) -> Any:
    """Fill it with numbers evenly spread over [from, to): `uniform_(from=0, to=1)`."""
    low, high = _ends(args, words.pop("from", 0.0), to)
    kind = floating(self.dtype, "check_uniform_bounds")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return filled(self, even(kind, low, high), generator)


def _ends(args: tuple[Any, ...], low: Any, high: Any) -> tuple[Any, Any]:
    """Two bounds, given by position or by name, as numbers."""
    found = (*args, *(low, high)[len(args) :])
    return tuple(x.item() if isinstance(x, Tensor) else x for x in found)


@method
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill it with normal numbers."""
    mean, std = _ends((), mean, std)
    kind = floating(self.dtype, "normal_kernel_cpu")
    check_std(std)
    return filled(self, bell(kind, mean, std, contiguous=_is_contiguous(self)), generator)


@method
def random_(self: Any, *args: Any, generator: Any = None, to: Any = None, **words: Any) -> Any:
    """Fill it with integers: `random_()` over all that the dtype has, `random_(to)` or `random_(from, to)`."""
    kind = self.array.dtype
    low = words.pop("from", None)
    if len(args) == 1 and low is None and to is None:
        to = args[0]
    elif args:
        low, to = (*args, to)[:2]
    if to is None and low is None:
        if kind.name not in DIGITS and kind.name in ("uint16", "uint32", "uint64"):
            raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{SCALAR_TYPES[self.dtype]}'")
        return filled(self, lambda g, n: _uniform.full_range(g, n, kind), generator)
    low = low or 0
    if to is None:
        to = (1 << DIGITS[kind.name]) + 1 if kind.name in DIGITS else int(np.iinfo(kind).max) + 1
    return filled(self, integers(kind, low, to), generator)


@method
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill it with ones of this probability, or of a probability for each, else zeros."""
    kind = self.array.dtype
    if not isinstance(p, Tensor):
        return filled(self, coins(kind, p), generator)
    if levels():
        made = bernoulli(p.expand(*self.shape), generator=generator)
        return _inplace.update(self, lambda _: STYLE.astype(made, kind))
    probabilities = np.broadcast_to(value(p, "bernoulli_"), tuple(self.shape))
    check_probabilities(probabilities)
    return filled(self, lambda g, n: _uniform.coins_of(g, probabilities).ravel().astype(kind), generator)


# -- distributions of which each number is drawn by itself ---------------------------------------------------------
def _continuous(x: Any, name: str) -> np.dtype[Any]:
    kind: np.dtype[Any] = x.array.dtype
    if kind.kind not in "fV":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {SCALAR_TYPES[x.dtype]}"
        )
    return kind


def _expect(holds: bool, name: str, expected: str, parameter: str, found: float) -> None:
    if not holds:
        raise RuntimeError(f"{name} expects {expected}, but found {parameter}={found:g}")


@method
def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Fill it with numbers of the exponential distribution of this rate."""
    kind = _continuous(self, "Exponential")
    _expect(lambd > 0, "exponential_", "lambda > 0.0", "lambda", lambd)
    return filled(self, lambda g, n: _variates.exponential(g, n, lambd, kind), generator)


@method
def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Fill it with counts of tries until the first success, which has this probability."""
    kind = self.array.dtype
    if kind.kind == "b":
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return filled(self, lambda g, n: _variates.geometric(g, n, p, kind), generator)


@method
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Fill it with numbers of the Cauchy distribution."""
    kind = _continuous(self, "Cauchy")
    _expect(sigma > 0, "cauchy_", "sigma > 0.0", "sigma", sigma)
    return filled(self, lambda g, n: _variates.cauchy(g, n, median, sigma, kind), generator)


@method
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Fill it with numbers of which the logarithms are normal."""
    kind = _continuous(self, "LogNormal")
    _expect(std > 0, "log_normal_", "std > 0.0", "std", std)
    return filled(self, lambda g, n: _variates.log_normal(g, n, mean, std, kind), generator)
