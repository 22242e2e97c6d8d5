"""Sparse tensors, and gradients of a few rows."""

import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as ours
from tests.torch.agreement import raw


def made(torch: Any) -> Any:
    index = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    return torch.sparse_coo_tensor(index, torch.tensor([3.0, 4.0, 5.0, 1.5]), (2, 3))


def test_coordinates_values_and_the_whole() -> None:
    s = made(ours)
    assert s.is_sparse
    assert s.shape == (2, 3)
    assert s.to_dense().tolist() == [[0.0, 0.0, 4.5], [4.0, 0.0, 5.0]]
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.values()
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert c.values().tolist() == [4.5, 4.0, 5.0]
    assert ours.ones(2, 2).to_sparse()._nnz() == 4
    assert (s + 1).tolist() == (s.to_dense() + 1).tolist()
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        ours.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (3,))


def test_products_with_dense_matrices_have_derivatives() -> None:
    s, d = made(ours), ours.randn(3, 2, requires_grad=True)
    y = ours.sparse.mm(s, d)
    np.testing.assert_allclose(raw(y), raw(s.to_dense() @ d), rtol=1e-6)
    y.sum().backward()
    np.testing.assert_allclose(raw(d.grad), raw(s.to_dense().sum(0)[:, None].expand(3, 2)), rtol=1e-6)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", ["SparseAdam", "SGD", "Adagrad"])
def test_optimizers_change_the_rows_of_a_sparse_gradient_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    start = np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32)
    ends = []
    for module in (ours, torch):
        table = module.nn.Embedding.from_pretrained(module.tensor(start.copy()), freeze=False, sparse=True)
        opt = getattr(module.optim, name)(table.parameters(), lr=0.1)
        for k in range(4):
            opt.zero_grad()
            (table(module.tensor([2, 0, 2, k % 2])) ** 2).sum().backward()
            assert table.weight.grad.is_sparse
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opt.step()
        ends.append(raw(table.weight))
    np.testing.assert_allclose(*ends, rtol=1e-5)
    assert (ends[0][3] == start[3]).all()


def test_a_sparse_tensor_has_no_gradient_of_its_own() -> None:
    x = ours.eye(2).to_sparse()
    assert x.requires_grad_(False) is x
    with pytest.raises(NotImplementedError, match="a sparse tensor has no gradient of its own here"):
        x.requires_grad_()


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, s, w: s.to_dense() @ w,
        lambda torch, s, w: torch.sparse.mm(s, w),
        lambda torch, s, w: torch.mm(s.coalesce(), w),
        lambda torch, s, w: s.coalesce().values() * 2,
        lambda torch, s, w: (-s).to_dense() * 3,
        lambda torch, s, w: (s + s).to_dense() @ w,
    ],
)
def test_a_derivative_reaches_the_values_that_a_sparse_tensor_was_made_of(call: Any) -> None:
    found = []
    for torch in (ours, pytest.importorskip("torch")):
        index = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
        values = torch.tensor([1.5, -2.0, 0.5, 3.0], requires_grad=True)
        w = torch.arange(6.0).reshape(3, 2).requires_grad_()
        y = call(torch, torch.sparse_coo_tensor(index, values, (2, 3)), w)
        (y * y).sum().backward()
        found.append((raw(y), raw(values.grad), None if w.grad is None else raw(w.grad)))
    for a, b in zip(*found, strict=True):
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_without_recording_a_sparse_tensor_is_a_constant() -> None:
    values = ours.ones(2, requires_grad=True)
    index = ours.tensor([[0, 1], [1, 0]])
    with ours.no_grad():
        assert not ours.sparse_coo_tensor(index, values, (2, 2)).requires_grad
    made = ours.sparse_coo_tensor(index, values, (2, 2))
    assert made.requires_grad
    assert not made.detach().requires_grad
