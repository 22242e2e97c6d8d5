"""Half precision stays half: numbers of Python's beside tensors of bfloat16, those without axes among them."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import torch

F = torch.nn.functional
_CALLS = {
    "selu": F.selu,
    "threshold": lambda x: F.threshold(x, 0.25, 0.5),
    "logit": lambda x: torch.logit(x, 1e-3),
    "mvlgamma": lambda x: torch.mvlgamma(x + 3, 2),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, x),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, x, x.abs() + 1),
    "clamp": lambda x: x.clamp(0.1, 0.35),
    "rms_norm": lambda x: F.rms_norm(x.reshape(1, -1), (x.numel(),)),
    "power": lambda x: 2.5**x,
    "difference": lambda x: 1.5 - x,
}


@pytest.mark.parametrize("name", _CALLS)
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_functions_of_half_precision_give_half_precision(name: str, shape: Any, dtype: Any) -> None:
    x = torch.full(shape, 0.3).to(dtype).requires_grad_()
    y = _CALLS[name](x)
    assert y.dtype == dtype
    y.sum().backward()
    assert x.grad.dtype == dtype
    wide = _CALLS[name](x.detach().float())
    assert torch.allclose(y.detach().float(), wide, rtol=2e-2, atol=1e-2)


def test_a_number_beside_one_of_bfloat16_takes_its_dtype_in_the_core_too() -> None:
    x = tg.asarray(0.3, dtype=tg.bfloat16)
    for y in (tg.clip(x, 0.1, 0.2), x * 1.5, 1.5 * x, tg.nn.selu(x), tg.maximum(x, 0.5)):
        assert y.dtype == tg.bfloat16
    assert (x * 1j).dtype.kind == "c"


def test_the_root_mean_square_of_half_precision_adds_what_single_precision_does() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.full((1, 4), 1e-3).to(dtype)
        v = x[0, 0].item()
        assert F.rms_norm(x, (4,))[0, 0].item() == pytest.approx(v / np.sqrt(v * v + np.finfo(np.float32).eps), rel=1e-2)
