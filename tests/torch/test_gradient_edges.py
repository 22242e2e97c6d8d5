import pytest

from tapegrad import torch
from tapegrad.torch.autograd.graph import GradientEdge, get_gradient_edge


def test_a_sweep_in_two_parts_at_an_edge_is_the_sweep_in_one():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    middle = x.exp().sum()
    edge = get_gradient_edge(middle)
    y = middle.log()
    del middle
    (g,) = torch.autograd.grad(y, edge)
    (in_parts,) = torch.autograd.grad(edge, x, grad_outputs=g)
    (at_once,) = torch.autograd.grad(x.exp().sum().log(), x)
    assert torch.allclose(in_parts, at_once)


def test_a_gradient_is_made_for_an_edge_of_one_number_alone():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    torch.autograd.grad(get_gradient_edge(x.sum()), x)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        torch.autograd.grad(get_gradient_edge(x * 2), x)


def test_a_gradient_of_another_shape_or_kind_is_refused_at_an_edge():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    edge = get_gradient_edge(x * 2)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(edge, x, grad_outputs=torch.ones(3))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        torch.autograd.grad(edge, x, grad_outputs=torch.ones(2, dtype=torch.complex64))


def test_backward_to_an_edge_leaves_no_gradient_in_leaves():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = x * 3
    torch.autograd.backward(y.sum(), inputs=GradientEdge(y.grad_fn, 0))
    assert x.grad is None


def test_zeros_for_an_unused_edge_are_refused_and_those_for_a_tensor_can_be_differentiated():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    unused = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="input is a GradientEdge"):
        torch.autograd.grad(x.sum(), get_gradient_edge(unused), materialize_grads=True)
    (zero,) = torch.autograd.grad(x.sum(), unused, create_graph=True, materialize_grads=True)
    assert zero.requires_grad
    assert torch.autograd.grad(zero, unused, materialize_grads=True)[0].tolist() == [0.0]


def test_a_step_whose_values_went_through_hooks_shows_where_it_leads():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
        y = (x.sin() * x).exp()
    product = y.grad_fn.next_functions[0][0]
    assert product.name() == "MulBackward0"
    assert [step.name() for step, _ in product.next_functions] == ["SinBackward0", "torch::autograd::AccumulateGrad"]
