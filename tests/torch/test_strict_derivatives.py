"""`autograd.functional` in strict mode, and `gradcheck` of functions that know their inputs by other ways."""

import pytest

from tapegrad import torch
from tapegrad.torch.autograd import functional

X = torch.tensor([0.5, 2.0])
ONES = torch.ones(2)


def _unrelated(x):
    return x.long().float().requires_grad_() * 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: functional.vjp(lambda x: x.detach(), X, ONES, strict=True), "Output 0 .* does not require gradients"),
        (lambda: functional.vjp(_unrelated, X, ONES, strict=True), "output of .* is independent of input 0"),
        (lambda: functional.vjp(lambda x: 2 * x, X, ONES, True, True), "jacobian of .* is independent of input 0"),
        (lambda: functional.jvp(_unrelated, X, ONES, strict=True), "output of .* is independent of input 0"),
        (lambda: functional.jvp(lambda x: 2 * x, X, ONES, True, True), "jacobian of .* is independent of input 0"),
        (lambda: functional.hvp(lambda x: x.sum(), X, ONES, strict=True), "jacobian of .* with respect to input 0 is independent"),
        (lambda: functional.vhp(lambda x: x.sum(), X, ONES, strict=True), "jacobian of .* with respect to input 0 is independent"),
        (lambda: functional.jacobian(lambda x: (x, _unrelated(x)), X, strict=True), "Output 1 .* independent of input 0"),
        (lambda: functional.jacobian(lambda x: 2 * x, X, True, True), "jacobian of .* is independent of input 0"),
        (lambda: functional.hessian(lambda x: x.sum(), X, strict=True), "jacobian of .* with respect to input 0"),
        (lambda: functional.hessian(lambda x: x.sum(), X, strict=True, vectorize=True), "not supported together"),
        (lambda: functional.jvp(lambda x: x, X, (ONES, ONES)), "v should contain a single Tensor"),
        (lambda: functional.jvp(lambda x, y: x, (X, X), ONES), "invalid length: should be 2 but got 1"),
        (lambda: functional.vjp(lambda x: x, X), "v can only be None if the user-provided function returns a single Tensor"),
        (lambda: functional.jvp(lambda x: x, X), "v can only be None if the input to the user-provided function is a single"),
    ],
)
def test_what_strict_mode_and_vectors_refuse(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_without_strict_mode_there_are_zeros():
    assert functional.hessian(lambda x: x.sum(), X).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert functional.jacobian(_unrelated, X).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_check_sees_inputs_that_the_function_knows_by_itself():
    layer = torch.nn.Linear(2, 2).double()
    x = torch.tensor([[0.5, -1.5]], dtype=torch.float64)
    before = layer.weight.tolist()
    assert torch.autograd.gradcheck(lambda *_: layer(x).exp(), tuple(layer.parameters()))
    assert torch.autograd.gradgradcheck(lambda *_: layer(x).exp(), tuple(layer.parameters()))
    assert layer.weight.tolist() == before
