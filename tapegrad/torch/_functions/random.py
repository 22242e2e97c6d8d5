"""Tensors of random numbers, which are PyTorch's under the same seed.

What can't be matched: on processors of Intel's, PyTorch draws `bernoulli_(p)`, dropout, `exponential_`, `multinomial` without
replacement and Gumbel softmax from Intel's own generator; here they have the numbers of all other processors.
`_sample_dirichlet` rounds its sums in another order (last bits), float32 normal numbers may differ in the last bit once in
10**7, and `randperm` of 214 million or more is refused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad.ops.samples  # noqa: F401  declares its ops
from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import levels
from tapegrad.torch import _arrays, _normal, _uniform, _variates
from tapegrad.torch import _generator as generators
from tapegrad.torch import random as seeding
from tapegrad.torch._dtypes import DEFAULT, SCALAR_TYPES, dtype_of, numpy_of
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, function, method
from tapegrad.torch._functions._stacks import NO_RANDOM, drawn_for_items, stacked_items
from tapegrad.torch._functions.create import finished, lengths
from tapegrad.torch._generator import Generator
from tapegrad.torch._memory_order import memory_order, permuted, restored
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor
from tapegrad.torch._uniform import DIGITS

Array = np.ndarray[Any, Any]
Draw = Callable[[Generator, int], Array]


# -- drawing a shape, alone or inside vmap ---------------------------------------------------------------------
def drawn(shape: tuple[int, ...], draw: Draw, generator: Any, each: tuple[int, ...] = ()) -> Any:
    """Numbers of a shape; inside `vmap`, for each item or for all, as its `randomness` says; `each` draw may have a shape too."""
    source = generators.of(generator)
    batch = levels()
    for level in batch:
        if level.randomness == "error":
            raise RuntimeError(NO_RANDOM)
    batch = tuple(level for level in batch if level.randomness == "different")
    full = (*(level.size for level in batch), *shape)
    found: Any = draw(source, math.prod(full))
    if found.base is None:  # its shape is changed, where `reshape` gives a view, which is copied where memory is to be owned
        found.resize((*full, *each), refcheck=False)
    else:
        found = found.reshape((*full, *each))
    for level in batch:  # the outermost one is the first axis
        found = Batched(found, level)
    return found


def _of_distributions(function: Callable[..., Any]) -> Callable[..., Any]:
    """`normal` with a distribution for each element: inside `vmap` as one that is given a tensor; else as it is."""
    of_tensors = drawn_for_items(function)

    @functools.wraps(function)
    def run(*args: Any, **words: Any) -> Any:
        by_size = len(args) > 2 or words.get("size") is not None
        return (function if by_size else of_tensors)(*args, **words)

    return run


def floating(dtype: Any, kernel: str) -> np.dtype[Any]:
    kind = DEFAULT[0].numpy if dtype is None else numpy_of(dtype)
    if kind.kind not in "fcV":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPES[dtype_of(kind)]}'")
    return kind


def even(kind: np.dtype[Any], low: float = 0, high: float = 1) -> Draw:
    if kind.kind == "c":
        part = np.dtype(f"f{kind.itemsize // 2}")
        return lambda g, n: _uniform.uniform(g, 2 * n, low, high, part).view(kind)
    return lambda g, n: _uniform.uniform(g, n, low, high, kind)


def bell(kind: np.dtype[Any], mean: float = 0, std: float = 1, *, contiguous: bool = True) -> Draw:
    if kind.kind == "c":  # the variance is shared by the two parts
        part, share = np.dtype(f"f{kind.itemsize // 2}"), std / math.sqrt(2)
        return lambda g, n: _normal.normal(g, 2 * n, mean, share, part, contiguous=contiguous).view(kind)
    return lambda g, n: _normal.normal(g, n, mean, std, kind, contiguous=contiguous)


# -- new tensors -------------------------------------------------------------------------------------------------
def _creator(name: str, kernel: str, fill: str, of: Callable[[np.dtype[Any]], Draw], doc: str) -> None:
    def create(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **words: Any,
    ) -> Any:
        if "size" in words:
            size = (words.pop("size"),)
        words.pop("names", None)
        if words:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(words))}'")
        if not size:
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        if out is not None and dtype is None:
            dtype = out.dtype
        draw = of(floating(dtype, kernel))
        if out is not None and not levels():  # what is given is filled, in the order of its memory
            if out.dtype != dtype:
                raise RuntimeError(f"{name}(out, dtype): expected dtype={out.dtype}, which `out` has, got dtype={dtype}")
            return METHODS[fill](out.resize_(lengths(size)), generator=generator)
        return finished(drawn(lengths(size), draw, generator), requires_grad, out, device)

    def like(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        pin_memory: bool = False,
        generator: Any = None,
    ) -> Any:
        kind, order = floating(dtype or input.dtype, kernel), None if levels() else memory_order(input)
        where = input.device if device is None else device
        if order is None:
            return finished(drawn(tuple(input.shape), of(kind), generator), requires_grad, None, where)
        draw = of(kind) if of is even else bell(kind, contiguous=False)
        return finished(restored(drawn(permuted(input.shape, order), draw, generator), order), requires_grad, None, where)

    create.__name__ = create.__qualname__ = name
    like.__name__ = like.__qualname__ = f"{name}_like"
    create.__doc__, like.__doc__ = f"{doc}, of a shape.", f"{doc}, of a tensor's shape and dtype."
    function(create)
    function(like)


_creator("rand", "check_uniform_bounds", "uniform_", even, "Numbers evenly spread over [0, 1)")
_creator("randn", "normal_kernel_cpu", "normal_", bell, "Numbers of the standard normal distribution")


@function
def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Integers evenly spread over low, ..., high - 1, of a shape: `randint(high, size)` or `randint(low, high, size)`."""
    given = list(args)
    if given and not isinstance(given[-1], int | np.integer) and size is None:
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    if size is None or high is None:
        raise TypeError(
            "randint() received an invalid combination of arguments: expected (high, size) or (low, high, size)"
        )
    bounds = [_whole("randint", name, bound) for name, bound in (("low", 0 if low is None else low), ("high", high))]
    kind = np.dtype(np.int64) if dtype is None else numpy_of(dtype)
    return finished(drawn(lengths((size,)), integers(kind, *bounds), generator), requires_grad, out, device)


