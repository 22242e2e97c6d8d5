"""What a graph keeps of the tensors that it was made from, and until when."""

import gc
import weakref

import pytest

from tapegrad import torch


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_a_graph_keeps_the_tensors_that_it_needs_until_it_is_used():
    x = leaf()

    def build():
        mid, factor = x * 2, torch.tensor([3.0, 4.0])
        return (mid * mid * factor).sum(), weakref.ref(mid), weakref.ref(factor)

    loss, *refs = build()
    gc.collect()
    assert all(r() is not None for r in refs)
    loss.backward(retain_graph=True)
    assert all(r() is not None for r in refs)
    loss.backward()
    assert [r() for r in refs] == [None, None]
    assert loss.grad_fn is not None


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x * 2, lambda x: x.sum(), lambda x: x.exp()])
def test_tensors_that_no_derivative_needs_die_at_once(function):
    x = leaf() * 1
    y = function(x)
    r = weakref.ref(x)
    del x
    assert r() is None
    assert y.requires_grad


def test_a_graph_without_a_sweep_dies_with_its_result_and_leaves_no_cycle():
    x = leaf()
    gc.collect()
    gc.disable()
    try:
        mid = x.sin()
        y = (mid * mid / x).exp()
        mid.mul_(x)
        r = weakref.ref(mid)
        del mid, y
        assert r() is None
    finally:
        gc.enable()


def test_nodes_show_the_very_tensors_that_they_saved():
    mid = leaf() * 2
    factor = torch.tensor([3.0, 4.0])
    square, product = (mid * mid).grad_fn, (mid * factor).grad_fn
    assert square._saved_self is mid
    assert square._saved_other is mid
    assert product._saved_other is factor
    assert product._saved_self is None
    assert product.next_functions[0][0] is mid.grad_fn


def test_a_spent_node_shows_nothing_that_it_saved():
    y = leaf().sin()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="access saved tensors after they have already been freed"):
        y.grad_fn._saved_self


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: x * x, 2),
        (lambda x: torch.mul(x, x), 2),
        (lambda x: x**2, 1),
        (lambda x: x.square(), 1),
        (lambda x: x * 2, 0),
        (lambda x: x / 2, 0),
        (lambda x: x + x, 0),
        (lambda x: x / x, 2),
        (lambda x: x.exp() * x, 3),
    ],
)
def test_as_many_tensors_go_through_hooks_as_in_PyTorch(function, count):
    x = leaf()
    packed, unpacked = [], []

    def pack(t):
        packed.append(t)
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return packed[i]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function(x)
    y.sum().backward()
    assert sorted(unpacked) == list(range(count)) == list(range(len(packed)))
    expected = torch.autograd.grad(function(z := leaf()).sum(), z)[0]
    assert x.grad.tolist() == expected.tolist()


def test_hooks_see_the_tensor_itself_and_names_of_nodes_stay():
    x = leaf()
    mid = x * 2
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = mid * mid
        z = mid.square()
    assert all(t is mid for t in seen)
    assert [y.grad_fn.name(), z.grad_fn.name()] == ["MulBackward0", "PowBackward0"]


def test_both_copies_of_a_factor_count_where_hooks_change_them():
    x = leaf()
    calls = []

    def pack(t):
        calls.append(t)
        return t * len(calls)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]
