"""Hooks on single saved tensors, and copies where PyTorch has views."""

import pytest

from tapegrad import torch


def test_hooks_on_a_saved_tensor_are_called_at_once_and_in_the_sweep():
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    w = torch.tensor([3.0, 0.5], requires_grad=True)
    y = x * w
    seen = []
    y.grad_fn._raw_saved_self.register_hooks(lambda t: seen.append(t.tolist()) or 4.0, lambda packed: torch.full((2,), packed))
    assert seen == [[1.5, -2.0]]
    assert y.grad_fn._saved_self.tolist() == [4.0, 4.0]
    y.grad_fn._raw_saved_other.register_hooks(lambda t: t + 1, lambda t: t)
    y.sum().backward()
    assert w.grad.tolist() == [4.0, 4.0]
    assert x.grad.tolist() == [4.0, 1.5]


def test_hooks_on_a_saved_result():
    x = torch.tensor([0.0], requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 7, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [7.0]


def test_a_saved_tensor_has_one_pair_of_functions_as_hooks():
    x = torch.tensor([1.5], requires_grad=True)
    saved = x.sin().grad_fn._raw_saved_self
    with pytest.raises(TypeError, match="incompatible function arguments"):
        saved.register_hooks(1, 2)
    saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="no constructor"):
        torch.autograd.SavedTensor()


def test_what_was_let_go_of_has_no_saved_tensors():
    y = torch.tensor([1.5], requires_grad=True).sin()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="have already been freed"):
        _ = y.grad_fn._raw_saved_self


@pytest.mark.parametrize(
    ("copied", "view"),
    [
        (lambda x: torch.view_copy(x, (3, 2)), lambda x: x.view(3, 2)),
        (lambda x: torch.diagonal_copy(x, 1), lambda x: x.diagonal(1)),
        (lambda x: torch.permute_copy(x, (1, 0)), lambda x: x.permute(1, 0)),
        (lambda x: torch.select_copy(x, 0, 1), lambda x: x.select(0, 1)),
        (lambda x: torch.split_copy(x, 2, 1)[1], lambda x: x.split(2, 1)[1]),
        (lambda x: x.unsafe_split(1)[1], lambda x: x.split(1)[1]),
        (lambda x: torch.unsafe_chunk(x, 2)[0], lambda x: x.chunk(2)[0]),
        (lambda x: x.unsafe_split_with_sizes((1, 1))[1], lambda x: x.split_with_sizes((1, 1))[1]),
        (lambda x: x.narrow_copy(1, 1, 2), lambda x: x.narrow(1, 1, 2)),
    ],
)
def test_a_copy_shows_what_the_view_shows_and_may_be_written_to(copied, view):
    x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    y = copied(x)
    assert torch.equal(y, view(x))
    y.mul_(2)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    (g,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(g, torch.autograd.grad(2 * view(x).sum(), x)[0])


def test_what_is_conjugated_is_resolved_already():
    x = torch.tensor([1.0 + 2.0j]).conj()
    assert torch.resolve_conj(x).tolist() == [1.0 - 2.0j]
    assert not torch.is_conj(x)
    assert not x.is_neg()


def test_threads_of_sweeps_are_switched_as_a_call_and_a_context():
    with torch.autograd.set_multithreading_enabled(False):
        assert not torch.autograd.is_multithreading_enabled()
    assert torch.autograd.is_multithreading_enabled()
