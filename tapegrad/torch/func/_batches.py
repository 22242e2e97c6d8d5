"""`vmap`: a function on many items at once."""

from __future__ import annotations

import functools
from typing import Any

import optree

from tapegrad import transforms
from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import TapegradError
from tapegrad.kernels.batched import Batched
from tapegrad.torch._errors import translated
from tapegrad.torch._functions._stacks import _stack
from tapegrad.torch._named import KINDS
from tapegrad.torch._tensor import STYLE, Tensor
from tapegrad.transforms.batch import _axes
from tapegrad.tree import flatten


def _parts(named: Any) -> Any:
    return tuple(named), type(named)


def _named(kind: Any, parts: Any) -> Any:
    return kind(*parts)


for _kind in KINDS.values():  # results with names are tuples that transforms see into
    optree.register_pytree_node(_kind, _parts, _named, namespace="tapegrad")


def vmap(
    func: Any, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Any:
    """A function that maps `func` over a dimension of its arguments, all items at once; in chunks, if a size is given."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def mapped(*args: Any, **words: Any) -> Any:
        leaves, axes = _checked(name, in_dims, args)
        if chunk_size is not None:
            return _in_chunks(func, in_dims, out_dims, randomness, chunk_size, args, words, leaves, axes)
        return _once(func, name, in_dims, out_dims, randomness, args, words)

    return mapped


def styled(given: Any) -> Any:
    """A structure with all tensors as those of this style."""
    leaves, rebuild = flatten(given)
    if not any(isinstance(v, Core) and not isinstance(v, Tensor) for v in leaves):
        return given
    return rebuild([STYLE.adopt(v) if isinstance(v, Core) and not isinstance(v, Tensor) else v for v in leaves])


def settled(given: Any) -> Any:
    """A structure whose views of what was written to are read where those who record are still there."""
    for v in flatten(given)[0]:
        if isinstance(v, Core):
            v.read()
    return given


def _once(func: Any, name: str, in_dims: Any, out_dims: Any, randomness: str, args: Any, words: Any) -> Any:
    alone = [False]  # one tensor, for which there is a tuple of one dimension
    written: list[tuple[int, Any]] = []

    def checked(*items: Any, **more: Any) -> Any:
        given = styled(items)
        before = [(i, x, x.array) for i, x in enumerate(flatten(given)[0]) if isinstance(x, Tensor) and type(x.array) is Batched]
        y = settled(func(*given, **more))
        for i, x, raw in before:
            x.read()
            if x.array is not raw:  # the function has written into an argument
                written.append((i, _stack(x, raw.level)))
        if isinstance(y, Core) and isinstance(out_dims, tuple) and len(out_dims) == 1:
            alone[0] = True
            y = (y,)
        for v in flatten(y)[0]:
            if not isinstance(v, Core):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(v)}. Did you mean to set out_dims= to None "
                    "for output?"
                )
        return y

    functools.update_wrapper(checked, func, updated=())
    try:
        run = transforms.vmap(checked, in_axes=in_dims, out_axes=out_dims, randomness=randomness)  # type: ignore[arg-type]
        y = run(*args, **words)
    except TapegradError as error:
        raise translated(error) from error
    if written:
        leaves = flatten(args)[0]
        axes = _axes(name, "in_axes", in_dims, args, len(leaves))
        for i, value in written:
            leaves[i].copy_(STYLE.moveaxis(value, 0, axes[i]))
    return styled(y[0] if alone[0] else y)


def _checked(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """The leaves of the arguments and the dimension of each, with what does not fit refused in PyTorch's words."""
    leaves, _ = flatten(args)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not leaves:
        raise ValueError(f"{where}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
                         "inputs. The latter is unsupported.")  # fmt: skip
    try:
        axes = _axes(where, "in_axes", in_dims, args, len(leaves))
    except TapegradError as error:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`: in_dim {in_dims}, {error}"
        ) from error
    sizes = []
    for x, a in zip(leaves, axes, strict=True):
        if a is None:
            continue
        if not isinstance(x, Core):
            raise ValueError(
                f"{where}: Got in_dim={a} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        shape = x.array.shape
        if not -len(shape) <= a < len(shape):
            raise ValueError(
                f"{where}: Got in_dim={a} for some input, but that input is a Tensor of dimensionality {len(shape)} so expected in_dim "
                f"to satisfy -{len(shape)} <= in_dim < {len(shape)}."
            )
        sizes.append(shape[a])
    if not sizes:
        raise ValueError(f"{where}: at least one input must be mapped over, got in_dims that are all None")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                         "dimension")  # fmt: skip
    return leaves, axes


def _in_chunks(
    func: Any, in_dims: Any, out_dims: Any, randomness: str, chunk: int, args: Any, words: Any, leaves: list[Any], axes: list[Any]
) -> Any:
    _, rebuild = flatten(args)
    size = next(x.array.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None)
    name = getattr(func, "__name__", repr(func))
    parts = []
    for start in range(0, size, chunk):
        piece = [
            x if a is None else x.narrow(a, start, min(chunk, size - start)) for x, a in zip(leaves, axes, strict=True)
        ]
        parts.append(_once(func, name, in_dims, out_dims, randomness, rebuild(piece), words))
    outs = [flatten(p)[0] for p in parts]
    _, put = flatten(parts[0])
    dims = _axes("vmap", "out_axes", out_dims, parts[0], len(outs[0]))
    return put([STYLE.concat(list(vs), axis=d or 0) for vs, d in zip(zip(*outs, strict=True), dims, strict=True)])
