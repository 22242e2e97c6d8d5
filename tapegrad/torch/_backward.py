"""`backward` and `grad`: sweeps over what the implicit recorder has recorded."""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import numpy as np

from tapegrad.core.backward import backward
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.errors import TapegradError
from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import inside, new_level
from tapegrad.registry.space import F, space_of_type
from tapegrad.seeds import ones_for
from tapegrad.torch import _watching
from tapegrad.torch._accumulate import accumulate, as_gradient, called_hooks, leaf_of
from tapegrad.torch._arrivals import Arrivals
from tapegrad.torch._elsewhere import lend, on_another_thread
from tapegrad.torch._errors import translated
from tapegrad.torch._graph import EdgeShape, GradientEdge
from tapegrad.torch._recorder import IMPLICIT, is_leaf_node, own, switch
from tapegrad.torch._spent import LET
from tapegrad.torch._tensor import STYLE, beside
from tapegrad.torch._versions import check


# -- roots -------------------------------------------------------------------------------------------
def tensors_of(x: Any, what: str = "tensors") -> tuple[Any, ...]:
    """One tensor or several as a tuple."""
    if isinstance(x, Core | GradientEdge):
        return (x,)
    found = tuple(x)
    for v in found:
        if not isinstance(v, Core | GradientEdge):
            raise TypeError(f"{what} must be either a Tensor or a tuple of Tensors, got {type(v).__name__}")
    return found


def _roots(tensors: Any, gradients: Any, batch: Any, recorded: bool) -> list[tuple[Any, Any]]:
    seeds = []
    for i, (y, given) in enumerate(zip(tensors, gradients, strict=True)):
        g = given
        if isinstance(g, Core):
            g = _given(y, g, i, batch, recorded)
        elif g is not None:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        node = y.node._node if isinstance(y, GradientEdge) else own(y.node)
        if node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            g = _ones(y, recorded)
        seeds.append((node, g))
    return seeds


def _ones(y: Any, recorded: bool) -> Any:
    raw = _shape_of(y)
    if raw.shape and math.prod(raw.shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if raw.dtype.kind == "c":
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {y.dtype}")
    ones = space_of_type(raw.kind).ones(raw.shape, dtype=raw.dtype) if type(raw) is EdgeShape else ones_for(raw)
    return linked(ones, None) if recorded else ones


def _shape_of(y: Any) -> Any:
    """What has the shape and the dtype of an output: its values, or what was kept of them with an edge."""
    if not isinstance(y, GradientEdge):
        return y.array
    if y.ownership_token is None:
        raise RuntimeError(
            "grad can be implicitly created only for outputs whose shape is known: give grad_outputs for a GradientEdge that was not "
            "made by torch.autograd.graph.get_gradient_edge"
        )
    return y.ownership_token


def _given(y: Any, g: Any, i: int, batch: Any, recorded: bool) -> Any:
    raw, node = g.read()
    if isinstance(y, GradientEdge) and y.ownership_token is None:  # made by hand: nobody knows its shape
        return linked(raw, node) if recorded else raw
    like = _shape_of(y)
    if type(like) is not EdgeShape:
        raw = beside(raw, like)
    shape = raw.shape if batch is None else raw.shape[1:]
    if shape != like.shape:
        from tapegrad.torch._size import Size

        if batch is not None:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                "the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {Size(shape)} and output[{i}] has a shape of {Size(like.shape)}. If you only want "
                "some tensors in `grad_output` to be considered batched, consider using vmap."
            )
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(shape)} and output[{i}] has a shape of {Size(like.shape)}."
        )
    if raw.dtype != like.dtype:
        if raw.dtype.kind == "c" and like.dtype.kind != "c":
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype"
            )
        raw = raw.astype(like.dtype)
    if batch is not None:
        raw = Batched(raw, batch)
    return linked(raw, node) if recorded else raw


class _ToInputs(threading.local):
    """Whether the sweep under way is one to inputs that were named, not to all leaves."""

    on = False


TO_INPUTS = lend(_ToInputs())


# -- sweeps ------------------------------------------------------------------------------------------
def _sweep(seeds: Any, sources: Any, create_graph: bool, keep: bool, arrived: Any, *, whole: bool = False) -> Any:
    _watching.follow_written()
    step, checked = _watching.STEP[0], check
    if _watching.HOOKS[0]:
        looking = Arrivals(step, arrived)
        step, checked = looking.step, looking.check
    was = switch(create_graph)
    named, TO_INPUTS.on = TO_INPUTS.on, sources is not None
    try:
        with np.errstate(all="ignore"):
            return backward(
                seeds,
                IMPLICIT,
                sources=sources,
                recorded=create_graph,
                let=None if keep else LET,
                check=checked,
                step=step,
                mixed=_watching.MIXED[0],
                whole=whole,
            )
    except TapegradError as error:
        raise translated(error) from error
    finally:
        TO_INPUTS.on = named
        switch(was)


def run_backward(
    tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any
) -> None:
    """Add to the `grad` of the leaves that these depend on, or of the inputs that are given."""
    if _watching.is_deep():
        on_another_thread(_begin_backward, tensors, grad_tensors, retain_graph, create_graph, inputs)
    else:
        _begin_backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def _begin_backward(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    _watching.begin()
    ok = False
    try:
        _run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs)
        ok = True
    finally:
        _watching.end(ok)