@function
def randint_like(
    input: Any,
    low: Any = None,
    high: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """Integers evenly spread over low, ..., high - 1, of a tensor's shape and dtype; `randint_like(x, high)` starts at 0."""
    if high is None:
        low, high = 0, low
    order = None if levels() else memory_order(input)
    found = randint(
        low or 0, high, tuple(input.shape) if order is None else permuted(input.shape, order), dtype=dtype or input.dtype,
        device=input.device if device is None else device, requires_grad=requires_grad and order is None,
    )  # fmt: skip
    return found if order is None else finished(restored(np.asarray(found.array), order), requires_grad, None, found.device)


def _whole(where: str, name: str, value: Any) -> int:
    if isinstance(value, Tensor) and not value.shape:
        value = value.item()
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{where}(): argument '{name}' must be int, not {type(value).__name__}")
    return int(value)


def integers(kind: np.dtype[Any], low: int, high: int) -> Draw:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.kind in "iub":
        limits = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not limits[0] <= value <= limits[1]:
                raise RuntimeError(f"{name} is out of bounds for {SCALAR_TYPES[dtype_of(kind)]}")
    return lambda g, n: _uniform.integers(g, n, low, high).astype(kind)


@function
def randperm(
    n: Any,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The numbers 0, ..., n - 1 in random order."""
    count = _whole("randperm", "n", n)
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    kind = np.dtype(np.int64) if dtype is None else numpy_of(dtype)
    if kind.kind == "b":
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    limit = np.iinfo(kind).max if kind.kind in "iu" else 1 << DIGITS.get(kind.name, 1)
    if count - 1 > limit:
        raise RuntimeError(
            f"randperm(n): value cannot be converted to type {dtype_of(kind)} without overflow, got n={count}"
        )
    source = generators.of(generator)
    if levels():
        each = drawn((), lambda g, k: np.stack([_uniform.permutation(g, count) for _ in range(k)]).astype(kind), generator, (count,))
        return finished(each, requires_grad, out, device)
    return finished(_uniform.permutation(source, count).astype(kind), requires_grad, out, device)


@function
@_of_distributions
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Normal numbers of a mean and standard deviation for each, or of one for all and a shape."""
    if size is not None:
        mean, std = (x.item() if isinstance(x, Tensor) else x for x in (mean, std))
        check_std(std)
        return finished(
            drawn(lengths((size,)), bell(floating(dtype, "normal_kernel_cpu"), mean, std), generator),
            requires_grad,
            out,
            device,
        )
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise TypeError("normal() received an invalid combination of arguments: of two numbers it takes a size too")
    like = mean if isinstance(mean, Tensor) else std
    kind, where = like.array.dtype, like.device
    m, s = (_arrays.raw(x).astype(kind, copy=False) if isinstance(x, Tensor) else kind.type(x) for x in (mean, std))
    if kind.kind != "c" and not (np.asarray(s) >= 0).all():
        raise RuntimeError(
            "normal expects all elements of std >= 0.0"
            if np.ndim(s)
            else f"normal expects std >= 0.0, but found std {s}"
        )
    try:
        shape = np.shape(m) if np.shape(m) == np.shape(s) else np.broadcast_shapes(np.shape(m), np.shape(s))
    except ValueError:
        from tapegrad.torch._errors import broadcast_text

        raise RuntimeError(broadcast_text(np.shape(m), np.shape(s))) from None
    return finished((drawn(shape, bell(kind), generator) * s + m).astype(kind), requires_grad, out, where)


def check_std(std: Any) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


# -- a number for each element of a tensor -----------------------------------------------------------------------
def value(x: Any, where: str) -> Array:
    raw = x.array
    if type(raw) is Batched:
        raise NotImplementedError(f"{where}: not implemented inside vmap; draw outside of it")
    return _arrays.raw(x)


@function
@drawn_for_items
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """Ones with the probabilities that the tensor holds, or with one for all, else zeros."""
    if p is not None:
        return finished(drawn(tuple(input.shape), coins(input.array.dtype, p), generator), False, out, input.device)
    probabilities = value(input, "bernoulli")
    if not _uniform.has_digits(probabilities.dtype):
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{SCALAR_TYPES[input.dtype]}'")
    check_probabilities(probabilities)
    return finished(_uniform.coins_of(generators.of(generator), probabilities).astype(probabilities.dtype), False, out, input.device)


def check_probabilities(p: Array) -> None:
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


def coins(kind: np.dtype[Any], p: float) -> Draw:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return lambda g, n: _uniform.coins(g, n, p).astype(kind)


@function
@drawn_for_items
def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Any:
    """Indices drawn in proportion to the weights in a vector or in each row of a matrix."""
    if len(input.array.shape) == 3 and stacked_items():  # matrices of several items
        rows = multinomial(input.reshape(-1, input.array.shape[-1]), num_samples, replacement, generator=generator)
        return rows.reshape(*input.array.shape[:2], num_samples)
    weights = value(input, "multinomial")
    if not _uniform.has_digits(weights.dtype):
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_TYPES[input.dtype]}"
        )
    _variates.check_weights(weights, num_samples, replacement=replacement)
    found = _variates.multinomial(generators.of(generator), weights, num_samples, replacement=replacement)
    return finished(found.astype(np.int64), False, out, input.device)


