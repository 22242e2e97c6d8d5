"""einops on tensors of every style: values as on arrays, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
import tapegrad.tf
from tapegrad import torch

pytestmark = pytest.mark.interop("einops")
RNG = np.random.default_rng(10)
X = RNG.uniform(0.2, 0.9, (2, 4, 6))


@pytest.fixture(scope="module")
def einops() -> Any:
    import einops

    return einops


CALLS = {
    "rearrange": lambda e, x: e.rearrange(x, "b (h k) w -> (b w) h k", k=2),
    "rearrange with an ellipsis": lambda e, x: e.rearrange(x, "b ... -> ... b"),
    "rearrange of a list": lambda e, x: e.rearrange([x[0], x[1], 2 * x[0]], "n h w -> h n w"),
    "reduce": lambda e, x: e.reduce(x, "b (h k) w -> b h w", "mean", k=2),
    "reduce to max": lambda e, x: e.reduce(x, "b h w -> h", "max"),
    "reduce to min": lambda e, x: e.reduce(x, "b h w -> b 1 w", "min"),
    "reduce to a product": lambda e, x: e.reduce(x, "b h w -> w", "prod"),
    "reduce to a sum": lambda e, x: e.reduce(x, "... w -> ...", "sum"),
    "repeat": lambda e, x: e.repeat(x, "b h w -> b (h k) w c", k=2, c=3),
    "einsum": lambda e, x: e.einsum(x, x, "b h w, b k w -> b h k"),
    "pack": lambda e, x: e.pack([x, x[..., 0]], "b h *")[0],
    "unpack": lambda e, x: e.unpack(x, [(2,), (), (3,)], "b h *")[2],
}


@pytest.mark.parametrize("name", CALLS)
def test_einops_records_plain_tensors(einops: Any, name: str) -> None:
    f = CALLS[name]
    value = f(einops, X)
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(einops, x)
    assert type(y) is tg.Tensor
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-12)
    g = RNG.normal(size=y.shape)
    found = tape.gradient(y, x, output_gradients=tg.asarray(g)).numpy()
    t = RNG.normal(size=X.shape)
    expected = np.sum(g * (f(einops, X + 1e-6 * t) - f(einops, X - 1e-6 * t))) / 2e-6
    np.testing.assert_allclose(np.sum(found * t), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("make", [torch.tensor, tapegrad.tf.constant, tg.Variable], ids=["torch", "tf", "variable"])
def test_einops_gives_the_style_of_what_it_is_given(einops: Any, name: str, make: Any) -> None:
    y = CALLS[name](einops, make(X))
    assert type(y) is (tg.Tensor if make is tg.Variable else type(make(X)))
    np.testing.assert_allclose(np.asarray(y), CALLS[name](einops, X), rtol=1e-12)


def test_backward_through_einops(einops: Any) -> None:
    x = torch.tensor(X, requires_grad=True)
    einops.reduce(x * x, "b h w -> b", "sum").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_shapes_are_parsed_and_mismatches_are_einops_own_errors(einops: Any) -> None:
    assert einops.parse_shape(tg.asarray(X), "b _ w") == {"b": 2, "w": 6}
    with pytest.raises(einops.EinopsError, match="can't divide axis of length 4 in chunks of 3"):
        einops.rearrange(tg.asarray(X), "b (h k) w -> b h k w", k=3)


def test_means_of_integers_are_einops_own_error(einops: Any) -> None:
    with pytest.raises(NotImplementedError, match="reduce_mean is not available"):
        einops.reduce(tg.ones((2, 3), dtype=tg.int64), "a b -> a", "mean")