def _run_backward(
    tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any
) -> None:
    ys = tensors_of(tensors)
    gs = (None,) * len(ys) if grad_tensors is None else (
        (grad_tensors,) if isinstance(grad_tensors, Core) else tuple(grad_tensors)
    )
    if len(gs) < len(ys):
        raise RuntimeError(f"got {len(ys)} tensors and {len(gs)} gradients")
    gs = gs[: len(ys)]
    sources = None
    if inputs is not None:
        inputs = tensors_of(inputs, "inputs")
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        sources = [_source(x) for x in inputs]
    keep = create_graph if retain_graph is None else retain_graph

    def arrived(node: Any, g: Any, fresh: bool) -> None:
        x = leaf_of(node)
        if x is not None:
            accumulate(x, g, fresh, create_graph)

    wanted = None if sources is None else set(sources)
    found = _sweep(
        _roots(ys, gs, None, create_graph),
        sources,
        create_graph,
        keep,
        arrived if wanted is None else lambda node, g, fresh: arrived(node, g, fresh) if node in wanted else None,
        whole=True,
    )
    if sources is None:
        for node, (g, fresh) in found.items():
            arrived(node, g, fresh)
        return
    done: set[int] = set()
    for given, node in zip(inputs, sources, strict=True):
        if isinstance(given, GradientEdge) and not is_leaf_node(node):
            continue  # the gradient of a step, which no tensor keeps
        x = given.node.variable if isinstance(given, GradientEdge) else given
        if node in found and id(x) not in done:
            done.add(id(x))
            g, fresh = found[node]
            accumulate(x, g, fresh, create_graph)


def _source(x: Any) -> Any:
    node = x.node._node if isinstance(x, GradientEdge) else own(x.node)
    if node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return node


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the outputs' sum, or of their product with `grad_outputs`, for each of the inputs."""
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True).", FutureWarning, stacklevel=2)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    ys, xs = tensors_of(outputs, "outputs"), tensors_of(inputs, "inputs")
    if not xs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gs = (None,) * len(ys) if grad_outputs is None else (
        (grad_outputs,) if isinstance(grad_outputs, Core) else tuple(grad_outputs)
    )
    if len(gs) != len(ys):
        raise RuntimeError(f"got {len(ys)} tensors and {len(gs)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    batch: Any = None
    if is_grads_batched:
        size = next(g.array.shape[0] for g in gs if g is not None)
        if size == 1:
            return _of_one(ys, xs, gs, keep, create_graph, allow_unused, materialize_grads)
        batch = new_level(size, randomness="same")
    seeds = _roots(ys, gs, batch, create_graph)
    sources = [_source(x) for x in xs]
    do = on_another_thread if _watching.is_deep() else _do
    return do(_gradients, xs, seeds, sources, keep, create_graph, allow_unused, materialize_grads, batch)


def _do(call: Any, *args: Any) -> Any:
    return call(*args)


def _gradients(
    xs: Any, seeds: Any, sources: Any, keep: bool, create_graph: bool, allow_unused: bool, materialize_grads: bool, batch: Any
) -> tuple[Any, ...]:
    _watching.begin()
    ok = False
    try:
        with inside(*([] if batch is None else [batch])):
            heard: dict[Any, Any] = {}
            wanted = set(sources)

            def arrived(node: Any, g: Any, _: bool) -> None:
                if node in wanted:
                    heard[node] = _result(leaf_of(node), g, create_graph)

            found = _sweep(seeds, sources, create_graph, keep, arrived)
        results = _results(xs, sources, found, heard, create_graph, allow_unused, materialize_grads, batch)
        ok = True
    finally:
        _watching.end(ok)
    return results


def _results(
    xs: Any, sources: Any, found: Any, once: dict[Any, Any], create_graph: bool, allow_unused: bool, materialize_grads: bool, batch: Any
) -> tuple[Any, ...]:
    results = []
    for i, (x, node) in enumerate(zip(xs, sources, strict=True)):
        if node not in found and node not in once:
            if not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this "
                    "is the desired behavior."
                )
            results.append(_zeros_for(x, create_graph) if materialize_grads else None)
            continue
        if node not in once:
            once[node] = _result(leaf_of(node) if is_leaf_node(node) else x, found[node][0], create_graph)
        g = once[node]
        results.append(g if batch is None else STYLE.adopt(F.unbatch(linked(g.array, g.node), batch)))
    return tuple(results)


def _zeros_for(x: Any, create_graph: bool) -> Any:
    if isinstance(x, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return STYLE.zeros_like(x).requires_grad_(create_graph)


def _of_one(ys: Any, xs: Any, gs: Any, keep: bool, create_graph: bool, allow_unused: bool, materialize: bool) -> Any:
    """A batch of one: there is nothing to batch."""
    only = tuple(None if g is None else STYLE.squeeze(g, 0) for g in gs)
    found = grad(ys, xs, only, keep, create_graph, allow_unused=allow_unused, materialize_grads=materialize)
    return tuple(None if g is None else STYLE.expand_dims(g, axis=0) for g in found)


def _result(x: Any, g: Any, create_graph: bool) -> Any:
    made = as_gradient(g)
    if isinstance(g, Core):
        made = STYLE.adopt(linked(g.array, g.node))
    if x is None or isinstance(x, GradientEdge):
        return made
    was = switch(create_graph)
    try:
        return called_hooks(x, made, adds=False)
    finally:
        switch(was)

