"""A loader over tensors takes the rows of a batch at once, and gives what stacking the items gives."""

from __future__ import annotations

import pytest

from tapegrad import torch
from tapegrad.torch.utils.data import DataLoader, Subset, TensorDataset, default_collate


def _data():
    return TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10), torch.arange(10) > 4)


def _same(found, expected):
    for got, wanted in zip(found, expected, strict=True):
        assert type(got) is list
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a, b)
            assert not a.requires_grad


@pytest.mark.parametrize("part", [None, [7, 1, 3, -1, 4]])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_those_of_stacked_items(part, shuffle):
    data = _data() if part is None else Subset(Subset(_data(), range(9, -1, -1)), part)
    torch.manual_seed(1)
    found = list(DataLoader(data, batch_size=3, shuffle=shuffle))
    torch.manual_seed(1)
    _same(found, DataLoader(data, batch_size=3, shuffle=shuffle, collate_fn=lambda items: list(default_collate(items))))


def test_batches_are_copies():
    data = _data()
    next(iter(DataLoader(data, batch_size=10)))[0].zero_()
    assert data.tensors[0].sum() == 190


def test_rows_of_a_dataset_with_items_of_its_own_are_asked_for():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * t for t in super().__getitem__(index))

    assert next(iter(DataLoader(Doubled(torch.ones(4, 2)), batch_size=4)))[0].sum() == 16


def test_tensors_with_a_history_keep_it():
    x = torch.ones(4, 2, requires_grad=True)
    next(iter(DataLoader(TensorDataset(x * 3), batch_size=4)))[0].sum().backward()
    assert x.grad.sum() == 24


def test_an_index_out_of_range_is_the_datasets_error():
    loader = DataLoader(_data(), batch_sampler=[[1, 10]])
    with pytest.raises(IndexError, match="index 10 is out of bounds for dimension 0 with size 10"):
        next(iter(loader))


def test_tensors_of_other_shapes_are_refused_when_stacked():
    with pytest.raises(RuntimeError, match=r"got \[2\] at entry 0 and \[3\] at entry 1"):
        default_collate([torch.ones(2), torch.ones(3)])
