"""What hooks may answer, what dual tensors show, and what a scaler wants first."""

import pytest

from tapegrad import torch
from tapegrad.torch.autograd import forward_ad


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda g: (g, None, None, None), RuntimeError, "has returned an incorrect number of values"),
        (lambda g: 3, TypeError, "expected tuple, but hook returned 'int'"),
        (lambda g: g, TypeError, "expected tuple, but hook returned 'Tensor'"),
    ],
)
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_hooks_on_nodes_answer_with_a_tuple_of_all_gradients(register, answer, error, text):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    getattr(y.grad_fn, register)(lambda grads, *_: answer(grads[0]))
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_a_backward_gives_a_tuple_or_one_gradient():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return [g * 2]

    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got list\)"):
        Doubled.apply(torch.ones(2, requires_grad=True)).sum().backward()


def test_nodes_list_what_they_have_saved():
    x = torch.ones(2, requires_grad=True)
    assert {"_saved_result", "_raw_saved_result"} <= set(dir(x.exp().grad_fn))
    assert {"_saved_self", "_saved_other"} <= set(dir((x * x.exp()).grad_fn))
    assert (x * 2).grad_fn.requires_grad


def test_dual_tensors_show_their_tangents():
    x = torch.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, torch.tensor([1.0, 0.0]))
        assert repr(d) == "tensor([1., 2.], tangent=tensor([1., 0.]))"
        assert repr(d * 3) == "tensor([3., 6.], tangent=tensor([3., 0.]))"
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            forward_ad.make_dual(d, x)
    assert repr(x) == "tensor([1., 2.])"


def test_inference_tensors_are_of_the_class_Tensor_by_name():
    with torch.inference_mode():
        x = torch.ones(2)
    assert type(x).__name__ == "Tensor"
    assert x.is_inference()
    assert not torch.ones(2).is_inference()


def test_a_scaler_that_has_scaled_nothing_does_not_step():
    p = torch.nn.Parameter(torch.ones(2))
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([p], lr=0.1)
    p.grad = torch.ones(2)
    for call in (scaler.step, scaler.unscale_):
        with pytest.raises(AssertionError, match="_scale is None"):
            call(optimizer)
