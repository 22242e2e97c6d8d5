"""Code of a user that a backward pass runs may wait for a thread whose own backward pass comes to the same nodes."""

import threading

import pytest

from tapegrad import torch


class Meanwhile:
    """A hook that lets another thread run once, and waits for it."""

    def __init__(self, run):
        self._run = run
        self.begun = False
        self.ended = []

    def __call__(self, *_):
        if not self.begun:
            self.begun = True
            thread = threading.Thread(target=self._run, daemon=True)
            thread.start()
            thread.join(10)
            self.ended.append(not thread.is_alive())


def on_value(y, hook):
    y.register_hook(hook)


def before_step(y, hook):
    y.grad_fn.register_prehook(hook)


def after_step(y, hook):
    y.grad_fn.register_hook(hook)


@pytest.mark.parametrize("register", [on_value, before_step, after_step])
def test_a_hook_may_wait_for_a_backward_pass_on_the_same_graph(register):
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    y = h * 3
    hook = Meanwhile(lambda: (h * 5).sum().backward(retain_graph=True))
    register(y, hook)
    y.sum().backward(retain_graph=True)
    assert hook.ended == [True]
    assert x.grad.tolist() == [16, 16]


def test_hooks_on_a_leaf_may_wait_for_a_backward_pass_onto_it():
    x = torch.ones(2, requires_grad=True)
    hook = Meanwhile(lambda: (x * 3).sum().backward())
    x.register_hook(hook)
    (x * 2).sum().backward()
    assert hook.ended == [True]
    assert x.grad.tolist() == [5, 5]
    later = Meanwhile(lambda: (x * 3).sum().backward())
    x.register_post_accumulate_grad_hook(later)
    (x * 2).sum().backward()
    assert later.ended == [True]
    assert x.grad.tolist() == [10, 10]


def test_a_function_may_wait_for_a_backward_pass_onto_the_same_leaf():
    x = torch.ones(2, requires_grad=True)
    meanwhile = Meanwhile(lambda: (x * 3).sum().backward())

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            meanwhile()
            return g * 2

    Twice.apply(x).sum().backward()
    assert meanwhile.ended == [True]
    assert x.grad.tolist() == [5, 5]


def test_threads_that_nobody_waits_for_put_back_what_they_borrow():
    x = torch.ones(2, requires_grad=True)
    threads = []

    def start(_):
        thread = threading.Thread(target=lambda: (x * 3).sum().backward())
        thread.start()
        threads.append(thread)

    for _ in range(20):
        y = x * 2
        y.register_hook(start)
        (y * x.detach() + x).sum().backward()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [120, 120]
