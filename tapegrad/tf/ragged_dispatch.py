"""What public functions do with a ragged tensor.  They try as for dense tensors, so that those pay nothing for it."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import NotDenseError, invalid
from tapegrad.tf.export import EXPORTS
from tapegrad.tf.ragged_pointwise import by_values, places
from tapegrad.tf.ragged_reducing import reduced, scanned, softmax
from tapegrad.tf.ragged_tensor import RaggedTensor, _behind, _ends, picked
from tapegrad.tf.style import S

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def as_rows(x: Any) -> Any:
    """A ragged tensor; a dense one of two axes or more becomes one."""
    return x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """A new axis of length 1."""
    if not isinstance(input, RaggedTensor):
        return S.expand_dims(convert(input), axis=int(axis))
    rank = input.shape.rank or 2
    place = int(axis) % (rank + 1)
    if place == 0:
        return RaggedTensor(input, _ends([len(input)], input._splits.dtype))
    if place == 1:
        return RaggedTensor(input, _ends([1] * len(input), input._splits.dtype))
    return input.with_values(expand_dims(input.values, place - 1))


def joined(values: Any, axis: Any, name: str | None = None) -> Any:
    """Ragged tensors, and dense ones among them, one behind the other, or row by row."""
    xs = [as_rows(x) for x in values]
    place = int(axis) % (xs[0].shape.rank or 2)
    if len(xs) == 1:
        return xs[0]
    if place == 0:
        return _behind(xs)
    if len({len(x) for x in xs}) > 1:
        raise invalid("RaggedConcat", f"along axis {axis}, expected as many rows in each, got {[len(x) for x in xs]}")
    if place > 1:
        return xs[0].with_values(EXPORTS["concat"]([x.values for x in xs], place - 1))
    order = np.argsort(np.concatenate([x._rowids() for x in xs]), kind="stable")
    inner = [x.values for x in xs]
    chosen = picked(_behind(inner) if isinstance(inner[0], RaggedTensor) else S.concat(inner), order)
    return RaggedTensor(chosen, _ends(sum(np.diff(x._splits) for x in xs), xs[0]._splits.dtype))


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Ragged tensors side by side along a new axis."""
    return joined([expand_dims(as_rows(x), axis) for x in values], axis)


def tile(input: RaggedTensor, multiples: Any, name: str | None = None) -> Any:
    """Copies one behind the other, along each axis."""
    found: Any = input
    for place, n in enumerate(host(convert(multiples)).tolist()):
        found = found if n == 1 else joined([found] * n, place)
    return found


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = 0, batch_dims: int = 0, name: str | None = None
) -> Any:
    """Rows by their numbers; or, along axis 1, the elements at the same places of each row."""
    at = host(convert(indices)) if not isinstance(indices, RaggedTensor) else None
    place = 0 if axis is None else int(axis) % (params.shape.rank or 2)
    if at is None or batch_dims or place > 1:
        raise NotImplementedError("tf.gather of a ragged tensor: of dense indices, along axis 0 or 1, without batch_dims")
    lengths = np.asarray([len(params)]) if place == 0 else np.diff(params._splits)
    if at.size and (at.min() < 0 or at.max() >= lengths.min(initial=np.iinfo(np.int64).max)):
        raise invalid("RaggedGather", f"indices = {at.tolist()} is not in [0, {lengths.min()})")
    if place == 0:
        return params[int(at)] if at.ndim == 0 else _reshaped(params._chosen(at.reshape(-1).tolist()), at.shape)
    starts = params._splits[:-1].reshape((-1,) + (1,) * at.ndim)
    return picked(params.values, starts + at) if not isinstance(params.values, RaggedTensor) else _unlike("tf.gather")


