"""Losses of labels, and tables, inside `vmap`: gradients of each example are those of a loop."""

import pytest

import tapegrad.torch.nn.functional as F
from tapegrad import torch
from tapegrad.torch.func import grad, vmap

LOSSES = {
    "cross_entropy": lambda z, t: F.cross_entropy(z[None], t[None]),
    "cross_entropy of one": F.cross_entropy,
    "smoothed": lambda z, t: F.cross_entropy(z, t, label_smoothing=0.2),
    "weighted": lambda z, t: F.cross_entropy(z[None], t[None], weight=torch.tensor([1.0, 2.0, 0.5, 3.0]), reduction="sum"),
    "some ignored": lambda z, t: F.cross_entropy(z, t, ignore_index=2, reduction="sum"),
    "nll_loss": lambda z, t: F.nll_loss(F.log_softmax(z, 0), t),
    "binary": lambda z, t: F.binary_cross_entropy(torch.sigmoid(z), (torch.arange(4) == t).float()),
    "embedding": lambda z, t: (F.embedding(t, torch.eye(4)) * z).sum() + F.embedding(t[None], z[:, None]).sum() ** 2,
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_each_example(name):
    torch.manual_seed(0)
    W, X, y = torch.randn(4, 3), torch.randn(6, 3), torch.tensor([0, 1, 2, 3, 0, 2])

    def loss(W, x, t):
        return LOSSES[name](W @ x, t)

    each = vmap(grad(loss), in_dims=(None, 0, 0))(W, X, y)
    for i in range(6):
        torch.testing.assert_close(each[i], grad(loss)(W, X[i], y[i]))


def test_a_label_that_is_out_of_bounds_is_refused_there_too():
    with pytest.raises(IndexError, match=r"Target 4 is out of bounds"):
        vmap(F.cross_entropy)(torch.randn(2, 4), torch.tensor([1, 4]))
