"""Parameters as values: functions of structures and of variables, for transforms and for optimisers.

>>> import tapegrad as tg
>>> w = tg.Variable([1.5, -0.5])
>>> def model(x):
...     return tg.sum(w * x)
>>> tg.functional.call(model, w, tg.asarray([2.0, 1.0]), tg.asarray([1.0, 10.0]))
Tensor(12., dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import result_type
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F
from tapegrad.tree import flatten
from tapegrad.variable import Variable, standing_in

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call", "ravel", "values"]


def ravel(structure: Any) -> tuple[Tensor, Callable[[Any], Any]]:
    """All elements of a structure of tensors as one vector, and the function that makes the structure from such a vector.

    Elements come in the order of the leaves, each in row-major order, in the dtype that is common to all; each leaf gets its
    own dtype back.  None stays None.  Both ways are recorded.

    >>> import tapegrad as tg
    >>> flat, unravel = tg.functional.ravel({"w": tg.asarray([[1.5, 2.5]]), "b": tg.asarray(0.5)})
    >>> flat
    Tensor([0.5, 1.5, 2.5], dtype=float32)
    >>> unravel(2 * flat)
    {'w': Tensor([[3., 5.]], dtype=float32), 'b': Tensor(1., dtype=float32)}
    """
    leaves, rebuild = flatten(structure)
    tensors = [None if x is None else _array("ravel", x) for x in leaves]
    present = [x for x in tensors if x is not None]
    shapes = [None if x is None else (tuple(x.shape), x.dtype, x.size) for x in tensors]
    size = sum(x.size for x in present)
    if present:
        common = result_type(*(x.dtype for x in present))
        flat = F.concat([F.astype(F.reshape(x, (-1,)), common) if x.size else F.zeros((0,), dtype=common) for x in present])
    else:
        flat = F.zeros((0,))

    def unravel(vector: Any) -> Any:
        vector = asarray(vector)
        if vector.shape != (size,):
            raise ShapeError(f"unravel(vector): expected vector.shape == ({size},), got {vector.shape}")
        found: list[Any] = []
        start = 0
        for each in shapes:
            if each is None:
                found.append(None)
                continue
            shape, dtype, count = each
            part = F.reshape(vector[start : start + count], shape)
            found.append(part if part.dtype == dtype else F.astype(part, dtype))
            start += count
        return rebuild(found)

    return flat, unravel


def _array(what: str, x: Any) -> Tensor:
    try:
        return asarray(x)
    except ArgumentError as error:
        raise ArgumentError(f"{what}(structure): expected tensors, got {type(x).__name__}") from error


def values(variables: Any) -> Any:
    """The present values of a structure of variables, as tensors that do not change: what `call` takes."""
    leaves, rebuild = flatten(variables)
    return rebuild([x.value if isinstance(x, Variable) else x for x in leaves])


def call(f: Callable[..., Any], variables: Any, values: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What `f` gives where these variables have other values: ``f(*args, **kwargs)``.

    * `variables`: a `Variable`, or a structure of them, that `f` reads wherever it finds them.
    * `values`: what it finds in their place, in the same structure, shapes and dtypes.

    The variables themselves, and other threads, see nothing of it.  So a model that holds its variables is a function of them,
    for every transform.  Raises ShapeError or ArgumentError for values that do not fit, ArgumentError if `f` assigns to one of
    the variables.

    >>> import tapegrad as tg
    >>> w = tg.Variable([1.5, -0.5])
    >>> loss = lambda x: tg.sum((w * x) ** 2)
    >>> x = tg.asarray([[1.0, 2.0], [3.0, 1.0]])
    >>> tg.vmap(tg.grad(lambda v, x: tg.functional.call(loss, w, v, x)), (None, 0))(tg.functional.values(w), x)
    Tensor([[ 3., -4.],
            [27., -1.]], dtype=float32)
    """
    names, _ = flatten(variables)
    given, _ = flatten(values)
    if len(names) != len(given):
        raise ShapeError(f"functional.call: expected a value for each of {len(names)} variables, got {len(given)}")
    pairs = []
    for v, value in zip(names, given, strict=True):
        if not isinstance(v, Variable):
            raise ArgumentError(f"functional.call: expected variables, got {type(v).__name__}")
        x = asarray(value, dtype=None if isinstance(value, Tensor) else v.array.dtype)
        if x.shape != v.array.shape or x.dtype != v.array.dtype:
            raise ShapeError(
                f"functional.call: expected a value like the variable {v.name or ''}, {v.array.dtype} {v.array.shape}, got "
                f"{x.dtype} {x.shape}"
            )
        pairs.append((v, x))
    with standing_in(pairs):
        return f(*args, **kwargs)


def __dir__() -> list[str]:
    return __all__
