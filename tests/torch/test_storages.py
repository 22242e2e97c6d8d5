"""The memory of tensors as an object."""

import pytest

from tapegrad import torch


def test_views_have_the_storage_of_their_base():
    a = torch.arange(6.0)
    b = a[2:].view(2, 2)
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() == a.data_ptr()
    assert a.untyped_storage() == b.untyped_storage() != a.clone().untyped_storage()
    assert a.untyped_storage()._cdata == b.storage()._cdata
    assert (b.untyped_storage().nbytes(), len(b.storage()), b.untyped_storage().size(), b.storage_offset()) == (24, 6, 24, 2)
    assert b.storage().tolist() == list(b.storage()) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert b.storage().dtype == torch.float32
    assert b.storage()[3] == 3.0


def test_what_is_written_into_a_storage_is_in_its_tensors_and_counts_as_a_write():
    a = torch.zeros(4)
    b, before = a[1:], a._version
    a.storage()[1] = 5.0
    a.storage().copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]).storage())
    assert a.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert b.tolist() == [2.0, 3.0, 4.0]
    a.untyped_storage().fill_(0)
    assert b.tolist() == [0.0] * 3
    assert a._version >= before


def test_tensors_are_made_on_a_storage():
    source = torch.arange(6.0)
    x = torch.tensor([]).set_(source.storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x[0, 0] = 9
    assert source[1].item() == 9
    y = torch.FloatTensor(source.storage())
    assert y.data_ptr() == source.data_ptr()
    assert y.tolist() == source.tolist()
    assert torch.empty(0).set_(source.untyped_storage(), 4, (2,)).tolist() == [4.0, 5.0]


def test_storages_by_themselves():
    assert torch.FloatStorage([1, 2, 3]).tolist() == [1.0, 2.0, 3.0]
    assert torch.UntypedStorage(8).nbytes() == 8
    assert torch.is_storage(torch.LongStorage(2))
    assert torch.IntStorage(3).untyped().size() == 12
    assert torch.arange(3).storage().clone() != torch.arange(3).storage()
    with pytest.raises(NotImplementedError, match="resize_"):
        torch.ones(3).untyped_storage().resize_(0)
