"""What tensors look like: as PyTorch prints them."""

from typing import Any

import numpy as np
import pytest

import tapegrad.torch as ours

CALLS = [
    "t.tensor(1.5)", "t.tensor(3)", "t.tensor(True)", "t.tensor([])", "t.tensor([], dtype=t.int64)", "t.zeros(0, 3)", "t.zeros(2, 3)",
    "t.ones(3)",
    "t.arange(5)", "t.arange(5.0)", "t.arange(10).view(2, 5)", "t.arange(24.0).view(2, 3, 4)", "t.tensor([1.5, 2.25])",
    "t.tensor([1e-5, 1.0])",
    "t.tensor([1e8, 1.0])", "t.tensor([1e9, 2.5])", "t.tensor([1000.5, 1.25])", "t.tensor([0.001, 100.0])",
    "t.tensor([float('nan'), 1.0])",
    "t.tensor([float('inf'), -1.5])", "t.tensor([float('nan')])", "t.tensor([1.0, float('inf')])", "t.tensor([-0.0, 0.0])",
    "t.tensor([1, -20, 300])",
    "t.tensor([True, False])", "t.tensor([1.5], dtype=t.float64)", "t.tensor([1], dtype=t.int32)", "t.tensor([1.5], dtype=t.float16)",
    "t.tensor([1.5, 3.25], dtype=t.bfloat16)", "t.tensor([1 + 2j, 0.5 - 1j])", "t.tensor([1j], dtype=t.complex128)", "t.arange(1001)",
    "t.arange(2000.0).view(40, 50)", "t.zeros(20, 30)", "t.linspace(0, 1, 20)", "t.linspace(0, 1, 7).double()", "t.arange(100)",
    "t.ones(1, 1, 1)",
    "t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)", "t.ones(2, requires_grad=True) * 2", "t.ones(2, requires_grad=True).sum()",
    "t.ones(2, requires_grad=True).exp()", "t.nn.Parameter(t.ones(2))", "t.ones(2, 2).max(1)", "t.Size([2, 3])", "t.float32",
    "t.device('cpu')",
    "t.finfo(t.float32)", "t.iinfo(t.int8)", "t.tensor([12345.678])", "t.tensor([0.00012])", "t.tensor([123456789])", "t.tensor([1e-8])",
    "t.tensor([99999.0, 1.5])", "t.tensor(1e10)", "t.tensor([1e10, 1e-10])", "[t.ones(2), t.zeros(1)]", "t.ones(3, 4).t()",
    "t.tensor(2.0, requires_grad=True)",
    "t.arange(30.0).view(3, 10) / 7", "t.ones(2, 3, dtype=t.uint8)", "t.tensor([[float('nan'), 1e10], [1.0, -2.0]])", "t.zeros(1000)",
    "t.zeros(1001)",
    "t.randn(3, 3, generator=t.Generator().manual_seed(0)) * 1e-3", "t.tensor([1000.0, 0.5, 20.0])", "t.full((2, 2), 1e5)",
    "t.sparse_coo_tensor([[0, 1]], [3., 4.], (3,))",
]  # fmt: skip


@pytest.mark.interop("torch")
@pytest.mark.filterwarnings("ignore:Sparse invariant")
@pytest.mark.parametrize("call", CALLS)
def test_repr_as_pytorch(call: str) -> None:
    torch = pytest.importorskip("torch")
    assert repr(eval(call, {"t": ours})) == repr(eval(call, {"t": torch}))
    assert str(eval(call, {"t": ours})) == str(eval(call, {"t": torch}))


@pytest.mark.interop("torch")
@pytest.mark.parametrize("seed", range(30))
def test_repr_of_random_tensors_as_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 8, rng.integers(1, 4)))
    a = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 9)
    a = np.round(a) if rng.random() < 0.3 else a
    a = np.where(rng.random(shape) < 0.1, 0, a).astype(rng.choice([np.float32, np.float64]))
    assert repr(ours.tensor(a)) == repr(torch.tensor(a))


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "options",
    [{"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 5}, {"edgeitems": 1, "threshold": 5}, {"linewidth": 40}]
)
def test_print_options_as_pytorch(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    shown = []
    for module in (ours, torch):
        module.set_printoptions(**options)
        try:
            shown.append(repr(module.arange(24.0).view(4, 6) / 7))
        finally:
            module.set_printoptions(profile="default")
    assert shown[0] == shown[1]


def test_numbers_format_as_numbers() -> None:
    assert f"{ours.tensor(2.5):.2f}" == "2.50"
    assert f"{ours.tensor(2.5).item():6.3f}" == " 2.500"
    assert f"{ours.tensor(12)} {ours.tensor(0.5, requires_grad=True)} {ours.tensor(True)}" == "12 0.5 True"
    assert f"{ours.nn.Parameter(ours.tensor(1.5))}".startswith("Parameter containing:")
    assert f"{ours.ones(2)}" == "tensor([1., 1.])"
