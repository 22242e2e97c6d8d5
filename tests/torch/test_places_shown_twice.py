"""Writes through views that show elements several times, gradients asked at what was written to, views that cannot follow their base."""

import pytest

from tapegrad import torch


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return 5 * g


@pytest.mark.parametrize("index", [0, (0, 1, 2), (1, slice(1, 3))])
@pytest.mark.parametrize("untracked", [False, True])
def test_a_write_to_one_of_several_copies_is_seen_in_all(index, untracked):
    w = torch.tensor(7.0, requires_grad=True)
    x = torch.arange(12.0).view(3, 4)
    copies = x.expand(2, 3, 4)
    picked = x.expand(2, 3, 4).detach()[index].numel()
    copies[index] = 14.0 if untracked else w * 2
    assert (x == 14).sum() >= picked
    assert (copies[0] == copies[1]).all()
    assert torch.equal(copies[1], x)
    if not untracked:
        (g,) = torch.autograd.grad(copies.sum(), w)
        assert g == 2 * 2 * picked  # each element that was written is there twice


def test_a_write_through_detach_of_several_copies_is_seen_in_all():
    w = torch.tensor(7.0, requires_grad=True)
    x = torch.zeros(3)
    copies = x.expand(2, 3).detach()
    copies[0] = w * 2
    assert x.tolist() == [14, 14, 14]
    x = torch.zeros(3)
    x.expand(2, 3).detach()[0, 1] = 5
    assert x.tolist() == [0, 5, 0]


def test_a_gradient_at_what_was_written_to_needs_no_step_of_what_made_it():
    x = torch.tensor([0.3, 1.2], requires_grad=True)
    h = x.exp()
    y = (h * 3).sum()
    h.detach().zero_()
    assert torch.autograd.grad(y, h, retain_graph=True)[0].tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="saved by ExpBackward0"):
        torch.autograd.grad(y, x)


def test_what_a_function_gave_of_a_constant_is_refused_once_that_is_tracked():
    x = torch.ones(3)
    y = Same.apply(x)
    x.mul_(torch.ones(3, requires_grad=True))
    assert y.requires_grad
    assert y.output_nr == 0
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.sum()


def test_to_retain_the_gradient_of_a_piece_that_does_so_already_asks_nothing_of_its_base():
    base = torch.ones(4, requires_grad=True)
    first, second = base.split([1, 3])
    first.retain_grad()
    with torch.no_grad():
        second.mul_(2)
    first.retain_grad()
    assert first.retains_grad


def test_pieces_of_a_constant_that_is_tracked_by_now_are_leaves_to_retain_grad():
    base = torch.ones(4)
    with torch.no_grad():
        first, _ = base.split([1, 3])
    base.mul_(torch.ones(4, requires_grad=True))
    first.retain_grad()
    assert not first.retains_grad


def test_a_function_of_a_piece_is_what_bars_its_result():
    first, second = torch.ones(3, requires_grad=True).split([1, 2])
    y = Same.apply(second)
    with torch.no_grad():
        first.mul_(2)
    with pytest.raises(RuntimeError, match=r"Output 0 of Same is a view.* created inside a custom Function"):
        y.sum()
