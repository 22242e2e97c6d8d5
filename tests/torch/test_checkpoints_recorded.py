"""Checkpoints that record their function and keep nothing of it: what is run again, when, and what is noticed."""

import functools
import gc
import weakref

import pytest

from tapegrad import torch
from tapegrad.torch.utils import checkpoint as ck
from tapegrad.torch.utils.checkpoint import checkpoint


def gradients(f, x, *more):
    xs = (x, *more)
    for p in xs:
        p.grad = None
    f(x).sum().backward()
    return [x.grad.clone() for x in xs]


def test_the_graph_of_a_checkpoint_is_that_of_its_function():
    y = checkpoint(lambda x: x.sin() * 2, torch.ones(3, requires_grad=True), use_reentrant=False)
    assert y.grad_fn.name() == "MulBackward0"
    assert y.grad_fn.next_functions[0][0].name() == "SinBackward0"


@pytest.mark.parametrize(("early", "expected"), [(True, ["a", "b"]), (False, ["a", "b", "c"])])
def test_running_again_stops_once_all_that_was_saved_is_there(early, expected):
    calls = []

    def f(x):
        calls.append("a")
        y = x.sin()
        calls.append("b")
        z = y.exp()
        calls.append("c")
        return z + 1

    with ck.set_checkpoint_early_stop(early):
        y = checkpoint(f, torch.ones(2, requires_grad=True), use_reentrant=False)
    calls.clear()
    y.sum().backward()
    assert calls == expected


def test_checkpoints_in_checkpoints_keep_no_arguments_and_give_the_same_gradients():
    lin = torch.nn.Linear(4, 4)
    x = torch.randn(3, 4, requires_grad=True)
    kept = []

    def inner(a):
        kept.append(weakref.ref(a.array))
        return (lin(a).relu() * a).tanh()

    def outer(a):
        return checkpoint(inner, a.sin(), use_reentrant=False).exp() + checkpoint(inner, a.cos(), use_reentrant=False)

    expected = gradients(outer, x, lin.weight)
    kept.clear()
    y = checkpoint(outer, x, use_reentrant=False)
    gc.collect()
    assert [r() for r in kept] == [None, None]
    x.grad = lin.weight.grad = None
    y.sum().backward()
    assert torch.equal(x.grad, expected[0])
    assert torch.equal(lin.weight.grad, expected[1])


def test_a_checkpoint_is_differentiated_twice():
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)

    def f(a):
        return checkpoint(lambda b: (b.sin() * b.exp()).pow(2), a, use_reentrant=False)

    assert torch.autograd.gradcheck(f, (x,))
    assert torch.autograd.gradgradcheck(f, (x,))


def test_a_function_that_saves_something_else_the_second_time_is_noticed():
    turns = []

    def fewer(x):
        turns.append(1)
        return (x.sin() * x).exp() if len(turns) == 1 else x.sin()

    def other_shape(x):
        turns.append(1)
        return (x[:1] if len(turns) % 2 else x).sin()

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ck.CheckpointError, match=r"different number of tensors[\s\S]*forward: 4\n[\s\S]*recomputation: 1\."):
        checkpoint(fewer, x, use_reentrant=False).sum().backward()
    turns.clear()
    with pytest.raises(ck.CheckpointError, match=r"different metadata[\s\S]*position 0:\nsaved metadata: {'shape': torch.Size\(\[1\]\)"):
        checkpoint(other_shape, x, use_reentrant=False).sum().backward()
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\]"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="some")


def test_an_argument_that_is_written_to_before_it_is_needed_is_noticed():
    a = torch.ones(3, requires_grad=True) * 1
    y = checkpoint(lambda x: x.sin().exp(), a, use_reentrant=False)
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def policy_keeping(*names):
    calls = []

    def policy(ctx, op, *args, **words):
        calls.append((str(op), ctx.is_recompute))
        return ck.CheckpointPolicy.MUST_SAVE if str(op) in names else ck.CheckpointPolicy.PREFER_RECOMPUTE

    return policy, calls


def test_a_policy_says_what_is_not_computed_again():
    lin = torch.nn.Linear(3, 3)
    x = torch.randn(2, 3, requires_grad=True)

    def f(a):
        return torch.mm(lin(a).relu(), lin.weight).sigmoid()

    expected = gradients(f, x, lin.weight, lin.bias)
    policy, calls = policy_keeping("aten.addmm.default", "aten.mm.default")
    y = checkpoint(f, x, use_reentrant=False, context_fn=functools.partial(ck.create_selective_checkpoint_contexts, policy))
    for p in (x, lin.weight, lin.bias):
        p.grad = None
    with torch.autograd.profiler.profile() as prof:
        y.sum().backward()
    counted = [event.key for event in prof.key_averages()]
    assert [p.grad.tolist() for p in (x, lin.weight, lin.bias)] == [g.tolist() for g in expected]
    assert "aten::relu" in counted
    assert "aten::linear" not in counted
    assert "aten::mm" not in counted
    first = ["aten.addmm.default", "aten.relu.default", "aten.mm.default", "aten.sigmoid.default"]
    assert [name for name, again in calls if not again] == first


def test_a_list_of_operators_is_a_policy():
    x = torch.randn(3, 3, requires_grad=True)

    def f(a):
        return torch.sigmoid(a @ a).sin()

    expected = gradients(f, x)
    keeping = functools.partial(ck.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    assert torch.equal(gradients(lambda a: checkpoint(f, a, use_reentrant=False, context_fn=keeping), x)[0], expected[0])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        ck.create_selective_checkpoint_contexts(3)
    with pytest.raises(ValueError, match="OpOverload"):
        ck.create_selective_checkpoint_contexts([torch.ops.aten.mm])


def test_operators_are_called_by_their_names():
    x = torch.ones(2, 2)
    assert torch.ops.aten.mm.default(x, x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert torch.ops.aten.add.Tensor(x, x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert repr(torch.ops.aten.mm.default) == "<OpOverload(op='aten.mm', overload='default')>"
    with pytest.raises(NotImplementedError, match=r"torch\.ops\.aten\.no_such"):
        torch.ops.aten.no_such(x)


def test_modes_see_what_layers_and_losses_call():
    seen = []

    class Looking(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    lin, loss = torch.nn.Linear(3, 3), torch.nn.CrossEntropyLoss()
    x, target = torch.randn(2, 3), torch.tensor([0, 2])
    with Looking():
        loss(lin(x), target)
    assert seen == ["linear", "cross_entropy"]
