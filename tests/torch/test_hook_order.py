"""When hooks are called, in which order, in which mode, and what they see."""

import pytest

from tapegrad import torch


def test_hooks_of_a_leaf_are_called_around_the_step_that_adds_its_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    add = x.view_as(x).grad_fn.next_functions[0][0]
    seen = []
    add.register_hook(lambda given, g: seen.append(("after", x.grad.tolist())))
    add.register_prehook(lambda g: seen.append(("before", x.grad)))

    def tenfold(t):
        t.grad.mul_(10)

    x.register_post_accumulate_grad_hook(tenfold)
    x.register_hook(lambda g: seen.append(("hook", g.tolist())))
    x.sum().backward()
    assert seen == [("hook", [1.0, 1.0]), ("before", None), ("after", [10.0, 10.0])]


def test_grad_calls_the_hooks_of_tensors_and_not_of_steps_that_are_not_taken():
    x = torch.tensor(1.5, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append("y"))
    x.register_hook(lambda g: seen.append("x"))
    y.grad_fn.register_prehook(lambda g: seen.append("before y's step"))
    y.grad_fn.register_hook(lambda given, g: seen.append("after y's step"))
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: seen.append("before x's"))
    torch.autograd.grad(y * 3, y, retain_graph=True)
    assert seen == ["y"]
    seen.clear()
    torch.autograd.grad(y * 3, (x, y), retain_graph=True)
    assert seen == ["y", "before y's step", "after y's step", "x"]
    seen.clear()
    (y * 3).backward(inputs=(y,))
    assert seen == ["y", "before y's step", "after y's step"]


def test_a_hook_after_accumulation_may_write_into_its_leaf():
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def descend(t):
        t.sub_(t.grad)

    x.register_post_accumulate_grad_hook(descend)
    (x * 3).sum().backward()
    assert x.tolist() == [-2.0, -1.0]
    assert x.is_leaf


def test_a_hook_after_accumulation_gives_nothing_back():
    x = torch.tensor([1.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()


def test_a_tensor_that_is_written_to_retains_the_gradient_at_its_new_value():
    x = torch.tensor([1.5], requires_grad=True)
    y = x * 1
    y.retain_grad()
    y.mul_(2)
    y.mul_(5)
    (y * 7).sum().backward()
    assert y.grad.tolist() == [7.0]
    assert x.grad.tolist() == [70.0]


def test_a_base_that_is_written_to_through_a_view_retains_the_gradient_at_its_new_value():
    y = torch.tensor([1.5, 2.0], requires_grad=True) * 1
    y.retain_grad()
    y[:1].mul_(4)
    (y * 7).sum().backward()
    assert y.grad.tolist() == [7.0, 7.0]


def test_a_value_with_a_history_is_not_written_into_a_view_whose_base_cannot_follow():
    value = torch.ones(2, requires_grad=True)
    base = torch.zeros(2, 2)
    with torch.no_grad():
        row = base[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        row.add_(value)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        base.unbind()[1].copy_(value)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        row[:1].mul_(value[:1])
    base[1].copy_(value)
    assert base.requires_grad


def test_anomaly_mode_tells_where_the_step_was_taken_whose_value_was_written_to():
    told = r"(?s)Error detected in PowBackward0\. Traceback of forward call that caused the error:.*z = y\*\*2"
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        y = torch.ones(2, requires_grad=True) + 1
        z = y**2
        y += 1
        total = z.sum()
        with pytest.warns(UserWarning, match=told), pytest.raises(RuntimeError, match="modified by an inplace operation"):
            total.backward()


def test_the_gradient_of_a_leaf_is_there_as_soon_as_it_is_complete():
    first = torch.tensor([1.0, 2.0], requires_grad=True)
    last = torch.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    middle = first * 2
    middle.register_hook(lambda g: seen.append(("middle", last.grad.tolist(), first.grad)))
    last.register_hook(lambda g: seen.append("last"))
    first.register_post_accumulate_grad_hook(lambda t: seen.append(("first", t.grad.tolist())))
    (middle * last).sum().backward()
    assert seen == ["last", ("middle", [2.0, 4.0], None), ("first", [6.0, 8.0])]


def test_a_leaf_asked_for_as_an_edge_too_has_its_hooks_called_once():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    found = torch.autograd.grad(x.sum(), [x, torch.autograd.graph.get_gradient_edge(x)])
    assert [g.tolist() for g in found] == [[2.0, 2.0]] * 2
    assert seen == [[1.0, 1.0]]


def test_pieces_of_one_tensor_are_come_to_in_their_order():
    x = torch.ones(3, 2, requires_grad=True)
    seen = []
    for i, piece in enumerate(x.unbind()):
        piece.register_hook(lambda g, i=i: seen.append(i))
        seen.append(piece.sum())
    total = sum(seen)
    seen.clear()
    total.backward()
    assert seen == [0, 1, 2]


def test_leaves_of_one_step_are_come_to_in_the_order_of_its_arguments():
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    seen = []
    y.register_hook(lambda g: seen.append("y"))
    x.register_hook(lambda g: seen.append("x"))
    z = x - y
    (z.sum() + (y * 2).sum()).backward()
    assert seen == ["x", "y"]
