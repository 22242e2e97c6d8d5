"""Control flow and loops: plain Python here, for everything runs at once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad.compiled.tracing import is_tracing
from tapegrad.core import tensor as core
from tapegrad.errors import SymbolicValueError
from tapegrad.registry.places import has_values
from tapegrad.tf import nest
from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.errors import (
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid,
)
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.operators import pair
from tapegrad.tf.specs import Composite, TensorSpec, TypeSpec
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("cond")
def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """What one of two functions gives."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("'true_fn' and 'false_fn' must be callable.")
    if not isinstance(pred, core.Tensor | int | np.generic | np.ndarray):
        raise TypeError("pred must not be a Python bool" if pred is None else f"pred must be a boolean tensor, got {pred!r}")
    if isinstance(pred, core.Tensor) and not has_values(pred.read()[0]):
        return _selected(pred, true_fn, false_fn)
    return true_fn() if pred else false_fn()


def _selected(pred: Any, true_fn: Any, false_fn: Any) -> Any:
    """Both results, of which the running graph takes one: a zero cotangent stays zero, so the other has no influence.

    Raises SymbolicValueError where a branch assigns a variable, for both would.
    """
    from tapegrad.compiled import cells

    before = cells.assigned()
    found = [true_fn(), false_fn()]
    after = cells.assigned()
    if before.keys() != after.keys() or any(after[k] is not before[k] for k in after):
        raise SymbolicValueError(
            "tf.cond inside a function that is being traced: a branch assigns a variable, and tapegrad computes both branches and "
            "takes one; to have it compiled, write variable.assign(tf.where(pred, new, variable))"
        )
    nest.assert_same_structure(found[0], found[1], check_types=False)
    leaves = [S.where(pred, *pair(x, y)) for x, y in zip(*map(nest.flatten, found), strict=True) if x is not None]
    return nest.pack_sequence_as(found[0], leaves) if leaves else found[0]


