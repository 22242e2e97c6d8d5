"""What transforms are given, and what the functions give, refused in PyTorch's words."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor as Core
from tapegrad.tree import flatten


def numbers(argnums: Any, args: tuple[Any, ...]) -> Any:
    """The numbers of the arguments to differentiate by, counted from the first."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not isinstance(argnums, tuple):
        return _number(argnums, len(args))
    found = tuple(_number(n, len(args)) for n in argnums)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) < len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def _number(n: Any, count: int) -> int:
    if not isinstance(n, int):
        raise RuntimeError(f"argnum must be int, got: {type(n)}")
    if not -count <= n < count:
        raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    return n % count


def tensors_alone(api: str, what: str, given: Any) -> None:
    """Refuse arguments to differentiate by that are no tensors."""
    for x in flatten(given)[0]:
        if not isinstance(x, Core):
            raise RuntimeError(f"{api}: Expected {what} to only contain Tensors, got {type(x)}")


def pair(api: str, given: Any, has_aux: bool) -> Any:
    """The value of a function, whose other result has to be made of tensors."""
    if not has_aux:
        return given
    if not (isinstance(given, tuple) and len(given) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    value, aux = given
    for x in flatten(aux)[0]:
        if not isinstance(x, Core):
            raise RuntimeError(f"{api}: Expected tensors, got unsupported type {type(x)} in aux")
    return value


def tensors_given(api: str, value: Any) -> None:
    """Refuse a function that gives nothing, or what is no tensor."""
    leaves = flatten(value)[0]
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {value})")
    for y in leaves:
        if not isinstance(y, Core):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(y)}")


def real(api: str, what: str, given: Any) -> None:
    """Refuse complex arguments or values of a Jacobian."""
    for i, x in enumerate(flatten(given)[0]):
        if isinstance(x, Core) and x.array.dtype.kind == "c":
            raise RuntimeError(
                f"{api}: Expected all {what} to be real but received complex tensor at flattened {what[:-1]} idx: {i}"
            )


def structure(given: Any) -> Any:
    """What a structure is, without its leaves."""
    import optree

    return optree.tree_structure(given, none_is_leaf=True)


def same_structure(primals: Any, tangents: Any) -> None:
    """Refuse tangents that do not fit what they are tangents of."""
    api = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    a, b = structure(primals), structure(tangents)
    if a != b:
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {a} and tangents with structure {b}"
        )
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not flatten(given)[0]:
            raise RuntimeError(f"{api}: Expected {what} to contain at least one Tensor.")
        tensors_alone(api, what, given)
