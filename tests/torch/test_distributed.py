"""A world of one process."""

import pytest

from tapegrad import torch
from tapegrad.torch import distributed
from tapegrad.torch.distributed import nn


@pytest.fixture
def alone():
    distributed.init_process_group("gloo", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "collective",
    [
        nn.all_reduce,
        lambda x: nn.reduce(x, 0),
        lambda x: nn.broadcast(x, 0),
        lambda x: nn.all_gather(x)[0],
        lambda x: nn.gather(x)[0],
        lambda x: nn.scatter([x]),
        lambda x: nn.reduce_scatter(torch.empty(2), [x]),
    ],
)
def test_a_collective_of_one_process_gives_a_copy_and_passes_gradients(collective):
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    y = collective(x * 3)
    (y * y).sum().backward()
    assert y.tolist() == [4.5, -6.0]
    assert x.grad.tolist() == [27.0, -36.0]


def test_a_collective_needs_a_group():
    with pytest.raises(ValueError, match="init_process_group"):
        nn.all_reduce(torch.ones(2))
