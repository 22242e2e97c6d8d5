"""Forms of indices that are old, rare or wrong."""

import numpy as np
import pytest

from tapegrad import torch


@pytest.fixture
def x():
    return torch.arange(16.0).view(4, 4)


_SEQUENCE = "Using a non-tuple sequence for multidimensional indexing is deprecated"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ([[1, 1, 3], [0]], [4.0, 4.0, 12.0]),
        ([[1, 2], [0, 3]], [4.0, 11.0]),
        ([(1, 2), (0, 3)], [4.0, 11.0]),
        ([torch.tensor([1, 3]), [2, 0]], [6.0, 12.0]),
        ([np.array([1, 2]), np.array([0, 3])], [4.0, 11.0]),
        ([torch.tensor(3), 1], 13.0),
        ([[0, 1], slice(1, 3)], [[1.0, 2.0], [5.0, 6.0]]),
    ],
    ids=str,
)
def test_a_list_of_sequences_is_a_tuple(x, key, expected):
    with pytest.warns(UserWarning, match=_SEQUENCE):
        assert x[key].tolist() == expected


def test_a_list_of_numbers_picks_rows(x):
    assert x[[3, 0]].tolist() == [x[3].tolist(), x[0].tolist()]


def test_what_a_list_of_sequences_picks_is_written_to_with_a_gradient():
    x = torch.ones(3, 3, requires_grad=True)
    value = torch.tensor([7.0, 8.0], requires_grad=True)
    y = x * 1
    with pytest.warns(UserWarning, match=_SEQUENCE):
        y[[[0, 1], [1, 0]]] = value
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    assert value.grad.tolist() == [1.0, 1.0]


def test_a_mask_of_bytes_is_a_mask_and_warns(x):
    mask = torch.tensor([1, 0, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[mask].tolist() == [x[0].tolist(), x[3].tolist()]
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8"):
        assert x.index_put((mask,), torch.tensor(-1.0))[:, 0].tolist() == [-1.0, 4.0, 8.0, -1.0]
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8"):
        assert x.index_put((mask,), torch.ones(2, 4), accumulate=True)[:, 0].tolist() == [1.0, 4.0, 8.0, 13.0]


@pytest.mark.parametrize(
    ("key", "kind", "message"),
    [
        (slice("0", "1"), TypeError, "slice indices must be integers or None"),
        (slice(1.5, 2), TypeError, "slice indices must be integers or None"),
        (slice(torch.tensor(1.0), 3), TypeError, "only integer tensors of a single element"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
    ],
    ids=str,
)
def test_slices_are_of_integers(x, key, kind, message):
    with pytest.raises(kind, match=message):
        x[key]


def test_slices_take_tensors_of_one_integer(x):
    assert x[torch.tensor(1) : torch.tensor([2])].tolist() == [x[1].tolist()]


def test_an_axis_without_places_says_so():
    with pytest.raises(IndexError, match="for dimension with size 0"):
        torch.empty(10, 0)[:, [0, 1]]


def test_values_that_do_not_fit_a_mask_are_a_shape_mismatch(x):
    y = (2 * x.requires_grad_())[:1]
    for target in (x.detach(), y):
        with pytest.raises(RuntimeError, match=r"shape mismatch: value tensor of shape \[3\] cannot be broadcast"):
            target[target > -1] = torch.tensor([1.0, 2.0, 3.0])


def test_nothing_is_deleted_from_a_tensor_and_words_are_no_values(x):
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]
    with pytest.raises(TypeError, match=r"can't assign a str to a torch\.FloatTensor"):
        x[0] = "1"


def test_the_number_of_a_place_is_unravelled():
    places = torch.unravel_index(torch.tensor([[5, 23]]), (2, 3, 4))
    assert [p.tolist() for p in places] == [[[0, 1]], [[1, 2]], [[1, 3]]]
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        torch.unravel_index(torch.tensor(0.5), (2, 2))


def test_sorted_values_are_searched_by_their_sorter():
    values = torch.tensor([[5.0, 1.0, 3.0], [2.0, 6.0, 4.0]])
    found = torch.searchsorted(values, torch.tensor([[2.0], [5.0]]), sorter=values.argsort())
    assert found.tolist() == [[1], [2]]
    with pytest.raises(RuntimeError, match="boundary and sorter must have the same size"):
        torch.searchsorted(values, torch.tensor([[2.0], [5.0]]), sorter=torch.tensor([0, 1]))


def test_indices_along_an_axis_have_as_many_axes():
    with pytest.raises(RuntimeError, match="same number of dimensions, but got 2 dimensions for input, and 1"):
        torch.take_along_dim(torch.ones(2, 3), torch.tensor([1]), 0)


def test_of_equal_values_the_first_has_the_derivative_where_pytorch_refuses():
    x = torch.tensor([2.0, 1.0, 2.0, 2.0], requires_grad=True)
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1.0, 2.0], [1, 0, 1, 1], [1, 3])
    (values * torch.tensor([3.0, 5.0])).sum().backward()
    assert x.grad.tolist() == [5.0, 3.0, 0.0, 0.0]
    x.grad = None
    values, counts = torch.unique_consecutive(x.reshape(2, 2), return_counts=True, dim=1)
    values.sum().backward()
    assert (x.grad.tolist(), counts.tolist()) == ([1.0, 1.0, 1.0, 1.0], [1, 1])


@pytest.mark.parametrize("key", [2, torch.tensor(2), slice(2, 3), torch.tensor([2]), torch.tensor([False, False, True, False])], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_one_element_with_a_history_is_written_in_however_many_brackets(key, shape):
    w = torch.full(shape, 3.0, requires_grad=True)
    y = torch.zeros(4)
    y[key] = w * 2
    assert y.tolist() == [0.0, 0.0, 6.0, 0.0]
    (y * torch.arange(4.0)).sum().backward()
    assert w.grad.shape == shape
    assert w.grad.sum() == 4.0
