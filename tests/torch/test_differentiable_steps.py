"""Optimizers whose steps are recorded: gradients through several steps, to what they began with and to the learning rate."""

import numpy as np
import pytest

from tapegrad import torch as ours

CASES = [(name, {}) for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "ASGD", "NAdam", "RAdam")]
CASES += [("SGD", {"weight_decay": 0.1, "maximize": True})]
#: What PyTorch refuses, or cuts off: the first buffer of a momentum.
MORE = [("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True}), ("RMSprop", {"centered": True})]
MORE += [("Adamax", {}), ("Rprop", {})]


def descended(t, name, options, lr):
    """The gradient of a loss after three steps with respect to the start, and to a learning rate that is a tensor."""
    x = t.tensor([1.0, -2.0, 3.0], dtype=t.float64, requires_grad=True)
    p = x * 1.0
    optimizer = getattr(t.optim, name)([p], lr=lr, differentiable=True, **options)
    for i in range(3):
        q = p.clone()
        (p.grad,) = t.autograd.grad((q**2).sum() * (1 + i) + q.prod(), q, create_graph=True)
        optimizer.step()
    p.grad = None
    sources = [x] + [lr] * (not isinstance(lr, float))
    return [g.tolist() for g in t.autograd.grad((p.clone() ** 2).sum(), sources)]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_gradients_through_steps_are_those_of_PyTorch(name, options):
    theirs = pytest.importorskip("torch")
    np.testing.assert_allclose(descended(ours, name, options, 0.1), descended(theirs, name, options, 0.1), rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_learning_rate_has_a_gradient(name):
    theirs = pytest.importorskip("torch")
    found, expected = (descended(t, name, {}, t.tensor(0.1, dtype=t.float64, requires_grad=True)) for t in (ours, theirs))
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4)  # PyTorch's powers of the betas are float32


@pytest.mark.parametrize(("name", "options"), [*CASES, *MORE])
def test_two_steps_have_the_gradient_that_differences_give(name, options):
    def f(p, g):
        p = p.clone()
        optimizer = getattr(ours.optim, name)([p], differentiable=True, **options)
        for _ in range(2):
            p.grad = g * p.clone()
            optimizer.step()
        return p

    p = ours.tensor([1.0, -2.0, 0.5], dtype=ours.float64, requires_grad=True)
    g = ours.tensor([0.3, 0.2, -0.7], dtype=ours.float64, requires_grad=True)
    assert ours.autograd.gradcheck(f, (p, g))


def test_parameters_that_are_leaves_are_refused():
    p = ours.nn.Parameter(ours.ones(2))
    p.grad = ours.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        ours.optim.SGD([p], lr=0.1, differentiable=True).step()


def test_options_that_exclude_each_other_are_refused():
    p = ours.nn.Parameter(ours.ones(2))
    Adam, SGD = ours.optim.Adam, ours.optim.SGD
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        Adam([p], foreach=True, fused=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        SGD([p], fused=True, differentiable=True)
    with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
        Adam([p], lr=ours.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        SGD([p], lr=ours.tensor([0.1, 0.2]))
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("w", p), ours.nn.Parameter(ours.ones(1))])
    p.grad = ours.ones(2)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        Adam([p], capturable=True).step()
