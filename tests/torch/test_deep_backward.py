"""Backward passes inside backward passes, deeper than Python's stack; and what is called when one is over."""

import numpy as np
import pytest

from tapegrad import torch
from tapegrad.torch.autograd import Function, Variable


class Deeper(Function):
    """Starts a backward pass of its own until its number is below zero."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_() - 1
        return ctx.x.detach()

    @staticmethod
    def backward(ctx, g):
        if ctx.x >= 0:
            with torch.enable_grad():
                Deeper.apply(ctx.x).sum().backward()
        return g


def test_six_hundred_backward_passes_inside_each_other():
    x = torch.tensor(600.0, requires_grad=True)
    Deeper.apply(x).sum().backward()
    assert x.grad.item() == 1.0


def test_passes_inside_each_other_share_a_leaf():
    w = torch.tensor(3.0, requires_grad=True)
    count = [0]

    class Again(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            count[0] += 1
            if count[0] < 60:
                with torch.enable_grad():
                    (Again.apply(w) * w).backward()
            return g

    (Again.apply(w) * w).backward()
    assert count == [60]
    assert w.grad.item() == 60 * 2 * 3.0


def test_a_pass_on_another_thread_knows_the_modes_and_gives_its_errors():
    seen = []

    class Down(Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.n == 40:
                seen.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
                raise KeyError("at the bottom")
            x = torch.ones((), requires_grad=True)
            with torch.enable_grad():
                torch.autograd.grad(Down.apply(x, ctx.n + 1), x)
            return g, None

    x = torch.ones((), requires_grad=True)
    with pytest.raises(KeyError, match="at the bottom"), torch.autocast("cpu"):
        Down.apply(x, 0).backward()
    assert seen == [(False, True)]


def test_what_is_called_at_the_end_may_ask_for_another_call():
    called = []

    def first():
        called.append("first")
        Variable._execution_engine.queue_callback(lambda: called.append("second"))

    class Asks(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Variable._execution_engine.queue_callback(first)
            return g

    Asks.apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert called == ["first", "second"]


def test_a_class_that_is_decorated_is_made_without_a_graph_and_its_methods_are_as_they_were():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Model:
            def __init__(self):
                self.made = torch.is_grad_enabled()

            def run(self):
                return torch.is_grad_enabled()

    model = Model()
    assert isinstance(model, Model)
    assert (model.made, model.run()) == (False, True)


def test_a_view_that_is_taken_of_an_ordinary_tensor_in_inference_mode_is_ordinary():
    x = torch.ones(2, 3)
    with torch.inference_mode():
        y, z = x.view(-1), torch.ones(4).view(2, 2)
        assert (y.is_inference(), z.is_inference(), (x + 1).is_inference()) == (False, True, True)
        assert x.add_(1).view(6).is_inference() is False
    w = torch.ones(6, requires_grad=True)
    (y * w).sum().backward()
    assert w.grad.tolist() == [2.0] * 6


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
def test_powers_of_zero_have_the_limit_from_above_for_the_exponent(exponent):
    for base in (torch.zeros(1), 0, 0.0):
        e = torch.tensor([exponent], requires_grad=True)
        with np.errstate(divide="ignore"):
            (base**e).backward(torch.ones(1))
        assert e.grad.item() == (-float("inf") if exponent < 0 else 0.0)
