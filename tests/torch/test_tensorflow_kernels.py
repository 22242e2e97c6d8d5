"""The PyTorch style where new tensors are TensorFlow's: on arrays that cannot be written to, all is as on NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tapegrad import torch
from tapegrad.registry.backends import making_on

pytest.importorskip("tensorflow")


@pytest.fixture(autouse=True)
def _there() -> Iterator[None]:
    with making_on("tensorflow"):
        yield


def kind(x: Any) -> str:
    return type(x.array).__name__


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.tensor([1.5, 2.5]),
        lambda: torch.tensor(1.5),
        lambda: torch.zeros(2, 3),
        lambda: torch.arange(4),
        lambda: torch.randn(3),
        lambda: torch.randperm(5),
        lambda: torch.FloatTensor([1.5]),
        lambda: torch.nn.Linear(2, 3).weight,
        lambda: torch.nn.Linear(2, 3)(torch.ones(4, 2)),
        lambda: torch.zeros(3).normal_(),
        lambda: torch.zeros(3).fill_(2.0),
        lambda: next(iter(torch.utils.data.DataLoader([np.float32(1.5), np.float32(2.5)], batch_size=2))),
    ],
)
def test_new_tensors_are_made_there(make: Any) -> None:
    assert kind(make()) == "TFArray"


def test_memory_shared_with_numpy_stays_numpys_and_mixes() -> None:
    a = np.array([1.5, 2.5], np.float32)
    x = torch.from_numpy(a)
    y = x * torch.tensor([2.0, 4.0])
    a[0] = 7.0
    assert x.tolist() == [7.0, 2.5]
    assert kind(y) == "TFArray"
    assert y.tolist() == [3.0, 10.0]


def test_a_write_through_data_is_seen_by_a_graph_that_saved_the_values() -> None:
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    y = (x * x).sum()
    x.data.mul_(10)
    y.backward()
    assert x.grad.tolist() == [30.0, 50.0]


def test_a_clone_is_apart_from_what_data_does_to_its_original() -> None:
    x = torch.tensor([1.5, 2.5])
    c = x.clone().requires_grad_()
    y = (c * c).sum()
    x.data.mul_(10)
    y.backward()
    assert c.grad.tolist() == [3.0, 5.0]


def test_a_write_to_expanded_elements_is_refused() -> None:
    e = torch.ones(1, 3).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        e.add_(1)


def test_views_have_the_strides_that_memory_would_have() -> None:
    x = torch.zeros(3, 4)
    assert x.t().stride() == (1, 4)
    assert not x.t().is_contiguous()
    assert x[1:, ::2].stride() == (4, 2)
    assert x[1:, ::2].storage_offset() == 4
    assert x[1].data_ptr() - x.data_ptr() == 16
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.t().view(12)


def test_a_reshape_that_copies_does_not_write_back() -> None:
    x = torch.zeros(2, 3)
    x.t().reshape(6).add_(1)
    assert x.sum() == 0
    x.reshape(6).add_(1)
    assert x.sum() == 6


OPTIMIZERS = sorted(
    name
    for name, value in vars(torch.optim).items()
    if isinstance(value, type) and issubclass(value, torch.optim.Optimizer) and value is not torch.optim.Optimizer
)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_updates_there_as_on_numpys_kernels(name: str) -> None:
    found = {}
    for place in ("numpy", "tensorflow"):
        with making_on(place):
            torch.manual_seed(0)
            sparse = name == "SparseAdam"
            layer: Any = torch.nn.Embedding(3, 2, sparse=True) if sparse else torch.nn.Linear(3, 2, bias=name != "Muon")
            x = torch.tensor([0, 2, 0]) if sparse else torch.ones(4, 3)
            optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.05)

            def loss(optimizer: Any = optimizer, layer: Any = layer, x: Any = x) -> Any:
                optimizer.zero_grad()
                y = layer(x).pow(2).sum()
                y.backward()
                return y

            for _ in range(3):
                if name == "LBFGS":
                    optimizer.step(loss)
                else:
                    loss()
                    optimizer.step()
            found[place] = layer.weight
    assert kind(found["tensorflow"]) == "TFArray"
    assert found["tensorflow"].dtype is found["numpy"].dtype is torch.float32
    rtol, atol = (2e-2, 1e-3) if name == "Muon" else (1e-4, 1e-6)  # whose direction is computed in bfloat16
    np.testing.assert_allclose(found["tensorflow"].tolist(), found["numpy"].tolist(), rtol=rtol, atol=atol)


def test_rows_of_a_sparse_gradient_are_updated() -> None:
    table = torch.nn.Embedding(5, 2, sparse=True)
    before = np.array(table.weight.tolist())
    table(torch.tensor([1, 3, 1])).sum().backward()
    torch.optim.SGD(table.parameters(), lr=0.5).step()
    change = before - np.array(table.weight.tolist())
    np.testing.assert_allclose(change[:, 0], [0, 1.0, 0, 0.5, 0], atol=1e-6)


def test_cholesky_refuses_what_is_not_positive() -> None:
    with pytest.raises(RuntimeError, match="positive-definite"):
        torch.linalg.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))


def test_anomaly_mode_finds_nan() -> None:
    x = torch.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan values"):
            (torch.sqrt(x) * 0).sum().backward()


def test_a_write_to_one_of_several_copies_is_seen_in_all() -> None:
    w = torch.tensor(7.0, requires_grad=True)
    x = torch.zeros(2)
    copies = x.expand(3, 2)
    copies[1] = w * 2
    assert copies.tolist() == [[14.0, 14.0]] * 3
    assert x.tolist() == [14.0, 14.0]
    assert torch.autograd.grad(copies.sum(), w)[0] == 12


def test_a_value_that_does_not_fit_a_place_is_refused_in_pytorchs_words() -> None:
    x = torch.zeros(2, 3)
    for target in (x, x.view(3, 2).view(2, 3), x.detach(), torch.zeros(2, 3, requires_grad=True) * 1):
        with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(3\) must match the existing size \(2\)"):
            target[0] = torch.ones(2)
    assert x.tolist() == [[0.0] * 3] * 2
