"""`t_`, `unsqueeze_` and the like: of views, of what there are views of, and of what a graph has saved."""

import pytest

from tapegrad import torch

SHAPES = {
    "t_": (lambda x: x.t_(), lambda x: x.t()),
    "transpose_": (lambda x: x.transpose_(0, 1), lambda x: x.transpose(0, 1)),
    "unsqueeze_": (lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze(1)),
    "squeeze_": (lambda x: x.unsqueeze_(0).squeeze_(0), lambda x: x),
    "twice": (lambda x: (x.t_(), x.unsqueeze_(0)), lambda x: x.t().unsqueeze(0)),
}


def _weights(x):
    return torch.arange(1.0, 1 + x.numel()).reshape(x.shape)


@pytest.mark.parametrize("change", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("first", [0, 1], ids=["all", "part"])
def test_a_view_that_changed_its_shape_is_written_to(change, first):
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    base = x * 2
    view, other = base[:, first:], (x * 2)[:, first:]
    change[0](view)
    expected = change[1](other)
    view.mul_(_weights(view))
    assert view.tolist() == (expected * _weights(view)).tolist()
    (view * _weights(view)).sum().backward()
    found = x.grad.clone()
    x.grad = None
    (expected * _weights(view) * _weights(view)).sum().backward()
    assert found.tolist() == x.grad.tolist()


def test_views_stay_what_they_were_where_their_base_changes_its_shape():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 1
    row, column = base[0], base[:, 1]
    base.t_()
    base.mul_(_weights(base))
    assert row.tolist() == [0.0, 3.0, 10.0]
    assert column.tolist() == [3.0, 16.0]
    assert base._version == 2
    (row.sum() + 10 * column.sum() + 100 * base.sum()).backward()
    assert x.grad.tolist() == [[101.0, 333.0, 505.0], [200.0, 440.0, 600.0]]


def test_an_alias_that_changed_its_shape_is_written_to():
    base = torch.arange(6.0).reshape(2, 3)
    alias = base.detach()
    alias.t_()
    alias.mul_(_weights(alias))
    assert base.tolist() == [[0.0, 3.0, 10.0], [6.0, 16.0, 30.0]]
    base.add_(1)
    assert alias.tolist() == [[1.0, 7.0], [4.0, 17.0], [11.0, 31.0]]


def test_a_change_of_shape_is_a_write():
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad is being used in an in-place operation"):
        x.t_()
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad"):
        x[0].unsqueeze_(0)
    with pytest.raises(RuntimeError, match=r"Output 0 of Unbind is a view and is being modified inplace"):
        (x * 2).unbind()[0].unsqueeze_(0)
    with torch.no_grad():
        x.t_()
    assert x.shape == (3, 2)
    assert x.requires_grad
    y = x * 2
    z = y * y
    y.unsqueeze_(0)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .* is at version 1; expected version 0"):
        z.sum().backward()


def test_a_view_of_what_became_a_leaf_is_not_written_to():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad"):
        x[0].mul_(2)


@pytest.mark.parametrize("change", ["t_", "transpose_"])
def test_a_view_is_written_to_whose_base_has_changed_its_shape(change):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 1
    row = base[0]
    SHAPES[change][0](base)
    row.mul_(2)
    assert base.tolist() == [[0.0, 3.0], [2.0, 4.0], [4.0, 5.0]]
    (base * _weights(base)).sum().backward()
    assert x.grad.tolist() == [[2.0, 6.0, 10.0], [2.0, 4.0, 6.0]]


def test_the_parts_of_complex_numbers_are_turned_and_written_to():
    x = torch.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]], requires_grad=True)
    y = x * 1
    parts = torch.view_as_real(y).transpose(0, 1)
    parts[0].mul_(10)
    assert y.tolist() == [[10 + 20j, 3 + 4j], [50 + 60j, 7 + 8j]]
    torch.view_as_real(y).sum().backward()
    assert x.grad.tolist() == [[10 + 10j, 1 + 1j], [10 + 10j, 1 + 1j]]
