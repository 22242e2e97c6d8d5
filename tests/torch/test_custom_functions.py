import pytest

from tapegrad import torch
from tapegrad.torch.autograd import Function, forward_ad


class Scaled(Function):
    """A number, a tensor and a word in, and out."""

    @staticmethod
    def forward(ctx, word, x, factor):
        ctx.factor = factor
        return factor, x * factor, word

    @staticmethod
    def backward(ctx, *gs):
        ctx.seen = gs
        return None, gs[1] * ctx.factor, None


def test_backward_is_given_none_for_outputs_that_are_no_tensors():
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    _, y, word = Scaled.apply("half", x, 0.5)
    assert word == "half"
    node = y.grad_fn
    y.sum().backward()
    assert [g is None for g in node.seen] == [True, False, True]
    assert x.grad.tolist() == [0.5, 0.5]


class Product(Function):
    @staticmethod
    def forward(ctx, times, x, y):
        ctx.times = times
        ctx.save_for_forward(x, y)
        return times * x * y

    @staticmethod
    def jvp(ctx, times, dx, dy):
        assert times is None
        x, y = ctx.saved_tensors
        return ctx.times * (dx * y + x * dy)


def test_jvp_is_given_zeros_for_a_tensor_without_a_tangent_and_none_for_a_number():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor(1.5), torch.tensor(2.0))
        y = Product.apply(3, x, torch.tensor(-0.5))
        assert forward_ad.unpack_dual(y).tangent.item() == -3.0
        assert not y.requires_grad


class Doubled(Function):
    @staticmethod
    def forward(ctx, x, honest=True):
        ctx.honest = honest
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t, _):
        return t.mul_(2) if ctx.honest else 2 * t


def test_a_write_into_an_argument_has_a_tangent():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 3.0]), torch.tensor([0.5, 0.25])).clone()
        y = Doubled.apply(x, True)
        assert y is x
        primal, tangent = forward_ad.unpack_dual(y)
        assert primal.tolist() == [2.0, 6.0]
        assert tangent.tolist() == [1.0, 0.5]


def test_the_jvp_of_a_write_has_to_write():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0]), torch.tensor([0.5])).clone()
        with pytest.raises(RuntimeError, match="jvp function must modify the corresponding gradient inplace"):
            Doubled.apply(x, False)


def test_a_tangent_for_an_output_that_can_have_none_is_refused():
    class Rounded(Function):
        @staticmethod
        def forward(ctx, x):
            whole = x.round()
            ctx.mark_non_differentiable(whole)
            return x - whole, whole

        @staticmethod
        def jvp(ctx, t):
            return t, t

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.25]), torch.tensor([1.0]))
        with pytest.raises(RuntimeError, match="You should return None at that position"):
            Rounded.apply(x)


def test_setup_context_is_given_the_defaults_of_forward():
    class Power(Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = torch.tensor(2.0, requires_grad=True)
    Power.apply(x).backward()
    assert x.grad.item() == 12.0


def _function(forward):
    class Shown(Function):
        @staticmethod
        def backward(ctx, *gs):
            return gs[0]

    Shown.forward = staticmethod(forward)
    return Shown.apply


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda ctx, x: x, "Output 0 of Shown is a view .* created inside a custom Function"),
        (lambda ctx, x: x[:2], "Output 0 of Shown is a view .* created inside a custom Function"),
        (lambda ctx, x: (x[:2], x + 1), "Output 0 of Shown is a view .* function that returns multiple views"),
    ],
    ids=["the argument", "a view", "a view and another"],
)
def test_a_view_that_a_function_gives_is_not_written_to(forward, message):
    y = _function(forward)(torch.ones(3, requires_grad=True).clone())
    y = y[0] if isinstance(y, tuple) else y
    with pytest.raises(RuntimeError, match=message):
        y.add_(1)
    with pytest.raises(RuntimeError, match=message.replace("Shown", "Select")):  # the view that is written to
        y[0] = 1.0


def test_a_new_tensor_that_a_function_gives_is_written_to():
    x = torch.ones(3, requires_grad=True)
    y = _function(lambda ctx, x: 2 * x)(x)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_a_write_into_a_view_along_with_other_outputs_is_refused():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1), x * 2

    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view of another Tensor"):
        _function(forward)(torch.ones(3, requires_grad=True).clone()[:2])


def test_marking_what_is_no_argument_as_dirty_warns():
    def forward(ctx, x):
        y = 3 * x
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        _function(forward)(torch.ones(2, requires_grad=True))


def test_an_output_of_several_is_named_by_its_number():
    _, second = torch.ones(2, requires_grad=True).clone().unbind()
    with pytest.raises(RuntimeError, match="Output 1 of"):
        second.add_(1)


class Guarded(Function):
    """A step whose derivative is left out where nobody needs it."""

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return (g * w if ctx.needs_input_grad[0] else None), (g * x if ctx.needs_input_grad[1] else None)


def test_what_a_transform_differentiates_by_needs_a_gradient():
    x, w = torch.tensor(2.0), torch.tensor(3.0)
    assert torch.func.grad(Guarded.apply)(x, w).item() == 3.0
    assert torch.func.grad(Guarded.apply, argnums=1)(x, w).item() == 2.0
    assert torch.func.jacrev(Guarded.apply)(x, w).item() == 3.0
    assert torch.func.grad(lambda x: torch.func.grad(Guarded.apply)(x, x) * x)(x).item() == 4.0


@pytest.mark.parametrize(
    ("rule", "generate", "message"),
    [
        (lambda info, in_dims, x: x, False, "have two returns.*Got a"),
        (lambda info, in_dims, x: (x, 0, 0), False, "have two returns.*Got 3 returns"),
        (lambda info, in_dims, x: (x, 0), True, "both generate_vmap_rule=True and an overridden vmap"),
    ],
)
def test_a_rule_for_batches_that_is_none_is_refused(rule, generate, message):
    class Same(Function):
        generate_vmap_rule = generate
        vmap = staticmethod(rule)

        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    with pytest.raises(RuntimeError, match=message):
        torch.func.vmap(Same.apply)(torch.ones(2))


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: torch.func.grad(lambda x: f(x).sum()),
        torch.func.jacrev,
        torch.func.jacfwd,
        torch.func.vmap,
        lambda f: lambda x: torch.func.jvp(f, (x,), (x,)),
        lambda f: lambda x: torch.func.vjp(f, x),
    ],
    ids=["grad", "jacrev", "jacfwd", "vmap", "jvp", "vjp"],
)
def test_a_function_without_setup_context_is_refused_inside_transforms(transformed):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        transformed(Twice.apply)(torch.ones(3))
    assert Twice.apply(torch.ones(3)).tolist() == [2.0] * 3
