"""Transforms against those of torch.func and JAX, on a small network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(21)
PARAMS = {"w": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4), "v": RNG.normal(size=(4, 2))}
X, Y = RNG.normal(size=(5, 3)), RNG.integers(0, 2, 5)
TOWARD = {k: RNG.normal(size=p.shape) for k, p in PARAMS.items()}


def ours(p: Any, x: Any, y: Any) -> Any:
    return tg.nn.cross_entropy(tg.tanh(x @ p["w"] + p["b"]) @ p["v"], y)


def tensors(tree: Any) -> Any:
    return {k: tg.asarray(a) for k, a in tree.items()}


def compared(name: str, found: Any, expected: Any) -> None:
    """Two structures of dicts and tuples, leaf by leaf."""
    if isinstance(found, dict):
        assert found.keys() == expected.keys(), name
        for k in found:
            compared(f"{name}[{k}]", found[k], expected[k])
    elif isinstance(found, tuple | list):
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            compared(f"{name}[{i}]", a, b)
    else:
        np.testing.assert_allclose(found.numpy(), np.asarray(expected), rtol=1e-9, atol=1e-11, err_msg=name)


def of_ours() -> dict[str, Any]:
    p, t, x, y = tensors(PARAMS), tensors(TOWARD), tg.asarray(X), tg.asarray(Y)
    return results(tg.grad, tg.vmap, tg.jvp, tg.hessian, tg.jacobian, ours, p, t, x, y)


def results(
    grad: Any, vmap: Any, jvp: Any, hessian: Any, jacobian: Any, f: Any, p: Any, t: Any, x: Any, y: Any
) -> dict[str, Any]:
    """The same program in every library; `vmap` takes (f, in_axes) and `jacobian` reverse or forward."""
    logits = lambda p, x: f(p, x, y[0])  # noqa: E731
    return {
        "grad": grad(f)(p, x[0], y[0]),
        "per example": vmap(grad(f), (None, 0, 0))(p, x, y),
        "jvp": jvp(lambda p: f(p, x[0], y[0]), (p,), (t,)),
        "jvp of grad": jvp(lambda p: grad(f)(p, x[0], y[0]), (p,), (t,))[1],
        "hessian": hessian(f)(p, x[0], y[0]),
        "per example hessian for x": vmap(hessian(f, 1), (None, 0, 0))(p, x, y),
        "jacobian of vmap": jacobian(lambda p: vmap(f, (None, 0, 0))(p, x, y))(p),
        "norms": grad(lambda p: sum((g * g).sum() if hasattr(g, "sum") else g for g in vmap(grad(f), (None, 0, 0))(p, x, y).values()))(p),
        "nested": vmap(vmap(logits, (None, 0)), ({"w": None, "b": 0, "v": None}, None))(
            {**p, "b": stacked(p["b"])}, x
        ),
    }


def stacked(b: Any) -> Any:
    return b[None] * b[:, None]


@pytest.mark.interop("torch")
def test_torch_func_gives_the_same() -> None:
    import torch
    from torch import func

    def theirs(p: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.tanh(x @ p["w"] + p["b"]) @ p["v"], y)

    p, t = ({k: torch.tensor(a) for k, a in tree.items()} for tree in (PARAMS, TOWARD))
    expected = results(
        func.grad, func.vmap, func.jvp, func.hessian, func.jacrev, theirs, p, t, torch.tensor(X), torch.tensor(Y)
    )
    for name, found in of_ours().items():
        compared(name, found, _arrays(expected[name]))


@pytest.mark.interop("jax")
def test_jax_gives_the_same() -> None:
    import jax
    import jax.numpy as jnp

    def theirs(p: Any, x: Any, y: Any) -> Any:
        z = jnp.tanh(x @ p["w"] + p["b"]) @ p["v"]
        return jax.nn.logsumexp(z) - z[y]

    with jax.enable_x64(True):
        p, t = ({k: jnp.asarray(a) for k, a in tree.items()} for tree in (PARAMS, TOWARD))
        expected = results(
            jax.grad, jax.vmap, jax.jvp, jax.hessian, jax.jacrev, theirs, p, t, jnp.asarray(X), jnp.asarray(Y)
        )
        for name, found in of_ours().items():
            compared(name, found, _arrays(expected[name]))


def _arrays(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: _arrays(a) for k, a in tree.items()}
    if isinstance(tree, tuple | list):
        return tuple(map(_arrays, tree))
    return np.asarray(tree.detach() if hasattr(tree, "detach") else tree)
