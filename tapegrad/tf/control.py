"""Control flow and loops: plain Python here, for everything runs at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.compiled.tracing import is_tracing
from tapegrad.core import tensor as core
from tapegrad.errors import SymbolicValueError
from tapegrad.registry.places import has_values
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import (
    invalid,
)
from tapegrad.tf.export import export
from tapegrad.tf.operators import pair
from tapegrad.tf.style import S


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
    values = nest.map_structure(as_tensor, loop_vars)
    most = None if maximum_iterations is None else int(maximum_iterations)
    count = 0
    single = not isinstance(values, list | tuple)
    while (most is None or count < most) and (cond(values) if single else cond(*values)):
        found = body(values) if single else body(*values)
        if not single and (not isinstance(found, list | tuple) or hasattr(found, "_fields")):
            found = [found]
        nest.assert_same_structure(values, found, check_types=False)
        values = nest.map_structure(as_tensor, found)
        count += 1
    return values


def as_tensor(x: Any) -> Any:
    return convert(x) if isinstance(x, int | float | complex | np.ndarray | np.generic | str) else x


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
