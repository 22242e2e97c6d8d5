"""Bags of rows: what is refused, and gradients of some rows by their data."""

import numpy as np
import pytest

import tapegrad.torch as T

real = pytest.importorskip("torch")

REFUSED = {
    "bags that begin late": "F.embedding_bag(t.tensor([1, 2, 3]), w, t.tensor([1, 2]))",
    "bags that begin behind the end": "F.embedding_bag(t.tensor([1, 2, 3]), w, t.tensor([0, 5]))",
    "bags that begin at a float": "F.embedding_bag(t.tensor([1, 2, 3]), w, t.tensor([0.0, 2.0]))",
    "rows that are floats": "F.embedding_bag(t.tensor([1.0, 2.0, 3.0]), w, t.tensor([0, 2]))",
    "rows that are not there": "F.embedding_bag(t.tensor([1, 9]), w, t.tensor([0]))",
    "rows below zero": "F.embedding_bag(t.tensor([1, -1]), w, t.tensor([0]))",
    "padding that is not there": "F.embedding_bag(t.tensor([1, 2]), w, t.tensor([0]), padding_idx=9)",
    "too few factors": "F.embedding_bag(t.tensor([1, 2]), w, t.tensor([0]), mode='sum', per_sample_weights=t.ones(1))",
    "factors of another dtype":
        "F.embedding_bag(t.tensor([1, 2]), w, t.tensor([0]), mode='sum', per_sample_weights=t.ones(2, dtype=t.float64))",
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_bags_that_do_not_fit_are_refused_in_pytorchs_class(name: str) -> None:
    for torch in (real, T):
        with pytest.raises((RuntimeError, ValueError)):
            eval(REFUSED[name], {"t": torch, "F": torch.nn.functional, "w": torch.ones(4, 3)})


def test_a_gradient_of_some_rows_has_data() -> None:
    table = T.nn.Embedding(4, 3, sparse=True)
    table(T.tensor([1, 2, 2])).sum().backward()
    data = table.weight.grad.data
    assert data.is_sparse
    assert data.to_dense().tolist() == [[0.0] * 3, [1.0] * 3, [2.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_in_bfloat16_are_those_in_float32(mode: str) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    wide, narrow = (
        T.nn.functional.embedding_bag(T.tensor([3, 1, 2]), T.tensor(rows).to(kind), T.tensor([0, 2]), mode=mode)
        for kind in (T.float32, T.bfloat16)
    )
    assert narrow.dtype == T.bfloat16
    assert np.allclose(wide.numpy(), narrow.float().numpy(), rtol=1e-2)
