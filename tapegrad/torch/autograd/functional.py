"""`torch.autograd.functional`: Jacobians, Hessians, and products with them, of functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._backward import grad
from tapegrad.torch._missing import refusing
from tapegrad.torch._modes import enable_grad
from tapegrad.torch._recorder import own
from tapegrad.torch._shapes import _reshaper, _unshape
from tapegrad.torch._tensor import STYLE, wrap
from tapegrad.torch._views import take


# -- what functions take and give --------------------------------------------------------------------
def _as_tuple(given: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    several = isinstance(given, tuple)
    found = given if several else (given,)
    for i, x in enumerate(found):
        if not isinstance(x, Core):
            where = f"value at index {i}" if several else f"given {what}"
            raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {where} has type "
                            f"{type(x)}.")  # fmt: skip
    return several, found


def _prepared(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs to differentiate by: views of those that were given where a graph is to be made, else constants."""
    if create_graph:
        return tuple(
            take(x, _reshaper(x.array.shape), _unshape) if own(x.node) is not None else x.detach().requires_grad_()
            for x in inputs
        )
    return tuple(x.detach().requires_grad_() for x in inputs)


def _ready(outputs: Any, create_graph: bool) -> Any:
    """What is given back, without a graph unless one was asked for."""
    if isinstance(outputs, tuple):
        return tuple(_ready(y, create_graph) for y in outputs)
    return outputs if create_graph or own(outputs.node) is None else outputs.detach()


#: What is said in strict mode of an output, of a gradient, or of a Jacobian that has no derivative.
_CONSTANT = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
    "manner from the input when running in strict mode.",
    "slopes": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not allowed "
    "in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and "
    "that the jacobian depends on the inputs (this would be violated by a linear function for example).",
}
#: What is said in strict mode of a derivative that is not there, by the order of the derivative.
_ABSENT = {
    1: "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    2: "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
}


def _strictly(strict: bool, found: tuple[Any, ...], what: str) -> None:
    """Refuse what is independent of the inputs, in strict mode."""
    if not strict:
        return
    for i, y in enumerate(found):
        if y is None:
            raise RuntimeError(_ABSENT[1].format(i=i))
        if own(y.node) is None:
            raise RuntimeError(_CONSTANT[what].format(i=i))


def _filled(found: tuple[Any, ...], refs: tuple[Any, ...], strict: bool, create_graph: bool, order: int) -> tuple[Any, ...]:
    """Gradients, with zeros where there is none."""
    made = []
    for i, (c, x) in enumerate(zip(found, refs, strict=True)):
        g = c
        if g is None:
            if strict:
                raise RuntimeError(_ABSENT[order].format(i=i))
            g = STYLE.zeros_like(wrap(x.array))
        elif strict and create_graph and own(g.node) is None:
            what = "hessian" if order == 2 else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                "create_graph=True."
            )
        made.append(g)
    return tuple(made)


def _run(func: Any, inputs: Any, create_graph: bool, strict: bool, name: str) -> Any:
    several_in, given = _as_tuple(inputs, "inputs", name)
    xs = _prepared(given, create_graph)
    outputs = func(*xs)
    several_out, ys = _as_tuple(outputs, "outputs of the user-provided function", name)
    _strictly(strict, ys, "outputs")
    return several_in, xs, several_out, ys


def _vectors(v: Any, refs: tuple[Any, ...], name: str, several: bool) -> tuple[Any, ...]:
    if v is None:
        if len(refs) != 1 or int(np.prod(refs[0].array.shape)) != 1:
            what = "the user-provided function returns" if name == "vjp" else "the input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if {what} a single Tensor with a single element.")
        return (STYLE.ones_like(wrap(refs[0].array)),)
    _, vs = _as_tuple(v, "v", name)
    if len(vs) != len(refs):
        if not several:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(refs)} but got {len(vs)}.")
    for i, (a, b) in enumerate(zip(vs, refs, strict=True)):
        if a.array.shape != b.array.shape:
            prefix = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {b.shape} but got {a.shape}.")
    return vs


def _grad(ys: Any, xs: Any, gs: Any, create_graph: bool) -> tuple[Any, ...]:
    """`grad`, where outputs that depend on nothing are left out."""
    kept = [(y, g) for y, g in zip(ys, gs, strict=True) if own(y.node) is not None]
    if not kept:
        return (None,) * len(xs)
    return grad([y for y, _ in kept], xs, [g for _, g in kept], True, create_graph, allow_unused=True)


# -- products ----------------------------------------------------------------------------------------
def vjp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and `v` times its Jacobian."""
    with enable_grad():
        several, xs, several_out, ys = _run(func, inputs, create_graph, strict, "vjp")
        vs = _vectors(v, ys, "vjp", several_out)
        found = _filled(_grad(ys, xs, vs, create_graph), xs, strict, create_graph, 1)
    return _shape(ys, several_out, create_graph), _shape(found, several, create_graph)


def _shape(found: tuple[Any, ...], several: bool, create_graph: bool) -> Any:
    made = _ready(found, create_graph)
    return made if several else made[0]


def jvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function, and its Jacobian times `v`."""
    with enable_grad():
        several, xs, several_out, ys = _run(func, inputs, create_graph, strict, "jvp")
        vs = _vectors(v, xs, "jvp", several)
        found = _twice(ys, xs, vs, create_graph, strict)
        found = _filled(found, ys, strict, create_graph, 1)
    return _shape(ys, several_out, create_graph), _shape(found, several_out, create_graph)


