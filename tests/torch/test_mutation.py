"""Views, in-place ops and assignments: as PyTorch's, on random programs and on examples."""

import numpy as np
import pytest

from tapegrad import torch
from tests.torch import programs


@pytest.mark.interop("torch")
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")
@pytest.mark.parametrize("start", range(0, 400, 50))
def test_random_programs_agree_with_pytorch(start):
    import torch as peer

    for seed in range(start, start + 50):
        programs.run(seed, peer, torch)


@pytest.mark.interop("torch", "tensorflow")
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")
def test_random_programs_agree_on_arrays_that_cannot_be_written_to():
    import torch as peer

    import tapegrad as tg
    from tapegrad.torch._tensor import adopt

    def leaf(v, tracked):
        x = adopt(tg.asarray(v.copy(), backend="tensorflow"))
        return x.requires_grad_() if tracked else x

    for seed in (3, 13, 46, 175):
        programs.run(seed, peer, torch, leaf=leaf)


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def test_a_write_to_a_base_shows_in_its_views_with_its_gradient():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    view = y[1:]
    y.mul_(2)
    assert view.tolist() == [4.0, 6.0]
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0]


def test_a_write_to_a_view_of_a_view_shows_in_the_base():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    y.view(2, 2).t()[0].mul_(10)
    assert y.tolist() == [10.0, 2.0, 30.0, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0, 10.0, 1.0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda y: y.add_(1), ("Add", 1, 0)),
        (lambda y: (y.add_(1), y.add_(1)), ("Add", 2, 0)),
        (lambda y: y[0].add_(1), ("CopySlices", 1, 0)),
        (lambda y: y.detach().zero_(), ("Mul", 1, 0)),
        (lambda y: y.__setitem__(0, 3.0), ("CopySlices", 1, 0)),
    ],
)
def test_a_graph_refuses_saved_values_that_were_written_to(change, told):
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    change(y)
    text = r"modified by an inplace operation.*{}, is at version {}; expected version {}"
    with pytest.raises(RuntimeError, match=text.format(*told)):
        z.sum().backward()


def test_what_an_op_in_place_has_saved_of_the_old_value_is_its_own():
    x, w = leaf(2.0, 3.0), leaf(5.0, 7.0)
    y = x * 1
    alias = y.detach()
    y.mul_(w)
    assert alias.tolist() == [10.0, 21.0]
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert w.grad.tolist() == [2.0, 3.0]


def test_the_quotient_of_a_division_may_be_written_to():
    x, w = leaf(2.0, 3.0), leaf(4.0, 5.0)
    y = x / w
    y[0].mul_(10)
    y[1] = 0.0
    y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), [-10 * 2 / 16, 0.0])


def test_data_is_written_to_without_a_word_and_a_write_that_leaves_nothing_is_refused():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data.mul_(10)
    assert x._version == 0
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0]
    y = (x * x).sum()
    x.data.zero_()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*overwritten through \.data.*MulBackward0"):
        y.backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.data.__setitem__(1, 5.0),
        lambda x: x.data.__setitem__(slice(0, 2), 5.0),
        lambda x: x.data[1].fill_(5.0),
        lambda x: x.data.__setitem__(torch.tensor([0, 1]), 5.0),
    ],
)
def test_a_part_overwritten_through_data_is_refused_where_a_graph_has_saved_it(write):
    x = leaf(1.0, 2.0, 3.0) * 1
    y = (x[:2] * x[:2]).sum()
    write(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_write_through_an_alias_of_numpys_does_not_change_a_gradient():
    a = np.array([1.0, 2.0])
    x = torch.from_numpy(a).requires_grad_()
    y = x * x
    a[:] = 0
    assert x.tolist() == [0.0, 0.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_view_of_memory_that_numpy_shares_is_a_view():
    x = torch.tensor([1.0, 2.0, 3.0])
    shared = x.numpy()
    x[1:].mul_(10)
    assert shared.tolist() == [1.0, 20.0, 30.0]


def test_a_zero_dimensional_tensor_shares_memory_too():
    x = torch.tensor(2.0, requires_grad=True)
    x.data -= 0.5
    assert x.item() == 1.5
    y = torch.zeros(3)
    y[1].fill_(7.0)
    assert y.tolist() == [0.0, 7.0, 0.0]


def test_assigning_element_by_element_takes_linear_time():
    import time

    x = torch.ones(20000, requires_grad=True)
    y = torch.zeros(20000) * x
    start = time.perf_counter()
    for i in range(500):
        y[i] = x[i] * 2
    assert time.perf_counter() - start < 2.0
    y.sum().backward()
    assert x.grad[:501].tolist() == [2.0] * 500 + [0.0]


@pytest.mark.interop("torch")
def test_what_each_op_in_place_has_saved_outlives_the_ops_after_it():
    import torch as peer

    found = []
    for t in (peer, torch):
        x, w = (t.tensor([1.5, -0.5], requires_grad=True) for _ in range(2))
        h = x * 1.0
        for _ in range(70):
            h.mul_(w).add_(w)
        found.append([g.tolist() for g in t.autograd.grad(h.sum(), (x, w))])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
