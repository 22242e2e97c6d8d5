"""What a graph looks like from `grad_fn`: the names of nodes and of those that they pass gradients to, next to PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tapegrad import torch as mine
from tests.torch import graph_calls

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


def shown(t: Any, call: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = eval(call, graph_calls.names(t)).grad_fn
    return f"{plain(node)}({', '.join(plain(n) for n, _ in node.next_functions)})"


def plain(node: Any) -> str:
    return "None" if node is None else repr(node).split(" object at ")[0].strip("<")


@pytest.mark.parametrize("call", graph_calls.calls())
def test_a_call_is_shown_as_PyTorch_shows_it(call: str) -> None:
    assert shown(mine, call) == shown(theirs, call)


@pytest.mark.parametrize(
    "call",
    [
        "nn.Linear(6, 3)(h)",
        "nn.Linear(4, 3)(b)",
        "nn.Linear(4, 3, bias=False)(b)",
        "t.matmul(b, b2)",
        "b @ u",
        "h[0, 1]",
        "h[1:, None, 2]",
        "2 / h",
        "F.cross_entropy(h, cls)",
        "F.cross_entropy(h, tgt)",
        "F.l1_loss(h, h2)",
        "F.normalize(h)",
        "t.logdet(spd)",
        "F.mse_loss(h, tgt)",
        "t.addcmul(h, h2, h)",
        "h + dbl",
        "F.max_pool1d(seq, 2)",
    ],
)
def test_steps_that_are_one_op_here_are_shown_apart(call: str) -> None:
    trees = []
    for t in (theirs, mine):
        node = eval(call, graph_calls.names(t)).grad_fn
        trees.append(walk(node))
        left = [node]
        while left:
            n = left.pop()
            assert n.metadata == {}
            left += [c for c, _ in n.next_functions if c is not None]
    assert trees[1] == trees[0]


def test_a_weight_is_found_from_the_output_through_steps_in_between() -> None:
    for t in (theirs, mine):
        layer = t.nn.Linear(6, 3)
        node = layer(t.ones(2, 4, 6)).sum().grad_fn
        found, left = [], [node]
        while left:
            n = left.pop()
            if hasattr(n, "variable"):
                found.append(n.variable)
            left += [c for c, _ in n.next_functions if c is not None]
        assert {id(v) for v in found} == {id(layer.weight), id(layer.bias)}


def test_a_step_in_between_is_the_same_object_as_long_as_it_is_held() -> None:
    node = mine.nn.Linear(6, 3)(mine.ones(2, 6)).grad_fn
    turned = node.next_functions[2][0]
    assert turned.name() == "TBackward0"
    assert node.next_functions[2][0] is turned
    assert node.next_functions[2][0] == turned
    assert turned.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_the_node_of_a_function_outlives_its_output() -> None:
    for t in (theirs, mine):

        class Scaled(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor, other):
                return x * factor + other

            @staticmethod
            def backward(ctx, g):
                return g, None, g

        x = t.ones(3, requires_grad=True)
        node = Scaled.apply(x, 2.0, t.ones(3)).grad_fn
        assert node.name() == "ScaledBackward"
        assert [plain(n) for n, _ in node.next_functions] == ["AccumulateGrad", "None"]


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


@pytest.mark.parametrize(
    "call",
    [
        "F.pad(h, (1, 1), value=3.0)",
        "F.pad(input=img, pad=(1, 1, 1, 1), mode='reflect')",
        "F.cross_entropy(input=h, target=cls)",
        "F.cross_entropy(h, target=tgt, reduction='sum')",
        "F.adaptive_avg_pool2d(img, output_size=1)",
        "F.adaptive_avg_pool2d(input=img, output_size=(2, 2))",
        "F.interpolate(input=img, size=3, mode='bilinear')",
        "F.interpolate(img, 3, None, 'bicubic')",
        "t.clamp(input=h, min=0)",
        "h.clamp(min=h2)",
        "t.lerp(input=h, end=h2, weight=0.3)",
        "t.lerp(h, h2, weight=h)",
        "h.scatter(dim=1, index=gi, src=h2)",
        "h.scatter(1, gi, value=1.0)",
        "h.scatter(1, gi, h2, reduce='add')",
        "t.diag(input=h)",
        "F.mse_loss(input=h, target=h2)",
        "t.mean(input=h, dim=1)",
    ],
)
def test_arguments_may_be_given_by_name(call: str) -> None:
    assert shown(mine, call) == shown(theirs, call)


def test_filling_in_place_takes_its_value_by_name() -> None:
    x = mine.ones(2, requires_grad=True) * 2
    assert x.fill_(value=3.0).tolist() == [3.0, 3.0]
    assert x.grad_fn.name() == "FillBackward2"


def test_nodes_are_shown_as_before_when_their_values_are_gone() -> None:
    a, v, b = (mine.ones(*shape, requires_grad=True) for shape in [(3, 3), (3,), (2, 3, 3)])
    made = [
        x
        for _ in range(2)  # what is kept of the first must not stand for the second
        for x in (a @ a, a @ v, v @ v, b @ b, a @ b, b @ v, a.max(), a.max(1).values, a**2, a**a, a % 2, a % a, mine.nn.Linear(3, 1)(b))
    ]
    shown = [repr(x.grad_fn).partition(" ")[0] for x in made]
    sum(x.sum() for x in made).backward()
    assert [repr(x.grad_fn).partition(" ")[0] for x in made] == shown
    assert len(set(shown)) > 8
