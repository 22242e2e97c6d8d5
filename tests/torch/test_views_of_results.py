"""Results of ops can be viewed in other shapes, whatever order their memory was computed in."""

import numpy as np
import pytest

from tapegrad import torch
from tapegrad.torch import nn
from tapegrad.torch.nn import functional as F

IMAGE = (4, 3, 8, 8)
RESULTS = {
    "convolution": lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)),
    "convolution by points": lambda x: F.conv2d(x, torch.ones(1, 3, 1, 1)),
    "transposed convolution": lambda x: F.conv_transpose2d(x, torch.ones(3, 2, 2, 2), stride=2),
    "what is computed of a convolution": lambda x: torch.sigmoid(F.conv2d(x, torch.ones(1, 3, 3, 3))),
    "adaptive pooling": lambda x: F.adaptive_avg_pool2d(x, (3, 3)),
    "resized images": lambda x: F.interpolate(x, scale_factor=2),
    "smoothly resized images": nn.Upsample(scale_factor=2, mode="bilinear"),
    "turned images": lambda x: x.flip(3),
    "picked channels": lambda x: x[:, [0, 2]],
    "its constant": lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)).detach(),
    "its data": lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)).data,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_viewed_as_a_vector(name):
    x = torch.arange(4.0 * 3 * 64).view(IMAGE)
    y = RESULTS[name](x)
    flat = y.view(-1)
    assert flat.tolist() == RESULTS[name](x).reshape(-1).tolist()
    flat[1] = -5
    assert y.reshape(-1)[1].item() == -5


def test_gradients_pass_through_such_a_view_and_writes_to_it_are_noticed():
    x = torch.arange(4.0 * 3 * 64).view(IMAGE).requires_grad_()
    F.conv2d(x, torch.ones(2, 3, 3, 3)).view(-1)[::2].sum().backward()
    expected = torch.arange(4.0 * 3 * 64).view(IMAGE).requires_grad_()
    F.conv2d(expected, torch.ones(2, 3, 3, 3)).reshape(-1)[::2].sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()
    y = F.conv2d(x, torch.ones(2, 3, 3, 3))
    z = y.view(-1).mul_(2)
    z.sum().backward()
    assert y.view(-1)[0].item() == z[0].item()


def test_tensors_that_share_the_memory_still_do():
    y = F.conv2d(torch.ones(IMAGE), torch.ones(2, 3, 3, 3))
    constant, data = y.detach(), y.data
    constant.view(-1)[0] = 7.0
    assert y[0, 0, 0, 0].item() == data[0, 0, 0, 0].item() == 7.0


def test_what_the_program_has_transposed_is_no_vector():
    x = torch.arange(6.0).view(2, 3)
    for t in (x.t(), x.t()[:2], x[:, :2]):
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            t.view(-1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.from_numpy(np.asfortranarray(np.ones((2, 3)))).view(-1)


def test_an_array_of_a_result_is_in_the_usual_order_and_shares_the_memory_of_its_views():
    y = F.conv2d(torch.ones(IMAGE), torch.ones(2, 3, 3, 3))
    shared = y.detach().numpy()
    assert shared.flags.c_contiguous
    y.view(-1)[1] = 9.0
    assert shared[0, 0, 0, 1] == 9.0