def _reshaped(x: RaggedTensor, shape: tuple[int, ...]) -> RaggedTensor:
    """Its rows in rows of these lengths."""
    for n in reversed(shape[1:]):
        x = RaggedTensor(x, _ends([n] * (len(x) // max(n, 1)), x._splits.dtype))
    return x


def _unlike(name: str) -> Any:
    raise NotImplementedError(f"{name} of a ragged tensor whose rows have ragged rows themselves: write x.to_tensor()")


def gather_nd(params: RaggedTensor, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    """Elements at index tuples, or rows of rows at shorter ones."""
    at = host(convert(indices))
    if batch_dims or at.ndim != 2 or not at.shape[1]:
        raise NotImplementedError("tf.gather_nd of a ragged tensor: of a matrix of indices, without batch_dims")
    rows, rest = at[:, 0], at[:, 1:]
    if not rest.shape[1]:
        return params._chosen(rows.tolist())
    starts, ends = params._splits[rows], params._splits[rows + 1]
    inner = starts + rest[:, 0]
    if (rest[:, 0] < 0).any() or (inner >= ends).any():
        raise invalid("RaggedGatherNd", f"indices = {at.tolist()} point outside of rows of the lengths {np.diff(params._splits).tolist()}")
    deeper = np.concatenate([inner[:, None], rest[:, 1:]], 1)
    if isinstance(params.values, RaggedTensor):
        return gather_nd(params.values, deeper)
    return EXPORTS["gather_nd"](params.values, deeper)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """One of two values by a condition on each; of a condition alone the indices at which it is true."""
    if x is None and y is None:
        true = np.asarray(host(condition.flat_values)).astype(bool)
        return fresh(np.stack([p[true] for p in places(condition)], 1).astype(np.int64))
    dtype = next(v.dtype.numpy for v in (x, y) if hasattr(v, "dtype"))
    a, b = (v if isinstance(v, RaggedTensor) else convert(v, dtype, prefer=True) for v in (x, y))
    return by_values(EXPORTS["where"], condition, a, b)


def reverse(tensor: RaggedTensor, axis: Any, name: str | None = None) -> Any:
    """The rows, or the elements of each row, from the last to the first."""
    found: Any = tensor
    for a in host(convert(axis)).reshape(-1).tolist():
        place = int(a) % (tensor.shape.rank or 2)
        if place == 0:
            found = found._chosen(list(range(len(found)))[::-1])
        elif place == 1:
            ends = found._splits
            order = [np.arange(e - 1, s - 1, -1) for s, e in itertools.pairwise(ends)]
            found = found.with_values(picked(found.values, np.concatenate(order) if order else []))
        else:
            found = found.with_values(EXPORTS["reverse"](found.values, [place - 1]))
    return found


def split(value: RaggedTensor, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: str = "split") -> list[Any]:
    """Ragged tensors of some of the rows each."""
    if int(axis) != 0:
        raise NotImplementedError("tf.split of a ragged tensor: along axis 0")
    sizes = host(convert(num_or_size_splits)).astype(int)
    if not sizes.ndim:
        if len(value) % int(sizes):
            raise invalid("RaggedSplit", f"Cannot exactly split the ragged tensor: {len(value)} rows in {int(sizes)}")
        sizes = np.full(int(sizes), len(value) // int(sizes))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return [value[int(a) : int(b)] for a, b in itertools.pairwise(ends)]


def squeeze(input: RaggedTensor, axis: Any = None, name: str | None = None) -> Any:
    """Without an outermost axis of length 1, or without one inside of the rows."""
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    (place,) = {int(a) % (input.shape.rank or 2) for a in host(convert(axis)).reshape(-1).tolist()}
    if place > 1:
        return input.with_values(EXPORTS["squeeze"](input.values, place - 1))
    if place == 1:
        if (np.diff(input._splits) != 1).any():
            raise invalid(None, f"the given axis (axis = {axis}) is not squeezable: rows have the lengths {np.diff(input._splits)}")
        return input.values
    if len(input) != 1:
        raise invalid(None, f"the given axis (axis = {axis}) is not squeezable: there are {len(input)} rows")
    return input.values


def one_hot(indices: RaggedTensor, *args: Any, **kwargs: Any) -> Any:
    """A vector for each value."""
    return indices.with_flat_values(EXPORTS["one_hot"](indices.flat_values, *args, **kwargs))


def reshape(tensor: RaggedTensor, shape: Any, name: str | None = None) -> Any:
    """The flat values, where they are asked for by [-1]."""
    if host(convert(shape)).tolist() != [-1] or tensor.flat_values.array.ndim > 1:
        raise ValueError("tf.reshape of a ragged tensor: to [-1] alone, where its values are a vector; write x.to_tensor()")
    return tensor.flat_values


def added(inputs: Any, name: str | None = None) -> Any:
    """The sum of ragged tensors of the same rows."""
    return functools.reduce(lambda x, y: by_values(S.add, x, y), inputs)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: RaggedTensor,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Any:
    """The sum or mean of the rows of a table that each row of ids names, with weights of the same rows."""
    found: Any = EXPORTS["nn.embedding_lookup"](params, sp_ids, max_norm)
    weights = sp_ids.with_flat_values(S.ones(sp_ids.flat_values.array.shape, dtype=found.dtype.numpy)) if sp_weights is None else sp_weights
    found = found.with_flat_values(S.multiply(found.flat_values, S.expand_dims(weights.flat_values, axis=-1)))
    total = reduced(found, "sum", 1)
    if combiner == "sum":
        return total
    power = weights if combiner in (None, "mean") else by_values(S.square, weights)
    count = reduced(power, "sum", 1)
    return S.divide(total, S.expand_dims(S.sqrt(count) if combiner == "sqrtn" else count, axis=-1))


def _reducing(how: str) -> Any:
    def reduce(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
        return reduced(input_tensor, how, axis, keepdims)

    return reduce


def dispatched(of_ragged: Any = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What makes a function try as for dense tensors, and do the other thing where one is ragged.

    That is, if nothing is given, the function of the flat values of its first argument.
    """

    def decorate(f: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(f)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return f(*args, **kwargs)
            except NotDenseError:
                pass
            found: R = _by_first(f, *args, **kwargs) if of_ragged is None else of_ragged(*args, **kwargs)
            return found

        return call

    return decorate


def _by_first(f: Any, *args: Any, **kwargs: Any) -> Any:
    first, *rest = args or (kwargs.pop("input"),)
    return first.with_flat_values(f(first.flat_values, *rest, **kwargs))


def dispatch() -> None:
    """Put these in the place of the functions that were exported under their names."""
    made = {name: dispatched(of_ragged)(EXPORTS[name]) for name, of_ragged in _functions().items()}
    by_old = {id(EXPORTS[name]): new for name, new in made.items()}
    EXPORTS.update({name: by_old[id(old)] for name, old in EXPORTS.items() if id(old) in by_old})


def _functions() -> dict[str, Any]:
    """What is done with a ragged tensor, by one of the names of each function."""
    pointwise = ("zeros_like", "ones_like", "clip_by_value", "debugging.check_numerics", "nn.dropout")
    found: dict[str, Any] = {name: functools.partial(by_values, EXPORTS[name]) for name in pointwise}
    found |= {f"math.reduce_{how}": _reducing(how) for how in ("prod", "any", "all", "variance", "std", "logsumexp")}
    found |= {"math.cumsum": functools.partial(_scan, EXPORTS["math.cumsum"]), "nn.softmax": _softmax, "math.add_n": added}
    own = (expand_dims, stack, tile, gather, gather_nd, where, reverse, split, squeeze, one_hot, reshape)
    return found | {f.__name__: f for f in own} | {"concat": joined, "nn.embedding_lookup_sparse": embedding_lookup_sparse}


def _scan(f: Any, x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Any:
    return scanned(f, x, axis, exclusive=exclusive, reverse=reverse)


def _softmax(logits: Any, axis: Any = -1, name: str | None = None) -> Any:
    return softmax(logits, -1 if axis is None else axis)
