"""What a view is to the graph once it, or its base, was written to: hooks, gradients asked for, and what is refused."""

import pytest

from tapegrad import torch


def _pair():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 2
    return x, base, base[:2]


def test_a_hook_that_was_given_before_a_write_does_not_hear_of_what_was_written():
    x, base, view = _pair()
    heard = []
    view.register_hook(lambda g: heard.append(g.tolist()))
    used = view.sum()
    view.mul_(3)
    (base.sum() + 10 * view.sum() + 100 * used).backward()
    assert heard == [[100.0, 100.0]]
    assert x.grad.tolist() == [266.0, 266.0, 2.0]


def test_a_hook_on_a_view_that_was_written_to_hears_of_the_uses_of_the_view_alone():
    x, base, view = _pair()
    view.mul_(3)
    heard = []
    view.register_hook(lambda g: heard.append(("view", g.tolist())))
    base.register_hook(lambda g: heard.append(("base", g.tolist())))
    (base.sum() + 10 * view.sum()).backward()
    assert heard == [("view", [10.0, 10.0]), ("base", [11.0, 11.0, 1.0])]
    assert x.grad.tolist() == [66.0, 66.0, 2.0]


def test_a_hook_is_lost_where_nobody_records_the_write():
    x, base, view = _pair()
    heard = []
    view.register_hook(lambda g: heard.append(g.tolist()))
    with torch.no_grad():
        base.mul_(2)
    view.sum().backward()
    assert not heard
    assert x.grad.tolist() == [2.0, 2.0, 0.0]


def test_a_retained_gradient_is_that_of_the_present_value():
    x, base, view = _pair()
    view.retain_grad()
    base.retain_grad()
    used = view.sum()
    view.mul_(3)
    (base.sum() + 10 * view.sum() + 100 * used).backward()
    assert view.grad.tolist() == [10.0, 10.0]
    assert base.grad.tolist() == [11.0, 11.0, 1.0]
    assert x.grad.tolist() == [266.0, 266.0, 2.0]


def test_what_is_computed_from_a_view_that_was_written_to_is_computed_from_its_base():
    _, base, view = _pair()
    view.mul_(3)
    found = torch.autograd.grad(view.sum(), [base, view])
    assert [g.tolist() for g in found] == [[1.0, 1.0, 0.0], [1.0, 1.0]]


def test_an_edge_taken_before_a_write_gets_nothing_of_what_was_written():
    _, base, view = _pair()
    edge = torch.autograd.graph.get_gradient_edge(view)
    view.mul_(3)
    assert torch.autograd.grad(base.sum(), edge, allow_unused=True) == (None,)


def test_views_of_views_pass_what_was_written_to_the_base_alone():
    x, base, view = _pair()
    inner = view[1:]
    heard = []
    for name, t in (("view before", view), ("inner before", inner)):
        t.register_hook(lambda g, name=name: heard.append(name))
    inner.mul_(3)
    for name, t in (("view", view), ("inner", inner), ("base", base)):
        t.register_hook(lambda g, name=name: heard.append((name, g.tolist())))
    (base.sum() + 10 * view.sum() + 100 * inner.sum()).backward()
    assert sorted(heard) == [("base", [11.0, 111.0, 1.0]), ("inner", [100.0]), ("view", [10.0, 10.0])]
    assert x.grad.tolist() == [22.0, 666.0, 2.0]


def test_a_function_that_writes_into_a_view_passes_its_gradient_by_the_hooks_of_the_view():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            return a.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x, base, view = _pair()
    heard = []
    view.register_hook(lambda g: heard.append("before"))
    assert Double.apply(view) is view
    view.register_hook(lambda g: heard.append(g.tolist()))
    (base.sum() + 10 * view.sum()).backward()
    assert heard == [[10.0, 10.0]]
    assert x.grad.tolist() == [44.0, 44.0, 2.0]


def test_a_view_that_is_a_leaf_stays_one_and_is_not_written_to():
    base = torch.zeros(3)
    view = base[:2].requires_grad_()
    base.add_(1)
    assert view.is_leaf
    assert view.requires_grad
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad"):
        view.add_(1)
    (view * view).sum().backward()
    assert view.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("quietly", [True, False])
