"""Tensors of PyTorch's beside those of a program that has derived a class from the facade's."""

from __future__ import annotations

import pytest

from tapegrad import torch as facade


def test_a_tensor_of_pytorch_is_not_asked_as_a_derived_class_is() -> None:
    torch = pytest.importorskip("torch")

    class Derived(facade.Tensor):  # from here on functions of the facade ask their arguments
        pass

    ours, theirs = facade.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    for y in (ours * theirs, theirs * ours, ours + torch.nn.Parameter(theirs, requires_grad=False)):
        assert type(y) is facade.Tensor
        assert y.requires_grad
    (ours * theirs).sum().backward()
    assert ours.grad.tolist() == [3.0, 4.0]
    assert type(ours.as_subclass(Derived) * theirs) is Derived
