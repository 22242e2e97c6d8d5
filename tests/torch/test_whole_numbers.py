"""Divisors, numbers in two parts, places, low rank, and functions of `torch` that are those of `nn` in another form."""

from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")

SAME = {
    "gcd": "t.gcd(t.tensor([12, -18, 0, 7]), t.tensor([18, 12, 5, 0]))",
    "gcd with a number": "t.tensor([12, 18]).gcd(t.tensor(8))",
    "lcm": "t.lcm(t.tensor([4, 6, -3, 0]), t.tensor([6, 4, 5, 2]))",
    "gcd in place": "t.tensor([12, 18]).gcd_(t.tensor([8, 27]))",
    "mantissa": "t.frexp(t.tensor([3.5, -0.1, 0.0, 1024.0])).mantissa",
    "exponent": "t.frexp(t.tensor([3.5, -0.1, 0.0, 1024.0])).exponent",
    "places": "t.stack(t.unravel_index(t.tensor([[3, 11], [0, 7]]), (3, 4)))",
    "diagonal": "t.zeros(4, 3).fill_diagonal_(2.0)",
    "diagonal that goes on": "t.zeros(7, 3).fill_diagonal_(2.0, wrap=True)",
    "diagonal of a wide one": "t.zeros(3, 7).fill_diagonal_(2.0, wrap=True)",
    "diagonal of a cube": "t.zeros(3, 3, 3).fill_diagonal_(2.0)",
    "reversed": "reversed(t.arange(6).reshape(3, 2))",
    "threshold of integers": "F.threshold(t.tensor([-3, 0, 3]), 0, 7)",
    "unfold of nothing": "F.unfold(t.ones(0, 3, 4, 4), 2)",
    "group norm of half": "F.group_norm(x.to(t.bfloat16), 2, t.ones(4), t.zeros(4))",
    "layer norm of half": "F.layer_norm(x.to(t.bfloat16), (5,), t.ones(5), t.zeros(5))",
    "batch_norm": "t.batch_norm(x, t.ones(4), t.zeros(4), None, None, True, 0.1, 1e-5, False)",
    "instance_norm": "t.instance_norm(x, t.ones(4), t.zeros(4), None, None, True, 0.1, 1e-5, False)",
    "embedding": "t.embedding(x[0], t.tensor([[3, 0], [1, 1]]))",
    "constant_pad_nd": "t.constant_pad_nd(x, (1, 2), 0.5)",
    "affine_grid_generator": "t.affine_grid_generator(t.ones(1, 2, 3), (1, 1, 2, 2), False)",
    "grid_sampler": "t.grid_sampler(x[:, None], t.zeros(2, 1, 2, 2), 0, 1, True)",
    "binary_cross_entropy_with_logits": "t.binary_cross_entropy_with_logits(x, x.sigmoid(), None, None, 2)",
    "kl_div": "t.kl_div(x.log_softmax(-1), x.softmax(-1), 0)",
    "hinge_embedding_loss": "t.hinge_embedding_loss(x, x.sign(), 0.5, 1)",
    "cosine_embedding_loss": "t.cosine_embedding_loss(x[0], x[1], t.ones(4), 0.1)",
    "margin_ranking_loss": "t.margin_ranking_loss(x[0], x[1], t.ones(4, 5), 0.1, 2)",
    "triplet_margin_loss": "t.triplet_margin_loss(x[0], x[1], x[0] + 1)",
    "poisson_nll_loss": "t.poisson_nll_loss(x, x.abs(), True, False, 1e-8, 1)",
    "ctc_loss": "t.ctc_loss(x.permute(2, 0, 1).log_softmax(-1), t.tensor([[1, 2], [3, 1]]), [5, 5], [2, 1], 0, 2)",
}


@pytest.mark.parametrize("name", list(SAME))
def test_values_and_dtypes_are_pytorchs(name: str) -> None:
    values = np.random.default_rng(0).normal(size=(2, 4, 5)).astype(np.float32)
    theirs, ours = (eval(SAME[name], {"t": t, "F": t.nn.functional, "x": t.tensor(values)}) for t in (real, T))
    assert str(theirs.dtype) == str(ours.dtype)
    assert tuple(theirs.shape) == tuple(ours.shape)
    rtol = 1e-2 if "half" in name else 1e-5
    assert np.allclose(theirs.float().numpy(), ours.float().numpy(), rtol=rtol, atol=1e-6)


def test_a_mantissa_has_its_derivative() -> None:
    grads = []
    for torch in (real, T):
        x = torch.tensor([3.5, -0.1, 40.0], requires_grad=True)
        torch.frexp(x)[0].sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


def test_floats_have_no_divisors_and_integers_no_mantissas() -> None:
    with pytest.raises(RuntimeError, match="not implemented for"):
        T.gcd(T.tensor([1.5]), T.tensor([2]))
    with pytest.raises(RuntimeError, match="only supports floating-point"):
        T.frexp(T.tensor([1]))
    with pytest.raises(RuntimeError, match="larger than 1"):
        T.zeros(3).fill_diagonal_(1)


@pytest.mark.parametrize("shape", [(20, 6), (6, 20), (2, 7, 5)])
def test_what_is_of_low_rank_is_found_whole(shape: Any) -> None:
    rng = np.random.default_rng(2)
    low = rng.normal(size=(*shape[:-1], 3)) @ rng.normal(size=(*shape[:-2], 3, shape[-1]))
    x = T.tensor(low)
    u, s, v = T.svd_lowrank(x, q=4)
    assert np.allclose(low, (u * s.unsqueeze(-2) @ v.mT).numpy())
    assert np.allclose(s[..., :3].numpy(), np.linalg.svd(low)[1][..., :3])
    u, s, v = T.pca_lowrank(x, q=3)
    assert np.allclose(low - low.mean(-2, keepdims=True), (u * s.unsqueeze(-2) @ v.mT).numpy())
    with pytest.raises(ValueError, match="not greater than min"):
        T.svd_lowrank(x, q=30)


def test_borders_of_nothing_are_refused() -> None:
    for torch in (real, T):
        with pytest.raises(RuntimeError, match="Expected"):
            torch.nn.functional.pad(torch.ones(2, 0, 3), (1, 1), "reflect")