def _twice(ys: Any, xs: Any, vs: Any, create_graph: bool, strict: bool = False) -> tuple[Any, ...]:
    """The Jacobian times a vector: the pullback is linear in its cotangent, and its own pullback is the pushforward."""
    probes = tuple(STYLE.zeros_like(wrap(y.array)).requires_grad_() for y in ys)
    pulled = _grad(ys, xs, probes, True)
    _strictly(strict, pulled, "slopes")
    kept = [(g, v) for g, v in zip(pulled, vs, strict=True) if g is not None and own(g.node) is not None]
    if not kept:
        return (None,) * len(ys)
    return grad([g for g, _ in kept], probes, [v for _, v in kept], True, create_graph, allow_unused=True)


def _check_scalar(ys: tuple[Any, ...], several: bool, name: str) -> None:
    if several or len(ys) != 1:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if int(np.prod(ys[0].array.shape)) != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def _slopes(ys: Any, xs: Any, strict: bool) -> tuple[Any, ...]:
    """The gradient of a function of one number, which is to be differentiated again."""
    found = _grad(ys, xs, (None,), True)
    _strictly(strict, found, "jacobian")
    return _filled(found, xs, strict, False, 1)


def vhp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function of one number, and `v` times its Hessian."""
    with enable_grad():
        several, xs, several_out, ys = _run(func, inputs, create_graph, strict, "vhp")
        _check_scalar(ys, several_out, "vhp")
        vs = _vectors(v, xs, "vhp", several)
        slopes = _slopes(ys, xs, strict)
        found = _filled(_grad(slopes, xs, vs, create_graph), xs, strict, create_graph, 2)
    return _shape(ys, False, create_graph), _shape(found, several, create_graph)


def hvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of a function of one number, and its Hessian times `v`."""
    with enable_grad():
        several, xs, several_out, ys = _run(func, inputs, create_graph, strict, "hvp")
        _check_scalar(ys, several_out, "hvp")
        vs = _vectors(v, xs, "hvp", several)
        slopes = _slopes(ys, xs, strict)
        found = _filled(_twice(slopes, xs, vs, create_graph), xs, strict, create_graph, 2)
    return _shape(ys, False, create_graph), _shape(found, several, create_graph)


# -- Jacobians ---------------------------------------------------------------------------------------
def jacobian(
    func: Any,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function, for each output and each input; all rows are computed at once."""
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
                             f'function has more outputs than inputs, "forward-mode" tends to be quicker; got "{strategy}"')  # fmt: skip
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` are "
                                      "not supported together (yet). Please either set `create_graph=False` or "
                                      "`strategy=\"reverse-mode\"`.")  # fmt: skip
        if not vectorize:
            raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                                      "`vectorize=True`.")  # fmt: skip
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                           "Please either set `strict=False` or `vectorize=False`.")  # fmt: skip
    with enable_grad():
        several_in, xs, several_out, ys = _run(func, inputs, create_graph, strict, "jacobian")
        rows = tuple(_rows(i, y, xs, create_graph, strict, vectorize) for i, y in enumerate(ys))
    made = tuple(tuple(_ready(g, create_graph) for g in row) for row in rows)
    if not several_in:
        made = tuple(row[0] for row in made)
    return made if several_out else made[0]


def _rows(number: int, y: Any, xs: tuple[Any, ...], create_graph: bool, strict: bool, vectorize: bool) -> tuple[Any, ...]:
    shape = y.array.shape
    size = int(np.prod(shape))
    if own(y.node) is None or not size:
        found: tuple[Any, ...] = (None,) * len(xs)
    else:
        seeds = wrap(np.eye(size, dtype=y.array.dtype).reshape(size, *shape))
        try:
            found = grad(y, xs, seeds, True, create_graph, allow_unused=True, is_grads_batched=True)
        except RuntimeError as error:
            if vectorize or not str(error).startswith("vmap: "):
                raise
            found = _one_by_one(y, xs, seeds, create_graph)  # a backward of the user's own looks at its values
    made = []
    for i, (g, x) in enumerate(zip(found, xs, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input {i}. This is not allowed in strict mode."
                )
            made.append(wrap(np.zeros((*shape, *x.array.shape), x.array.dtype)))
        else:
            if strict and create_graph and own(g.node) is None:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                    "create_graph=True."
                )
            made.append(STYLE.reshape(g, (*shape, *x.array.shape)))
    return tuple(made)


def _one_by_one(y: Any, xs: tuple[Any, ...], seeds: Any, create_graph: bool) -> tuple[Any, ...]:
    """The rows of a Jacobian, each by a sweep of its own."""
    each = [grad(y, xs, seed, True, create_graph, allow_unused=True) for seed in seeds]
    return tuple(None if row[0] is None else STYLE.stack(list(row)) for row in zip(*each, strict=True))


def hessian(
    func: Any,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function of one number, for each pair of inputs."""
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    several, _ = _as_tuple(inputs, "inputs", "hessian")

    def slopes(*xs: Any) -> Any:
        y = func(*xs)
        several_out, ys = _as_tuple(y, "outputs of the user-provided function", "hessian")
        _strictly(strict, ys, "outputs")
        if several_out or int(np.prod(ys[0].array.shape)) != 1:
            raise RuntimeError(
                "The function given to hessian should return a single Tensor" if several_out
                else "The Tensor returned by the function given to hessian should contain a single element"
            )
        found = _filled(_grad(ys, xs, (None,), True), xs, False, False, 1)
        _strictly(strict, found, "jacobian")
        return found if several else found[0]

    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.hessian: `strict=True` and `vectorized=True` are not supported together. "
                           "Please either set `strict=False` or `vectorize=False`.")  # fmt: skip
    return jacobian(slopes, inputs, create_graph, strict, vectorize)


__getattr__ = refusing(globals())

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
