"""Graphs die with their tensors, by reference counts alone, whatever was hung on them."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapegrad import torch


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """What dies in a test dies by its references alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class _Mark:
    """What a hook holds, to see whether the hook is there."""


def _tensor_hook(y: Any, mark: _Mark) -> None:
    y.register_hook(lambda g: g if mark else None)


def _node_hook(y: Any, mark: _Mark) -> None:
    y.grad_fn.register_hook(lambda gi, go: None if mark else gi)
    y.grad_fn.register_prehook(lambda go: None if mark else go)


def _retained(y: Any, mark: _Mark) -> None:
    y.retain_grad()
    _tensor_hook(y, mark)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("hang", [_tensor_hook, _node_hook, _retained])
def test_a_graph_with_hooks(hang: Callable[[Any, _Mark], None], backward: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mark = _Mark()
    seen = weakref.ref(mark)
    y = x * x
    hang(y, mark)
    z = y.sum()
    if backward:
        z.backward()
    del y, z, mark
    assert seen() is None


def test_a_graph_with_packed_values() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mark = _Mark()
    seen = weakref.ref(mark)
    with torch.autograd.graph.saved_tensors_hooks(lambda v, mark=mark: (v, mark), lambda pair: pair[0]):
        y = (x * x).sum()
    del y, mark
    assert seen() is None


class _Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.mark = _Mark()
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_a_function_that_has_saved_its_own_output(backward: bool, shown: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = _Exp.apply(x)
    seen = weakref.ref(y.grad_fn.mark)
    if shown:
        step = y.grad_fn
        assert step is y.grad_fn
        assert step.saved_tensors[0].tolist() == y.tolist()
    if backward:
        y.sum().backward()
        assert x.grad.tolist() == y.tolist()
    del y
    if shown:
        assert seen() is step.mark  # whoever holds the step can follow it
        assert step.next_functions[0][0].variable is x
        del step
    assert seen() is None
