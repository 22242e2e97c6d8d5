"""Transforms of functions on structures, composed at random three deep, against JAX: argnums, auxiliary values, axes by structure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any], Any]

pytestmark = [pytest.mark.interop("jax"), pytest.mark.filterwarnings("ignore")]

# A point, weights and a direction: {"a": (3,), "b": ((), (2,))}
POINT = [np.asarray([0.4, -0.9, 1.3]), np.asarray(0.6), np.asarray([-0.7, 1.1])]
WEIGHTS = [np.asarray([0.5, -1.0, 0.25]), np.asarray(0.7), np.asarray([1.0, -0.3])]
TOWARD = [np.asarray([0.3, 1.0, -0.5]), np.asarray(0.4), np.asarray([-0.2, 0.9])]
SCALES = np.asarray([1.0, -0.5, 0.25])


def of_tapegrad() -> Any:
    def written(value: Any, gradient: Any) -> Any:
        return tg.custom_gradient(lambda x: (value(x), lambda g: gradient(x, g)))

    return SimpleNamespace(
        **{n: getattr(tg, n) for n in ("grad", "value_and_grad", "vmap", "jvp", "vjp", "hessian", "linearize", "checkpoint")},
        **{n: getattr(tg, n) for n in ("sin", "exp", "sum", "where", "tanh", "mean", "stack")},
        array=lambda a: tg.asarray(np.asarray(a)),
        forward=lambda f, argnums=0: tg.jacobian(f, argnums, mode="forward"),
        reverse=lambda f, argnums=0: tg.jacobian(f, argnums, mode="reverse"),
        written=written,
        stop=tg.stop_gradient,
    )


def of_jax() -> Any:
    import jax

    jnp = jax.numpy

    def written(value: Any, gradient: Any) -> Any:
        f = jax.custom_vjp(value)
        f.defvjp(lambda x: (f(x), x), lambda x, g: (gradient(x, g),))  # f: its own derivative stands at every order
        return f

    return SimpleNamespace(
        **{n: getattr(jax, n) for n in ("grad", "value_and_grad", "vmap", "jvp", "vjp", "hessian", "linearize", "checkpoint")},
        **{n: getattr(jnp, n) for n in ("sin", "exp", "sum", "where", "tanh", "mean", "stack")},
        array=jnp.asarray,
        forward=jax.jacfwd,
        reverse=jax.jacrev,
        written=written,
        stop=jax.lax.stop_gradient,
    )


def structure(o: Any, values: Any) -> Any:
    return {"a": o.array(values[0]), "b": (o.array(values[1]), o.array(values[2]))}


def mapped(f: Callable[..., Any], *ds: Any) -> Any:
    return {"a": f(*[d["a"] for d in ds]), "b": tuple(f(*[d["b"][k] for d in ds]) for k in (0, 1))}


# -- functions of a structure that give one of the same form ----------------------------------------------
PROGRAMS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda o, a, b, c: (o.sin(a) * b + o.sum(c), o.sum(a * a) * b, c * o.tanh(b)),
    lambda o, a, b, c: (o.where(a > 0.1, a**3, o.exp(a)) * o.sum(c * c), o.mean(a) * b * b, c[::-1] * c),
    lambda o, a, b, c: (a[::-1] * a * b, o.sum(o.tanh(a)) + b * o.sum(c), o.stack([o.sum(a), b * c[0]])),
    lambda o, a, b, c: (a * o.stop(o.sum(a)) * b, o.sum(o.exp(a * 0.3)), o.sin(c) * b + o.stop(o.sum(c)) * c),
]
WRITTEN = len(PROGRAMS)  # one with a derivative that is written, which JAX does not take forward


def program(k: int, o: Any) -> Function:
    def f(d: Any) -> Any:
        a, (b, c) = d["a"], d["b"]
        if k == WRITTEN:
            w = o.written(o.sin, lambda x, g: 10.0 * g * x)
            y = w(a) * b, o.sum(o.exp(a * 0.3)), w(c) * b
        else:
            y = PROGRAMS[k](o, a, b, c)
        return {"a": y[0], "b": (y[1], y[2])}

    return f


# -- transforms, each of which gives such a function again --------------------------------------------------
def total(o: Any, f: Function) -> Function:
    def weighted(d: Any) -> Any:
        y = f(d)
        return o.sum(y["a"] * o.array(WEIGHTS[0])) + y["b"][0] * o.array(WEIGHTS[1]) + o.sum(y["b"][1] * o.array(WEIGHTS[2]))

    return weighted


def gradient_and_more(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        (value, more), gradient = o.value_and_grad(lambda d: (total(o, f)(d), {"x": f(d)}), has_aux=True)(d)
        return mapped(lambda u, v: u + 0.1 * v + 0.2 * value, gradient, more["x"])

    return g


def by_arguments(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        loss = lambda a, b, c: total(o, f)({"a": a, "b": (b, c)})  # noqa: E731
        a, (b, c) = d["a"], d["b"]
        of_a, of_c = o.grad(loss, (0, 2))(a, b, c)
        return {"a": of_a, "b": (o.grad(loss, 1)(a, b, c), of_c)}

    return g


def pulled_and_more(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        _, pullback, more = o.vjp(lambda d: (f(d), d["a"] * 2.0), d, has_aux=True)
        (found,) = pullback(structure(o, WEIGHTS))
        return {"a": found["a"] + more, "b": found["b"]}

    return g


def contracted(how: str) -> Callable[[Any, Function], Function]:
    def transform(o: Any, f: Function) -> Function:
        def g(d: Any) -> Any:
            j = getattr(o, how)(f)(d)
            first, last = o.array(TOWARD[0]), o.array(TOWARD[2])
            a = j["a"]["a"] @ first + j["a"]["b"][0]
            return {"a": a, "b": (o.sum(j["b"][0]["a"]) + j["b"][0]["b"][0], j["b"][1]["b"][1] @ last + j["b"][1]["a"] @ first)}

        return g

    return transform


def curvature(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        h, first, last = o.hessian(total(o, f))(d), o.array(TOWARD[0]), o.array(TOWARD[2])
        return {
            "a": h["a"]["a"] @ first + h["a"]["b"][0],
            "b": (h["b"][0]["b"][0], h["b"][1]["b"][1] @ last + h["b"][1]["a"] @ first),
        }

    return g


def batched_by_structure(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        batch = {"a": o.stack([d["a"] * s for s in SCALES]), "b": (d["b"][0], o.stack([d["b"][1] * s for s in SCALES]))}
        return mapped(lambda v: o.sum(v, axis=0), o.vmap(f, in_axes=({"a": 0, "b": (None, 0)},))(batch))

    return g


def batched_elsewhere(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        batch = {"a": o.stack([d["a"] * s for s in SCALES], axis=1), "b": (o.stack([d["b"][0] * s for s in SCALES]), d["b"][1])}
        y = o.vmap(f, in_axes=({"a": 1, "b": (0, None)},), out_axes={"a": -1, "b": (0, 1)})(batch)
        return {"a": o.sum(y["a"], axis=-1), "b": (o.sum(y["b"][0]), o.sum(y["b"][1], axis=1))}

    return g


def batched_scales(o: Any, f: Function) -> Function:
    def g(d: Any) -> Any:
        y = o.vmap(lambda s, d: f(mapped(lambda v: v * s, d)), (0, None))(o.array(SCALES), d)
        return mapped(lambda v: o.sum(v, axis=0), y)

    return g


TRANSFORMS: dict[str, Callable[[Any, Function], Function]] = {
    "gradient": lambda o, f: o.grad(total(o, f)),
    "gradient and more": gradient_and_more,
    "gradients by arguments": by_arguments,
    "pullback": lambda o, f: lambda d: o.vjp(f, d)[1](structure(o, WEIGHTS))[0],
    "pullback and more": pulled_and_more,
    "pushforward": lambda o, f: lambda d: o.jvp(f, (d,), (structure(o, TOWARD),))[1],
    "linear function": lambda o, f: lambda d: o.linearize(f, d)[1](structure(o, TOWARD)),
    "forward Jacobian": contracted("forward"),
    "reverse Jacobian": contracted("reverse"),
    "Hessian": curvature,
    "Hessian's product": lambda o, f: lambda d: o.jvp(o.grad(total(o, f)), (d,), (structure(o, TOWARD),))[1],
    "batch by structure": batched_by_structure,
    "batch on other axes": batched_elsewhere,
    "batch of scales": batched_scales,
    "checkpoint": lambda o, f: o.checkpoint(f),
}
FORWARD = {"pushforward", "linear function", "forward Jacobian", "Hessian", "Hessian's product"}


def applied(o: Any, k: int, stack: list[str]) -> list[Any]:
    f = program(k, o)
    for name in stack:
        f = TRANSFORMS[name](o, f)
    y = f(structure(o, POINT))
    return [np.asarray(v.numpy() if isinstance(v, tg.Tensor) else v) for v in (y["a"], *y["b"])]


@settings(max_examples=-(-settings().max_examples // 4))
@given(st.integers(0, WRITTEN), st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=3))
def test_transforms_of_structures_in_any_order_give_what_they_give_in_jax(k: int, stack: list[str]) -> None:
    import jax

    if k == WRITTEN:
        stack = [name for name in stack if name not in FORWARD]
    with jax.enable_x64(True):
        expected = applied(of_jax(), k, stack)
    for a, b in zip(applied(of_tapegrad(), k, stack), expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * max(1, np.abs(b).max()))
