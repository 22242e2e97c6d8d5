"""Modules as functions of their parameters, under the names of before `torch.func`."""

import pytest

from tapegrad import torch
from tapegrad.torch import functorch, nn

pytestmark = pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")


def test_a_module_is_a_function_of_its_parameters():
    net = nn.Linear(2, 1)
    f, params = functorch.make_functional(net)
    x = torch.tensor([[0.5, -1.0]])
    slopes = functorch.grad(lambda params: f(params, x).sum())(params)
    assert [g.tolist() for g in slopes] == [[[0.5, -1.0]], [1.0]]
    assert torch.equal(f([p * 2 for p in params], x), 2 * net(x))
    assert all(p.requires_grad for p in params)
    assert not any(p.requires_grad for p in functorch.make_functional(net, disable_autograd_tracking=True)[1])


def test_buffers_are_given_too():
    net = nn.BatchNorm1d(2).eval()
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(net)
    f, params, buffers = functorch.make_functional_with_buffers(net)
    x = torch.tensor([[0.5, -1.0]])
    assert torch.equal(f(params, buffers, x), net(x))


def test_an_ensemble_is_mapped_over_its_parameters():
    nets = [nn.Linear(2, 1) for _ in range(3)]
    f, params, buffers = functorch.combine_state_for_ensemble(nets)
    x = torch.tensor([[0.5, -1.0]])
    found = functorch.vmap(f, in_dims=(0, 0, None))(params, buffers, x) if buffers else functorch.vmap(lambda p: f(p, (), x))(params)
    assert torch.allclose(found, torch.stack([net(x) for net in nets]))


def test_models_of_an_ensemble_are_alike():
    nets = [nn.Linear(2, 1) for _ in range(2)]
    nets[1].eval()
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        torch.func.stack_module_state(nets)
    nets[1].train()
    nets[1].weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"weight from each model to have the same \.requires_grad"):
        torch.func.stack_module_state(nets)


def test_the_old_names_warn():
    with pytest.warns(FutureWarning, match="functorch.make_functional. is deprecated"):
        functorch.make_functional(nn.Linear(2, 1))


def test_batches_of_models_are_normalised_each_by_itself():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    assert torch.func.replace_all_batch_norm_modules_(net) is net
    assert net[1].running_mean is None
    x = torch.randn(3, 4, 1, 2, 2)
    found = torch.func.vmap(net)(x)
    assert torch.allclose(found, torch.stack([net(images) for images in x]), atol=1e-5)
