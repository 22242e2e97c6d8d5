"""What a graph looks like from `grad_fn`: the names of nodes and of those that they pass gradients to, next to PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

from tapegrad import torch as mine

theirs: Any = pytest.importorskip("torch")

FUNCTIONS: dict[str, Any] = {
    "mean": lambda t, h: h.mean(),
    "mean of an axis": lambda t, h: h.mean(1),
    "pow": lambda t, h: h.pow(2),
    "square": lambda t, h: h.square(),
    "a product with itself": lambda t, h: h * h,
    "std": lambda t, h: h.std(),
    "var": lambda t, h: h.var(1),
    "logsumexp": lambda t, h: h.logsumexp(1),
    "softmax": lambda t, h: h.softmax(1),
    "largest of all": lambda t, h: h.max(),
    "largest of an axis": lambda t, h: h.max(1)[0],
    "sort": lambda t, h: h.sort(1)[0],
    "topk": lambda t, h: h.topk(2, 1)[0],
    "clamp": lambda t, h: h.clamp(0, 1),
    "rsqrt": lambda t, h: h.abs().rsqrt(),
    "gelu": lambda t, h: t.nn.functional.gelu(h),
    "softplus": lambda t, h: t.nn.functional.softplus(h),
    "repeat": lambda t, h: h.repeat(2, 2),
    "new axis": lambda t, h: h[None],
    "max_pool2d": lambda t, h: t.nn.functional.max_pool2d(h.exp()[None], 2),
    "avg_pool2d": lambda t, h: t.nn.functional.avg_pool2d(h.exp()[None], 2),
    "nll_loss": lambda t, h: t.nn.functional.nll_loss(h, t.tensor([1, 0, 2, 1])),
    "batch_norm": lambda t, h: t.nn.BatchNorm1d(6)(h),
    "scatter_add": lambda t, h: h.scatter_add(1, t.tensor([[0], [1]]), h.exp()),
}


def walk(node: Any, depth: int = 0) -> str:
    if node is None:
        return "None"
    name: str = node.name().split("::")[-1]
    if depth == 2:
        return name
    return f"{name}({', '.join(walk(n, depth + 1) for n, _ in node.next_functions)})"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nodes_have_the_names_of_PyTorchs(name: str) -> None:
    shown = []
    for t in (theirs, mine):
        x = t.linspace(-1.3, 1.7, 24).reshape(4, 6).requires_grad_()
        y = FUNCTIONS[name](t, x * 1.5)
        shown.append(walk(y.grad_fn))
    assert shown[1] == shown[0]


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"])
def test_a_loss_is_one_node_before_its_input(name: str) -> None:
    for t in (theirs, mine):
        h = t.linspace(-1.3, 1.7, 24).requires_grad_() * 1.5
        node = getattr(t.nn.functional, name)(h, t.zeros(24)).grad_fn
        parents = [n.name() for n, _ in node.next_functions if n is not None]
        expected = "".join(map(str.capitalize, name.split("_"))) + "Backward0"
        assert [node.name(), *parents] == [expected, "MulBackward0"]


def test_names_and_parents_stay_after_a_sweep() -> None:
    x = mine.ones(3, requires_grad=True)
    y = x.exp().mean()
    before = walk(y.grad_fn)
    y.backward()
    assert walk(y.grad_fn) == before == "MeanBackward0(ExpBackward0(AccumulateGrad))"


def test_a_function_that_gives_its_argument_back_names_nothing() -> None:
    x = mine.ones(3, requires_grad=True)
    y = x.sin()
    assert mine.nn.functional.dropout(y, 0.5, training=False).grad_fn.name() == "SinBackward0"
