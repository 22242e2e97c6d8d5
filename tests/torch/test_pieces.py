import pytest

from tapegrad import torch


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ((-1,), [[0, 1, 2, 3], [4]]),
        ((1, -2), [[0], [1, 2], [3, 4]]),
        ((3, 1), [[0, 1, 2], [], [1, 2, 3, 4]]),
        ((-9, 9), [[], [0, 1, 2, 3, 4], []]),
        (torch.tensor([2, 4]), [[0, 1], [2, 3], [4]]),
        (torch.tensor(2), [[0, 1, 2], [3, 4]]),
    ],
    ids=str,
)
def test_pieces_are_cut_at_places_that_may_be_negative_or_in_a_tensor(where, expected):
    assert [piece.tolist() for piece in torch.arange(5).tensor_split(where)] == expected


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (0, "number of sections must be larger than 0, got 0"),
        (torch.tensor(1.5), "dtype of long, but got Float"),
        (torch.tensor([[1]]), "zero-dimensional or one-dimensional tensor, but got a tensor with 2 dims"),
    ],
    ids=str,
)
def test_places_that_cannot_be_cut_at_are_refused(where, message):
    with pytest.raises(RuntimeError, match=message):
        torch.arange(5).tensor_split(where)


@pytest.mark.parametrize("name", ["mT", "mH", "H"])
def test_a_vector_has_no_matrix_transpose(name):
    with pytest.raises(RuntimeError, match="only supported on matrices"):
        getattr(torch.ones(2), name)
    with pytest.raises(RuntimeError, match="only supported on matrices"):
        torch.ones(2).adjoint()