@export("case")
def case(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """What the function of the first predicate that is true gives."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for p, _ in pairs:
        if not isinstance(p, core.Tensor | bool | np.bool_):
            raise TypeError(f"pred must be a Tensor, got: {p}")
    true = [f for p, f in pairs if p]
    if exclusive and len(true) > 1:
        raise invalid(None, f"Input error: exclusive=True: More than 1 conditions ({len(true)}) are true")
    if true:
        return true[0]()
    if default is None:
        raise invalid(None, "None of the conditions evaluated as True and no default is given.")
    return default()


@export("switch_case")
def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    """What the function of this number gives; the default, or the last one, for a number that has none."""
    if not isinstance(branch_index, core.Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    if branch_index.read()[0].dtype.kind not in "iu":
        raise TypeError(f"'branch_index' must be an integer Tensor, got {as_dtype(branch_index.read()[0].dtype)!r}")
    index = int(branch_index)
    listed = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    pairs = listed if listed and isinstance(listed[0], tuple) else list(enumerate(listed))
    if not all(type(k) is int for k, _ in pairs):
        raise TypeError(f"key must be a Python `int`, got {next(type(k) for k, _ in pairs if type(k) is not int)}")
    if sorted(k for k, _ in pairs) != list(range(len(pairs))):
        keys = ",".join(str(k) for k, _ in pairs)
        raise ValueError(f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {{{keys}}}")
    functions = dict(pairs)
    if index in functions:
        return functions[index]()
    return (default or functions[max(functions)])()


@export("while_loop")
def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The loop variables after the body has run as long as the condition held."""
    if not callable(cond) or not callable(body):
        raise TypeError("'cond' and 'body' must be callable.")
    if loop_vars is None or (isinstance(loop_vars, list | tuple) and not loop_vars):
        raise ValueError("'loop_vars' must be provided.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    values = nest.map_structure(_tensor, loop_vars)
    most = None if maximum_iterations is None else int(maximum_iterations)
    count = 0
    single = not isinstance(values, list | tuple)
    while (most is None or count < most) and (cond(values) if single else cond(*values)):
        found = body(values) if single else body(*values)
        if not single and (not isinstance(found, list | tuple) or hasattr(found, "_fields")):
            found = [found]
        nest.assert_same_structure(values, found, check_types=False)
        values = nest.map_structure(_tensor, found)
        count += 1
    return values


def _tensor(x: Any) -> Any:
    return convert(x) if isinstance(x, int | float | complex | np.ndarray | np.generic | str) else x


# -- over the first axis ------------------------------------------------------------------------------------
def _rows(elems: Any) -> tuple[list[Any], int]:
    """The structures of each index of the first axis."""
    leaves = [x if isinstance(x, Composite) else convert(x) for x in nest.flatten(elems)]
    if not leaves:
        raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors. Got an empty structure.")
    if any(not isinstance(x, Composite) and not x.array.ndim for x in leaves):
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars.")
    lengths = [x._count() if isinstance(x, Composite) else x.array.shape[0] for x in leaves]
    n = lengths[0]
    if any(k != n for k in lengths):
        raise invalid(None, f"elements must agree in their first axis, got {lengths}")
    parts = [
        [x._row(i) for i in range(n)] if isinstance(x, Composite) else list(x) if x.array.dtype.hasobject else S.unstack(x)
        for x in leaves
    ]
    return [nest.pack_sequence_as(elems, [p[i] for p in parts]) for i in range(n)], n


def _stacked(rows: list[Any], specs: list[Any] | None = None) -> Any:
    """Rows under each other: in a ragged tensor where the spec of a leaf, or the elements themselves, say so."""
    leaves = [[x if isinstance(x, Composite) else convert(x) for x in nest.flatten(row)] for row in rows]
    kinds = specs or [None] * len(leaves[0])
    return nest.pack_sequence_as(
        rows[0],
        [
            EXPORTS["ragged.stack"](list(xs)).with_row_splits_dtype(np.int64) if _is_ragged(kind) else S.stack(list(xs))
            for xs, kind in zip(zip(*leaves, strict=True), kinds, strict=True)
        ],
    )


def _is_ragged(spec: Any) -> bool:
    """Whether a spec is of rows of different lengths."""
    return isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec)


@export("map_fn")
def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The function of each index of the first axis, stacked."""
    rows, n = _rows(elems)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if signature is None and isinstance(elems, Composite):
        signature = elems._spec()
    if not n:
        return _nothing(elems if signature is None else signature)
    found = [fn(row) for row in rows]
    nest.assert_same_structure(elems if signature is None else signature, found[0], check_types=False)
    if signature is not None:
        wanted = [as_dtype(getattr(s, "dtype", s)) for s in nest.flatten(signature)]
        for row in found:
            for x, d in zip(nest.flatten(row), wanted, strict=True):
                if isinstance(x, core.Tensor) and x.dtype != d:
                    raise invalid(None, f"TensorArray dtype is {d.name} but Op is trying to write dtype {x.dtype.name}")
        found = [
            nest.pack_sequence_as(
                signature,
                [
                    x if isinstance(x, Composite) else convert(x, d.numpy, prefer=True)
                    for x, d in zip(nest.flatten(r), wanted, strict=True)
                ],
            )
            for r in found
        ]
        return _stacked(found, nest.flatten(signature))
    elif isinstance(elems, core.Tensor):
        own = convert(elems).array.dtype
        first = nest.flatten(found[0])
        if len(first) == 1 and isinstance(first[0], core.Tensor) and first[0].array.dtype != own:
            raise invalid(
                None,
                f"TensorArray dtype is {as_dtype(own).name} but Op is trying to write dtype {as_dtype(first[0].array.dtype).name}; "
                "give fn_output_signature",
            )
    return _stacked(found)


def _nothing(signature: Any) -> Any:
    def empty(s: Any) -> Tensor:
        shape = [n or 0 for n in getattr(s, "shape", ())] if not isinstance(s, core.Tensor) else list(s.shape[1:])
        return fresh(np.zeros((0, *shape), numpy_dtype(getattr(s, "dtype", s))))

    return nest.map_structure(empty, signature)


@export("vectorized_map")
def vectorized_map(fn: Any, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """The function of each index of the first axis, stacked: all at once, by batching the ops, where that can be done."""
    import tapegrad as tg
    from tapegrad.errors import TapegradError

    vmap = getattr(tg, "vmap", None)
    elems = _as_long(elems)
    rows, n = _rows(elems)
    if vmap is not None and n:
        leaves = [convert(x) for x in nest.flatten(elems)]
        structure: list[Any] = []

        def flat(*xs: Any) -> Any:
            found = fn(nest.pack_sequence_as(elems, [S.adopt(x) for x in xs]))
            structure[:] = [found]
            return tuple(convert(x) for x in nest.flatten(found))

        try:
            ys = vmap(flat)(*leaves)
        except (TapegradError, TypeError, ValueError, NotImplementedError, AttributeError):
            if not fallback_to_while_loop:
                raise
        else:
            return nest.pack_sequence_as(structure[0], [S.adopt(y) for y in ys])
    return _stacked([fn(row) for row in rows])


def _as_long(elems: Any) -> Any:
    """The elements, where one row alone stands for all rows of the others."""
    leaves = [convert(x) for x in nest.flatten(elems)]
    most = max((x.array.shape[0] for x in leaves if x.array.ndim), default=1)
    if most == 1 or all(not x.array.ndim or x.array.shape[0] == most for x in leaves):
        return elems
    longer = [S.broadcast_to(x, (most, *x.array.shape[1:])) if x.array.ndim and x.array.shape[0] == 1 else x for x in leaves]
    return nest.pack_sequence_as(elems, longer)


@export("scan")
def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of an accumulator that takes in the first axis one by one."""
    rows, _ = _rows(elems)
    order = rows[::-1] if reverse else rows
    found = []
    state = initializer
    if not rows and state is not None:
        return _nothing(nest.map_structure(lambda x: S.expand_dims(convert(x), axis=0), state))
    if state is None:
        state, order = order[0], order[1:]
        found.append(state)
    else:
        state = nest.map_structure(_tensor, state)
    for row in order:
        state = fn(state, row)
        found.append(state)
    return _stacked(found[::-1] if reverse else found)


@export("foldl")
def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of an accumulator that takes in the first axis one by one."""
    return _folded(fn, _rows(elems)[0], initializer)


@export("foldr")
def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of an accumulator that takes in the first axis one by one, from its end."""
    return _folded(fn, _rows(elems)[0][::-1], initializer)


def _folded(fn: Any, rows: list[Any], state: Any) -> Any:
    if state is None:
        if not rows:
            raise OutOfRangeError(None, None, "Tried to read from index 0 but array size is: 0: give an initializer")
        state, rows = rows[0], rows[1:]
    else:
        state = nest.map_structure(_tensor, state)
    for row in rows:
        state = fn(state, row)
    return state


# -- Python inside ------------------------------------------------------------------------------------------
@export("py_function")
def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """What a Python function of tensors gives, as tensors of these dtypes; its derivative is that of the ops in it.

    With `Tout` alone, what makes such a function of a Python function: `@tf.py_function(Tout=tf.float32)`.
    """
    if func is None:
        return _decorator(py_function, Tout=Tout)
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    given = [convert(x) for x in inp]
    try:
        found = func(*given)
    except (OpError, SymbolicValueError, OperatorNotAllowedInGraphError):
        raise  # the two latter: a function around it that is being traced has to run at once
    except Exception as error:
        kind = next((k for of, k in _AS_IN_PYTHON.items() if isinstance(error, of)), UnknownError)
        raise kind(None, None, f"{type(error).__name__}: {error} [Op:EagerPyFunc]") from error
    return _typed(found, Tout)


#: What errors of Python's become where TensorFlow calls a function: in this order, others are unknown.
_AS_IN_PYTHON: dict[type[Exception], type[OpError]] = {
    StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError,
    NotImplementedError: UnimplementedError,
    ValueError: InvalidArgumentError,
    TypeError: InvalidArgumentError,
}


def _decorator(through: Any, **words: Any) -> Any:
    """What makes a function of tensors of a Python function."""

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def wrapped(*args: Any) -> Any:
            return through(func, args, **words)

        return wrapped

    return decorate


def _typed(found: Any, Tout: Any) -> Any:
    if isinstance(Tout, list | tuple):
        if not Tout:
            return []
        values = found if isinstance(found, list | tuple) else [found]
        return [_of_dtype(v, d) for v, d in zip(values, Tout, strict=True)]
    return convert(0) if found is None else _of_dtype(found, Tout)


def _of_dtype(x: Any, dtype: Any) -> Tensor:
    try:
        return convert(x, numpy_dtype(getattr(dtype, "dtype", dtype)), prefer=True)
    except ValueError as error:
        raise invalid("EagerPyFunc", f"ValueError: {error}") from None


@export("numpy_function")
def numpy_function(func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None) -> Any:
    """What a Python function of NumPy's arrays gives, as tensors; it has no derivative.  `Tout` is for graphs alone.

    Without a function, what makes such a one of a Python function: `@tf.numpy_function(Tout=tf.float32)`.
    """
    if func is None:
        return _decorator(numpy_function, Tout=Tout)
    found = [None if x is None else convert(x) for x in nest.flatten(func(*[np.array(convert(x).numpy()) for x in inp]))]
    return found[0] if len(found) == 1 else found


@export("no_op")
def no_op(name: str | None = None) -> None:
    """Nothing."""


@export("group")
def group(*inputs: Any, **kwargs: Any) -> None:
    """Nothing: what is given has been done already."""


@export("tuple")
def tuple_(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """The tensors, which are all computed already."""
    return [None if x is None else convert(x) for x in tensors]


@export("executing_eagerly", "compat.v1.executing_eagerly")
def executing_eagerly() -> bool:
    """Whether ops are computed at once: not while a function is traced."""
    return not is_tracing()


@export("inside_function")
def inside_function() -> bool:
    """Whether a function is being traced."""
    return is_tracing()