@function
@drawn_for_items
def poisson(input: Any, generator: Any = None) -> Any:
    """Counts of Poisson distributions of these rates."""
    rates = value(input, "poisson")
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return finished(_variates.poissons(generators.of(generator), rates), device=input.device)


@function
@drawn_for_items
def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of `count` tries succeed, each with probability `prob`."""
    counts, p = np.broadcast_arrays(value(count, "binomial"), value(prob, "binomial"))
    return finished(_variates.binomials(generators.of(generator), counts, p), device=count.device)


@drawn_for_items
def _gammas(input: Any, generator: Any) -> Any:
    return finished(_variates.gammas(generators.of(generator), value(input, "_standard_gamma")), device=input.device)


@function
def _standard_gamma(input: Any, generator: Any = None) -> Any:
    """Numbers of gamma distributions of scale 1 with these shape parameters, which move with these at their probability."""
    return S.gamma_sample(input, _gammas(input, generator))


@drawn_for_items
def _shares(input: Any, generator: Any) -> Any:
    return finished(_variates.dirichlet(generators.of(generator), value(input, "_sample_dirichlet")), device=input.device)


@function
def _sample_dirichlet(input: Any, generator: Any = None) -> Any:
    """Shares of Dirichlet distributions with these concentrations along the last axis, which move with these at their probability."""
    return S.dirichlet_sample(input, _shares(input, generator))


method(bernoulli)
method(multinomial)

for _name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"):
    FUNCTIONS[_name] = getattr(seeding, _name)
FUNCTIONS["Generator"] = Generator
FUNCTIONS["default_generator"] = generators.default_generator()
