"""Each planted function as an op of a framework: what of its faults can be shown there is a question to the framework."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.testing.words import array, word_for

from .plant import Plant

Function = Callable[..., Any]


def words_of(plant: Plant) -> dict[str, Any]:
    """A word for each argument, by the parameters of the NumPy function: an op of a framework has none to show."""
    f = plant.f
    ufunc = isinstance(f, np.ufunc)
    names = [f"x{i + 1}" for i in range(f.nin)] if ufunc else list(inspect.signature(f).parameters)
    return {name: plant.words.get(name, array()) for name in names}


def rules_of(plant: Plant, *, wrong: bool) -> tuple[Function, Function, Function | None]:
    """The value, ``vjp(g, y, xs)`` with a gradient for each argument, and ``second(h, g, xs)``."""
    f, words = plant.faulty() if wrong else plant.correct()
    vjp, second = words["vjp"], words.get("second")
    count = len(words_of(plant))

    def rule(g: Any, y: Any, xs: Any) -> tuple[Any, ...]:
        found = vjp(g, y, *xs) if vjp.__code__.co_argcount == count + 2 else vjp(g, *xs)
        return found if isinstance(found, tuple) else (found,)

    return f, rule, (lambda h, g, xs: second(h, g, *xs)) if second is not None else None


def torch_function(plant: Plant, *, wrong: bool) -> Function:
    """The `apply` of a `torch.autograd.Function`; where there is a second derivative, its backward is one, too."""
    import torch
    from torch.autograd.function import once_differentiable

    f, rule, second = rules_of(plant, wrong=wrong)
    push = (plant.faulty() if wrong else plant.correct())[1].get("jvp")

    def arrays(xs: Any) -> list[Any]:
        return [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in xs]

    class Backward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, g: Any, x: Any) -> Any:
            ctx.save_for_backward(g, x)
            return torch.from_numpy(np.asarray(rule(g.numpy(), None, arrays([x]))[0]))

        @staticmethod
        def backward(ctx: Any, *hs: Any) -> Any:
            assert second is not None
            g, x = arrays(ctx.saved_tensors)
            return tuple(torch.from_numpy(np.asarray(c)) for c in second(hs[0].numpy(), g, [x]))

    class Op(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.xs = xs
            y = np.asarray(f(*arrays(xs)))
            ctx.y = torch.from_numpy(y if all(s > 0 for s in y.strides) or not y.size else y.copy())
            return ctx.y

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *gs: Any) -> Any:
            found = rule(gs[0].numpy(), ctx.y.detach().numpy(), arrays(ctx.xs))
            return tuple(None if c is None else torch.from_numpy(_positive(np.asarray(c))) for c in found)

    class Twice(Op):
        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            return Backward.apply(gs[0], ctx.xs[0])  # type: ignore[no-untyped-call]

    class Forth(Op):
        @staticmethod
        def jvp(ctx: Any, *ts: Any) -> Any:
            return torch.from_numpy(np.asarray(push(*arrays(ts), *arrays(ctx.xs))))

    kind = Twice if second is not None else Forth if push is not None else Op
    made: Function = kind.apply
    return made


def _positive(c: Any) -> Any:
    return c if all(s > 0 for s in c.strides) or not c.size else c.copy()


def tensorflow_function(plant: Plant, *, wrong: bool) -> Function:
    """A function under `tf.custom_gradient`."""
    import tensorflow as tf

    f, rule, _ = rules_of(plant, wrong=wrong)

    @tf.custom_gradient
    def op(*tensors: Any) -> Any:
        xs = [np.array(x) for x in tensors]
        y = np.asarray(f(*xs))

        def back(g: Any) -> Any:
            return [None if c is None else tf.constant(c) for c in rule(np.array(g), y, xs)]

        return tf.constant(y), back

    made: Function = op
    return made


def autograd_function(plant: Plant, *, wrong: bool) -> Function:
    """A primitive of autograd."""
    from autograd.extend import defvjp, primitive

    f, rule, _ = rules_of(plant, wrong=wrong)

    @primitive
    def op(*xs: Any) -> Any:
        return f(*xs)

    @primitive
    def pulled(k: int, g: Any, y: Any, *xs: Any) -> Any:  # without a derivative of its own
        return np.conj(rule(np.conj(g), y, xs)[k])  # its cotangents are conjugates of ours

    def maker(k: int) -> Function:
        return lambda y, *xs: lambda g: pulled(k, g, y, *xs)

    defvjp(op, *(maker(k) for k in range(len(words_of(plant)))))
    made: Function = op
    return made


#: A kind of fault that PyTorch mends itself: it casts a gradient to the dtype of its argument.
HIDDEN_BY_TORCH = frozenset(["dtype"])


def jax_function(plant: Plant, *, wrong: bool) -> Function:
    """A function under `jax.custom_vjp`, whose value and rule are called back on the host."""
    import jax

    f, rule, _ = rules_of(plant, wrong=wrong)
    words = [word_for(w, "x") for w in words_of(plant).values()]

    # One function object each, so that JAX compiles a call once for each shape.
    def host_value(*xs: Any) -> Any:
        return np.asarray(f(*map(np.array, xs)))

    def host_rule(g: Any, y: Any, *xs: Any) -> Any:
        found = rule(np.conj(np.array(g)), np.array(y), [np.array(x) for x in xs])  # conjugates of ours
        return tuple(np.conj(np.asarray(c)) for c, x in zip(found, xs, strict=True) if x.dtype.kind in "fc")

    def like(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    def value(*xs: Any) -> Any:
        some = host_value(*(_filler(w, x) for w, x in zip(words, xs, strict=True)))
        return jax.pure_callback(host_value, like(some), *xs)

    @jax.custom_vjp
    def op(*xs: Any) -> Any:
        return value(*xs)

    def forward(*xs: Any) -> Any:
        y = value(*xs)
        return y, (xs, y)

    def back(saved: Any, g: Any) -> Any:
        xs, y = saved
        floating = [k for k, x in enumerate(xs) if x.dtype.kind in "fc"]
        made = jax.pure_callback(host_rule, tuple(like(xs[k]) for k in floating), g, y, *xs)
        by_argument = dict(zip(floating, made, strict=True))
        return tuple(by_argument.get(k, np.zeros(x.shape, jax.dtypes.float0)) for k, x in enumerate(xs))

    op.defvjp(forward, back)
    made: Function = op
    return made


def _filler(word: Any, x: Any) -> Any:
    """An array of the domain, with which the shape of the value can be had."""
    if x.dtype.kind not in "fc":
        return np.zeros(x.shape, x.dtype)
    if word.kind == "psd":
        return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
    low, high = max(word.lo, -1.0), min(word.hi, 3.0)
    return np.random.default_rng(0).uniform(low, high, x.shape).astype(x.dtype)
