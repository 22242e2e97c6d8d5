"""What `type(x)` says of parameters, and of what is made of them."""

import copy
import pickle

import pytest

from tapegrad import torch
from tapegrad.torch import nn


@pytest.fixture
def layer():
    return nn.Linear(2, 3)


def test_a_parameter_is_of_its_class(layer):
    p = layer.weight
    assert type(p) is p.__class__ is nn.Parameter
    assert isinstance(p, torch.Tensor)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p * 2,
        lambda p: p[0],
        lambda p: p.view(-1),
        lambda p: p.T,
        lambda p: p.data,
        lambda p: p.detach(),
        lambda p: p.clone(),
        lambda p: nn.Buffer(torch.ones(2)),
        lambda p: torch.autograd.grad(p.sum(), p)[0],
    ],
)
def test_what_is_made_of_a_parameter_is_a_tensor(layer, make):
    assert type(make(layer.weight)) is torch.Tensor


@pytest.mark.parametrize(
    "again",
    [
        copy.deepcopy,
        lambda p: pickle.loads(pickle.dumps(p)),
        nn.Parameter,
        lambda p: p.requires_grad_(False),
        nn.init.zeros_,
    ],
)
def test_a_parameter_stays_one(layer, again):
    assert type(again(layer.weight)) is nn.Parameter


def test_the_parameters_of_a_module_stay_what_they_are(layer):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer.double()(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    optimizer.step()
    assert {type(p) for p in copy.deepcopy(layer).parameters()} == {type(p) for p in layer.parameters()} == {nn.Parameter}
    assert {type(v) for v in layer.state_dict().values()} == {torch.Tensor}


def test_a_parameter_whose_memory_numpy_has_shared_is_one_again(layer):
    alias = layer.weight.detach().numpy()
    alias[0, 0] = 7.0
    assert layer.weight[0, 0].item() == 7.0
    del alias
    layer.weight.sum()
    assert type(layer.weight) is nn.Parameter


def test_a_parameter_that_waits_for_its_shape_says_so():
    layer = nn.LazyLinear(3)
    assert type(layer.weight) is nn.UninitializedParameter
    layer(torch.ones(1, 2))
    assert type(layer.weight) is nn.Parameter
