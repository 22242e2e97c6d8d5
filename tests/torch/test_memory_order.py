"""Random numbers for tensors that are laid out in another order than that of their axes: those of PyTorch."""

import numpy as np
import pytest

from tapegrad import torch as ours

theirs = pytest.importorskip("torch")

CALLS = [
    "F.dropout(y, 0.5)", "F.dropout(y, 0.3, inplace=True)", "F.alpha_dropout(y, 0.5, training=True)", "t.rand_like(y)", "t.randn_like(y)",
    "t.randint_like(y, 10)", "y.normal_()", "y.uniform_()", "y.bernoulli_(0.3)", "y.exponential_()", "t.rand_like(s)", "F.dropout(e, 0.5)",
    "F.dropout(c.transpose(1, 2), 0.5)",
]  # fmt: skip
AS_LAID_OUT = [f"{made}.stride()" for made in ("t.zeros_like(y)", "t.empty_like(y)", "t.rand_like(y)", "y.clone()", "e.clone()")]


def result(t, call):
    t.manual_seed(0)
    F = t.nn.functional
    x = t.from_numpy(np.arange(120.0, dtype=np.float32).reshape(4, 5, 6)) * 1
    c = F.conv1d(t.ones(2, 3, 9), t.ones(4, 3, 2))
    names = {"t": t, "F": F, "y": x.permute(2, 0, 1), "s": x[:, ::2], "e": x[:1].expand(3, 5, 6), "c": c}
    found = eval(call, names)
    return found if isinstance(found, tuple) else found.tolist()


@pytest.mark.parametrize("call", CALLS)
def test_numbers_are_drawn_in_the_order_of_memory(call):
    np.testing.assert_allclose(result(ours, call), result(theirs, call), rtol=1e-6)


@pytest.mark.parametrize("call", AS_LAID_OUT)
def test_what_is_made_like_a_tensor_is_laid_out_like_it(call):
    assert result(ours, call) == result(theirs, call)


@pytest.mark.parametrize("options", [{}, {"norm_first": True}])
def test_a_transformer_with_its_batches_first_drops_what_it_drops_in_PyTorch(options):
    def run(t):
        t.manual_seed(3)
        layer = t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        return layer(t.randn(4, 5, 8)).tolist()

    np.testing.assert_allclose(run(ours), run(theirs), rtol=1e-4, atol=1e-5)


def test_attention_gives_back_the_weights_that_it_has_used():
    def run(t):
        t.manual_seed(3)
        attention = t.nn.MultiheadAttention(4, 2, dropout=0.4)
        x = t.randn(3, 2, 4)
        return [part.tolist() for part in attention(x, x, x)]

    for mine, expected in zip(run(ours), run(theirs), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)
