"""What is normalised is written to in place, as `nn.ReLU(inplace=True)` does; its derivative has kept the values."""

import pytest

from tapegrad import torch
from tapegrad.torch import nn
from tapegrad.torch.nn import functional as F

NORMS = {
    "instance": F.instance_norm,
    "batch": lambda x: F.batch_norm(x, None, None, training=True),
    "layer": lambda x: F.layer_norm(x, (3, 3)),
    "group": lambda x: F.group_norm(x, 2),
}


def _first_row(y):
    y[0] = 0.5


WRITES = {
    "relu": (lambda y: F.relu(y, inplace=True), torch.relu),
    "leaky relu": (lambda y: F.leaky_relu(y, 0.1, inplace=True), lambda y: F.leaky_relu(y, 0.1)),
    "a product": (lambda y: y.mul_(2), lambda y: y * 2),
    "through a view": (lambda y: y.view(-1)[:3].mul_(3), lambda y: torch.cat([y.view(-1)[:3] * 3, y.view(-1)[3:]])),
    "a row": (_first_row, lambda y: torch.cat([torch.full_like(y[:1], 0.5), y[1:]])),
    "zeros": (lambda y: y.zero_(), lambda y: y * 0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("norm", NORMS)
def test_what_is_normalised_may_be_written_to(norm, write):
    torch.manual_seed(3)
    x = torch.randn(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2, 3, 3, dtype=torch.float64)
    in_place, beside = WRITES[write]

    def slopes(y):
        (g,) = torch.autograd.grad((y.reshape(weight.shape) ** 2 * weight).sum(), x, create_graph=True)
        return g, torch.autograd.grad((g**2).sum(), x, allow_unused=True, materialize_grads=True)[0] if g.requires_grad else g

    y = NORMS[norm](x)
    in_place(y)
    for written, plain in zip(slopes(y), slopes(beside(NORMS[norm](x))), strict=True):
        assert torch.allclose(written, plain)


def test_a_network_of_instance_norms_and_rectifiers_in_place_is_trained():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2), nn.ReLU(inplace=True), nn.Conv2d(2, 1, 3))
    net(torch.randn(1, 1, 6, 6)).sum().backward()
    assert net[0].weight.grad.abs().sum() > 0
