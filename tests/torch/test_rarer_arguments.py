"""Arguments that few programs give: sums that are not means over windows that reach out, whole spectra of real signals, no axes."""

from typing import Any

import numpy as np
import pytest

from tapegrad import torch

F = torch.nn.functional


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("shape", "window", "stride", "padding"), [((9, 9), (4, 4), (2, 3), 1), ((7, 8), (3, 2), (2, 2), 0)])
def test_a_divisor_of_ones_own_leaves_windows_where_they_are(ceil_mode: bool, shape: Any, window: Any, stride: Any, padding: int) -> None:
    x = torch.arange(2.0 * shape[0] * shape[1]).reshape(1, 2, *shape).requires_grad_()
    plain = F.avg_pool2d(x, window, stride, padding, ceil_mode)
    y = F.avg_pool2d(x, window, stride, padding, ceil_mode, True, 2)
    assert y.shape == plain.shape
    raw = np.pad(x.detach().numpy(), ((0, 0), (0, 0), (padding, 20), (padding, 20)))
    for i in range(y.shape[2]):
        for j in range(y.shape[3]):
            part = raw[:, :, i * stride[0] : i * stride[0] + window[0], j * stride[1] : j * stride[1] + window[1]]
            np.testing.assert_allclose(y[:, :, i, j].detach().numpy(), part.sum((2, 3)) / 2, rtol=1e-6)
    y.sum().backward()
    assert x.grad.max().item() > 0


def test_a_real_signal_comes_back_from_its_whole_spectrum() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, dtype=torch.float64)
    window = torch.hann_window(8, dtype=torch.float64)
    whole = torch.stft(x, 8, 2, window=window, onesided=False, return_complex=True)
    np.testing.assert_allclose(torch.istft(whole, 8, 2, window=window, onesided=False).numpy(), x.numpy(), atol=1e-12)
    mirrored = whole.clone()
    mirrored[5:] = 7.0  # what is there does not matter
    np.testing.assert_allclose(torch.istft(mirrored, 8, 2, window=window, onesided=False).numpy(), x.numpy(), atol=1e-12)


def test_prelu_of_a_tensor_without_axes_has_none() -> None:
    x = torch.tensor(-2.0, requires_grad=True)
    y = F.prelu(x, torch.tensor([0.25]))
    y.backward()
    assert (tuple(y.shape), y.item(), x.grad.item()) == ((), -0.5, 0.25)
