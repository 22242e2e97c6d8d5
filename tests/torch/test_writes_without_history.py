"""Ops in place on tensors that have no history: what others see of them, and what graphs that have saved them say."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import torch

WRITES = {
    "zero_": lambda x, other: x.zero_(),
    "fill_": lambda x, other: x.fill_(3.0),
    "copy_": lambda x, other: x.copy_(other),
    "add_": lambda x, other: x.add_(other),
    "clamp_": lambda x, other: x.clamp_(-0.5, 0.5),
    "masked_fill_": lambda x, other: x.masked_fill_(other > 0, 2.0),
    "uniform_": lambda x, other: x.uniform_(),
}


def made():
    values = np.random.default_rng(3).standard_normal((3, 4)).astype("f4")
    return torch.tensor(values), torch.tensor(values[::-1].copy())


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_counts_once_and_is_seen_by_views_and_arrays(write):
    x, other = made()
    alone, _ = made()
    row, shown, same = x[1], x.numpy(), x.detach()
    torch.manual_seed(1)
    assert write(x, other) is x
    assert (x._version, x.requires_grad) == (1, False)
    torch.manual_seed(1)
    assert write(alone, other) is alone
    assert alone._version == 1
    want = alone.tolist()
    assert [x.tolist(), row.tolist(), same.tolist(), shown.tolist()] == [want, want[1], want, want]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_graph_that_has_saved_it_refuses(write):
    x, other = made()
    w = torch.ones(3, 4, requires_grad=True)
    y = (w * x).sum()
    write(x, other)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_leaf_that_is_written_to_while_nobody_records_stays_a_leaf(write):
    x, other = made()
    x.requires_grad_()
    with torch.no_grad():
        write(x, other)
    assert (x.is_leaf, x.requires_grad, x._version) == (True, True, 1)
    (2 * x).sum().backward()
    assert x.grad.tolist() == [[2.0] * 4] * 3


def test_what_a_graph_has_not_saved_may_be_written_to():
    x, _ = made()
    w = torch.ones(3, 4, requires_grad=True)
    y = (w + x).sum()
    x.zero_()
    y.backward()
    assert w.grad.tolist() == [[1.0] * 4] * 3


def test_a_value_with_a_history_brings_it():
    x, other = made()
    w = torch.ones(3, 4, requires_grad=True)
    x.copy_(w * 2)
    x.mul_(other)
    x.sum().backward()
    assert w.grad.tolist() == (2 * other).tolist()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30, 0.0])
def test_the_norm_of_gradients_is_that_of_one_vector(scale):
    rng = np.random.default_rng(5)
    parts = [(rng.standard_normal(shape) * scale).astype("f4") for shape in ((3, 4), (5000,), (1,), (0,))]
    parameters = [torch.nn.Parameter(torch.zeros(*p.shape)) for p in parts]
    for p, g in zip(parameters, parts, strict=True):
        p.grad = torch.tensor(g)
    want = np.sqrt(sum(np.sum(g.astype("f8") ** 2) for g in parts))
    total = torch.nn.utils.clip_grad_norm_(parameters, 0.5 * scale)
    assert (total.dtype, tuple(total.shape)) == (torch.float32, ())
    np.testing.assert_allclose(total.item(), want, rtol=1e-6)
    factor = min(1.0, 0.5 * scale / (want + 1e-6))
    for p, g in zip(parameters, parts, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g * factor, rtol=1e-5, atol=1e-38)