def test_one_of_several_views_is_refused_once_its_base_was_written_to(quietly):
    _, base, _ = _pair()
    first = base.unbind()[0]
    with torch.set_grad_enabled(not quietly):
        base.mul_(2)
    text = "Output 0 of Unbind is a view and its base or another view of its base has been modified inplace"
    for use in (lambda: first + 1, lambda: first.grad_fn, lambda: first.register_hook(print), lambda: first.is_leaf, first.backward):
        with pytest.raises(RuntimeError, match=text):
            use()
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        first.mul_(2)
    assert str(first) == "tensor(4., grad_fn=<Invalid>)"
    assert first.item() == first.detach().item() == 4
    with torch.no_grad():
        assert (first + 1).item() == 5


def test_what_a_function_gave_of_its_input_is_refused_once_that_was_written_to():
    class Head(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a[:2]

        @staticmethod
        def backward(ctx, g):
            return torch.cat([7 * g, g[:1] * 0])

    x, base, _ = _pair()
    head = Head.apply(base)
    head.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [14.0, 14.0, 0.0]
    base.mul_(2)
    with pytest.raises(RuntimeError, match=r"Output 0 of Head is a view and its base .* inside a custom Function"):
        head + 1
    assert head.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_that_nobody_recorded_is_refused_once_its_base_was_written_to(mode):
    _, base, _ = _pair()
    with mode():
        view = base[:2]
    assert (view + 1).tolist() == [3.0, 5.0]
    base.mul_(2)
    name = mode.__name__.replace("inference_mode", "inference mode").replace("no_grad", "no_grad mode")
    with pytest.raises(RuntimeError, match=f"A view was created in {name} and its base or another view"):
        view + 1
    with mode():
        assert (view + 1).tolist() == [5.0, 9.0]
    with pytest.raises(RuntimeError, match=f"A view was created in {name} and is being modified inplace"):
        view.mul_(2)


def test_a_view_of_a_view_that_nobody_recorded_is_not_written_to():
    _, base, _ = _pair()
    with torch.no_grad():
        view = base[:2]
    with pytest.raises(RuntimeError, match="Output 0 of Slice is a view of a view which was created in no_grad mode"):
        view[:1].mul_(2)


def test_a_function_that_says_what_it_wrote_into_counts_as_a_write_of_its_own():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            return a.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = torch.ones(3)
    Double.apply(x)
    assert x._version == 2
    leaf = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad"):
        Double.apply(leaf[:2])


def test_a_result_that_has_to_change_its_shape_is_written_once():
    out = torch.empty(0)
    torch.mul(torch.ones(2), 3, out=out)
    assert out.tolist() == [3.0, 3.0]
    assert out._version == 1


def test_what_is_reshaped_tells_whether_it_was_copied():
    x = torch.ones(3, 4, requires_grad=True)
    assert x.reshape(-1).grad_fn.name() == "ViewBackward0"
    assert x[:, :2].reshape(-1).grad_fn.name() == "UnsafeViewBackward0"
    assert x[:, 0].reshape(3, 1).grad_fn.name() == "ReshapeAliasBackward0"


def test_a_value_that_does_not_fit_is_refused_before_the_place():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"expand\(torch.FloatTensor\{\[2\]\}, size=\[\]\): the number of sizes provided \(0\)"):
        x[0] = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"chunk expects at least a 1-dimensional tensor"):
        x[0].chunk(2)
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor"):
        x[0][:1]


def test_a_hook_does_not_hear_of_what_overwrites_its_value():
    x, base, view = _pair()
    heard = []
    view.register_hook(lambda g: heard.append(g.tolist()))
    view.copy_(torch.zeros(2))
    base.sum().backward()
    assert not heard
    assert x.grad.tolist() == [0.0, 0.0, 2.0]


def test_a_write_through_data_leaves_the_graph_of_views_alone():
    x, base, view = _pair()
    piece = base.unbind()[0]
    heard = []
    view.register_hook(lambda g: heard.append(g.tolist()))
    base.data.mul_(3)
    assert view.tolist() == [6.0, 12.0]
    assert piece.item() == 6.0
    (view.sum() + piece).backward()
    assert heard == [[1.0, 1.0]]
    assert x.grad.tolist() == [4.0, 2.0, 0.0]
