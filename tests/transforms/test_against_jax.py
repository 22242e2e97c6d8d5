"""Compositions of transforms against JAX's, which reads the same programs: in every order, on both kernel sets."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.registry.backends import making_on

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.interop("jax"), pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0x5EED)
X, Y, ROWS, MATRIX = RNG.normal(size=3), RNG.uniform(0.5, 1.5, 3), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 3))
WEIGHTS, MATRICES = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3, 3)) + 2 * np.eye(3)


def first(x: Any) -> Any:
    return x[0] if isinstance(x, tuple) else x


def of_tapegrad() -> Any:
    def written(value: Any, gradient: Any) -> Any:
        return tg.custom_gradient(lambda x: (value(x), lambda g: gradient(x, g)))

    def written_forward(value: Any, rule: Any) -> Any:
        f = tg.custom_jvp(value)
        f.defjvp(lambda primals, tangents: (value(*primals), rule(primals, tangents)))
        return f

    return SimpleNamespace(
        **{n: getattr(tg, n) for n in ("grad", "value_and_grad", "vmap", "jvp", "vjp", "hessian", "linearize", "checkpoint")},
        **{n: getattr(tg, n) for n in ("sin", "exp", "sum", "where", "tanh", "prod", "sort", "logsumexp", "mean", "concat", "stack")},
        **{"array": lambda a: tg.asarray(np.asarray(a)), "softmax": tg.nn.softmax, "cumsum": tg.cumulative_sum},
        **{"inv": tg.linalg.inv, "det": tg.linalg.det, "solve": tg.linalg.solve, "stop": tg.stop_gradient, "einsum": tg.einsum},
        forward=lambda f, argnums=0: tg.jacobian(f, argnums, mode="forward"),
        reverse=lambda f, argnums=0: tg.jacobian(f, argnums, mode="reverse"),
        written=written,
        written_forward=written_forward,
    )


def of_jax() -> Any:
    import jax

    jnp = jax.numpy

    def written(value: Any, gradient: Any) -> Any:
        f = jax.custom_vjp(value)
        f.defvjp(lambda x: (value(x), x), lambda x, g: (gradient(x, g),))
        return f

    def written_forward(value: Any, rule: Any) -> Any:
        f = jax.custom_jvp(value)
        f.defjvp(lambda primals, tangents: (value(*primals), rule(primals, tangents)))
        return f

    return SimpleNamespace(
        **{n: getattr(jax, n) for n in ("grad", "value_and_grad", "vmap", "jvp", "vjp", "hessian", "linearize", "checkpoint")},
        **{n: getattr(jnp, n) for n in ("sin", "exp", "sum", "where", "tanh", "prod", "sort", "mean", "stack", "cumsum", "einsum")},
        **{"array": jnp.asarray, "softmax": jax.nn.softmax, "concat": jnp.concatenate, "logsumexp": jax.scipy.special.logsumexp},
        **{"inv": jnp.linalg.inv, "det": jnp.linalg.det, "solve": jnp.linalg.solve, "stop": jax.lax.stop_gradient},
        forward=jax.jacfwd,
        reverse=jax.jacrev,
        written=written,
        written_forward=written_forward,
    )


def wave(o: Any) -> Any:
    return lambda x: o.sum(o.sin(x) * x * x)


def mixing(o: Any) -> Any:
    return lambda x: o.sin(x) * o.sum(x)


def newton(o: Any) -> Any:
    f = lambda x: o.sum((x**2 - o.array(Y)) ** 2) + o.sum(x**4) * 0.1  # noqa: E731
    return lambda x: x - o.solve(o.hessian(f)(x), o.grad(f)(x)[:, None])[:, 0]


def learning(o: Any) -> Any:
    """The derivative of what a step of descent for each task gives."""
    loss = lambda w, x: o.mean(o.tanh(x @ w) ** 2)  # noqa: E731
    tasks, tests = o.array(np.stack([ROWS, 2 * ROWS])), o.array(np.stack([3 * ROWS, ROWS]))

    def after(w: Any) -> Any:
        return o.sum(o.vmap(loss)(o.vmap(lambda x: w - 0.1 * o.grad(loss)(w, x))(tasks), tests))

    return o.grad(after)(o.array(WEIGHTS))


def ten_times(o: Any) -> Any:
    return o.written(o.sin, lambda x, g: 10.0 * g * x)


def forward_ten_times(o: Any) -> Any:
    return o.written_forward(o.sin, lambda primals, tangents: 10.0 * primals[0] * tangents[0])


def unsteady(o: Any) -> Any:
    return o.checkpoint(lambda x: o.sin(o.sin(x)) * o.sum(x))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "third derivative of a batch": lambda o: o.vmap(o.grad(o.grad(o.grad(lambda x: o.sin(x) * x**3))))(o.array(X)),
    "Hessians in four ways": lambda o: [
        a(b(wave(o)))(o.array(X)) for a in (o.forward, o.reverse) for b in (o.forward, o.reverse)
    ],
    "Jacobian of a Hessian": lambda o: o.forward(o.hessian(lambda x: o.prod(o.sin(x)) + o.sum(x**4)))(o.array(X)),
    "Hessian of a Hessian": lambda o: o.hessian(lambda y: o.sum(o.hessian(lambda x: o.prod(x) * o.exp(o.sum(x * x) * 0.1))(y) ** 2))(
        o.array(X)
    ),
    "Hessian around a batch": lambda o: o.hessian(lambda w: o.sum(o.vmap(lambda b: o.tanh(o.sum(b * w)))(o.array(ROWS)) ** 2))(o.array(X)),
    "axes of batches": lambda o: [
        o.vmap(lambda a, b: a * b + o.sum(a), (0, 1))(o.array(ROWS), o.array(ROWS.T)),
        o.vmap(lambda a, b: a[:, None] * b, (0, None), 1)(o.array(ROWS), o.array(X)),
        o.vmap(lambda a: (a, o.sum(a)), 0, (1, 0))(o.array(ROWS)),
        o.vmap(lambda a, b: a[:, None] * b, (0, None), -1)(o.array(ROWS), o.array(X)),
    ],
    "batches in batches in batches": lambda o: o.vmap(o.vmap(o.vmap(lambda a, b: a * b + o.sin(a), (None, 0)), (0, None)), (0, None))(
        o.array(ROWS), o.array(X)
    ),
    "batch of a structure": lambda o: o.vmap(lambda d: {"s": o.sum(d["a"]) * d["b"], "t": [d["a"]]}, ({"a": 0, "b": None},))(
        {"a": o.array(ROWS), "b": o.array(X)}
    ),
    "gradients of examples": lambda o: o.vmap(o.value_and_grad(lambda w, x: o.sum(o.tanh(x @ w) ** 2), (0, 1)), (None, 0))(
        o.array(WEIGHTS), o.array(ROWS)
    ),
    "gradient of the norms of gradients of examples": lambda o: o.grad(
        lambda w: o.sum(o.vmap(lambda x: o.sum(o.grad(lambda v: o.sum(o.tanh(x @ v) ** 2))(w) ** 2) ** 0.5)(o.array(ROWS)))
    )(o.array(WEIGHTS)),
    "forward through a pullback": lambda o: o.jvp(lambda x: first(o.vjp(mixing(o), x)[1](o.array(Y))), (o.array(X),), (o.array(Y),)),
    "backward through a pushforward": lambda o: o.grad(lambda x: o.sum(o.jvp(mixing(o), (x,), (o.array(Y),))[1] ** 2))(o.array(X)),
    "batch of a pullback": lambda o: o.vmap(lambda g: first(o.vjp(mixing(o), o.array(X))[1](g)))(o.array(np.eye(3))),
    "batch of a linear function": lambda o: o.vmap(o.linearize(mixing(o), o.array(X))[1])(o.array(np.eye(3))),
    "gradient of a linear function's result": lambda o: o.grad(lambda x: o.sum(o.linearize(mixing(o), x)[1](o.array(Y)) ** 2))(o.array(X)),
    "Jacobians of a structure": lambda o: [
        how(lambda d: {"u": d["a"] * d["b"][0], "v": o.sum(d["a"])})({"a": o.array(X), "b": [o.array(2.0)]})
        for how in (o.forward, o.reverse)
    ],
    "Hessian of a structure": lambda o: o.hessian(lambda d: o.sum(d["a"] ** 2 * d["b"]))({"a": o.array(X), "b": o.array(2.0)}),
    "Jacobians of two arguments": lambda o: [
        how(lambda a, b: a * o.sum(b), (0, 1))(o.array(X), o.array(Y)) for how in (o.forward, o.reverse)
    ],
    "inverses, determinants and solutions": lambda o: [
        o.vmap(o.reverse(lambda m: o.inv(m) @ m.T))(o.array(MATRICES)),
        o.hessian(o.det)(o.array(MATRIX)),
        o.vmap(o.forward(lambda m: o.solve(m, o.array(X)[:, None])))(o.array(MATRICES)),
    ],
    "Jacobians of batches": lambda o: [
        o.vmap(how(f))(o.array(ROWS))
        for how in (o.forward, o.reverse)
        for f in (
            *(o.sort, lambda x: o.cumsum(x) * x, lambda x: x[::-1][:2] * x[1], o.softmax, lambda x: o.concat([x, o.stack([o.sum(x)])])),
            *(o.grad(o.prod), o.grad(o.logsumexp), o.grad(lambda x: o.sum(o.where(x > o.mean(x), x, 0.0 * x) ** 2))),
        )
    ],
    "products of a matrix with itself": lambda o: o.vmap(o.grad(lambda m: o.sum(o.einsum("ij,kj->ik", m, m) ** 2)))(o.array(MATRICES)),
    "what is cut off": lambda o: [
        o.jvp(lambda x: o.stop(x) * x, (o.array(X),), (o.array(Y),)),
        o.vmap(o.grad(lambda x: o.sum(o.stop(x * x) * x)))(o.array(ROWS)),
    ],
    "a derivative that is written": lambda o: [
        *(how(ten_times(o))(o.array(X)) for how in (o.reverse, lambda f: o.vmap(o.grad(f)), lambda f: o.vmap(o.grad(o.grad(f))))),
        o.grad(lambda w: o.sum(o.vmap(lambda b: o.sum(ten_times(o)(b * w)))(o.array(ROWS))))(o.array(X)),
    ],
    "a pushforward that is written": lambda o: [
        how(forward_ten_times(o))(o.array(X))
        for how in (o.reverse, o.forward, lambda f: o.vmap(o.grad(o.grad(f))), lambda f: o.hessian(lambda x: o.sum(f(x))))
    ],
    "what is computed again": lambda o: [
        *(how(unsteady(o))(o.array(X)) for how in (o.reverse, o.forward, lambda f: o.hessian(lambda x: o.sum(f(x))))),
        o.vmap(o.reverse(unsteady(o)))(o.array(ROWS)),
        o.grad(lambda w: o.sum(o.checkpoint(lambda w: o.vmap(lambda b: o.tanh(b @ w))(o.array(ROWS)))(w)))(o.array(WEIGHTS)),
    ],
    "variables of other derivatives": lambda o: [
        o.grad(lambda x: o.grad(lambda y: x * y * y * x)(2.0 * x))(o.array(1.5)),
        o.grad(lambda x: x * o.grad(lambda y: x + y)(o.array(1.0)))(o.array(2.0)),
        o.jvp(lambda x: x * o.jvp(lambda y: x * y, (o.array(3.0),), (o.array(1.0),))[1], (o.array(2.0),), (o.array(1.0),)),
        o.vmap(lambda x: o.grad(lambda y: x * y * y)(x))(o.array(X)),
    ],
    "Newton's step": lambda o: [o.forward(newton(o))(o.array(X)), o.vmap(newton(o))(o.array(ROWS))],
    "learning to learn": learning,
    "more than a value": lambda o: [
        o.vmap(o.grad(lambda x: (o.sum(x * x), x * 2.0), has_aux=True))(o.array(ROWS)),
        o.value_and_grad(lambda x: (o.sum(x * x), {"a": x}), has_aux=True)(o.array(X)),
    ],
    "rows by number": lambda o: o.grad(lambda b: o.sum(o.vmap(lambda i: b[i] ** 2)(o.array(np.asarray([0, 2, 2])))))(o.array(ROWS)),
    "nothing to do with it": lambda o: [
        o.grad(lambda x, y: o.sum(x), 1)(o.array(X), o.array(Y)),
        o.reverse(lambda x: o.array(Y))(o.array(X)),
        o.forward(lambda x: o.array(Y))(o.array(X)),
        o.hessian(lambda x: o.sum(x * 2.0))(o.array(X)),
    ],
}


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for k in sorted(x) for leaf in leaves(x[k])]
    if isinstance(x, list | tuple):
        return [leaf for part in x for leaf in leaves(part)]
    return [x.numpy() if isinstance(x, tg.Tensor) else np.asarray(x)]


@cache
def wanted(name: str) -> list[Any]:
    import jax

    with jax.enable_x64(True):
        return leaves(PROGRAMS[name](of_jax()))


@pytest.mark.parametrize("kernels", ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_in_jax(name: str, kernels: str) -> None:
    expected = wanted(name)
    with making_on(kernels):
        found = leaves(PROGRAMS[name](of_tapegrad()))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
