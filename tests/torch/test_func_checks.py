"""What `torch.func` does with modes, with views that leave a transform, and with arguments that do not fit."""

import pytest

from tapegrad import torch
from tapegrad.torch import func


def test_no_grad_inside_a_function_cuts_its_gradient():
    def f(x):
        with torch.no_grad():
            constant = x**3
        return x**2 - constant

    assert func.grad(f)(torch.tensor(1.5)).item() == 3.0
    assert func.grad(func.grad(f))(torch.tensor(1.5)).item() == 2.0
    assert func.jacrev(f)(torch.tensor(1.5)).item() == 3.0
    _, pull = func.vjp(f, torch.tensor(1.5))
    assert pull(torch.tensor(1.0))[0].item() == 3.0


def test_no_grad_inside_a_function_cuts_the_graph_around_it_too():
    x = torch.tensor(1.5, requires_grad=True)

    def f(x):
        with torch.no_grad():
            constant = func.grad(lambda x: x**3)(x)
        return x**3 - constant

    slope = func.grad(f)(x)
    assert slope.item() == 6.75
    assert torch.autograd.grad(slope, x)[0].item() == 9.0


def test_recording_goes_on_after_no_grad_and_inside_enable_grad():
    def f(x):
        with torch.no_grad():
            with torch.enable_grad():
                y = x**2
            constant = x * 5
        return y + 3 * x + constant

    assert func.grad(f)(torch.tensor(2.0)).item() == 7.0

    @torch.no_grad()
    def constant(x):
        return x * 5

    assert func.grad(lambda x: x**2 + constant(x))(torch.tensor(2.0)).item() == 4.0


def test_a_transform_inside_no_grad_differentiates():
    with torch.no_grad():
        assert func.grad(lambda x: x**2)(torch.tensor(2.0)).item() == 4.0


def test_no_grad_leaves_forward_mode_alone():
    def f(x):
        with torch.no_grad():
            return x**2

    assert func.jvp(f, (torch.tensor(2.0),), (torch.tensor(1.0),))[1].item() == 4.0


def test_a_view_of_what_was_written_to_leaves_a_transform_with_its_tangent():
    def f(x):
        y = torch.zeros(2, 3)
        first = y[0]
        y.copy_(x)
        return first

    x = torch.arange(6.0).reshape(2, 3)
    value, tangent = func.jvp(f, (x,), (2 * x,))
    assert value.tolist() == [0.0, 1.0, 2.0]
    assert tangent.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (func.grad(torch.sin, argnums=[0]), "argnums must be int or Tuple"),
        (lambda x: func.grad(torch.mul, argnums=(0, -2))(x, x), "must be unique"),
        (func.jacrev(torch.sin, argnums=()), "must be non-empty"),
        (func.jacfwd(torch.sin, argnums=2), "Got argnum=2, but only 1 positional inputs"),
        (func.grad(lambda x: (x, "word"), has_aux=True), "Expected tensors, got unsupported type"),
        (lambda x: func.vjp(lambda x: [x, x], x, has_aux=True), "should be a tuple: .output, aux."),
        (lambda x: func.vjp(lambda x: (x, 1.0), x), "return only tensors, got unsupported type"),
        (lambda x: func.vjp(lambda x: x.long(), x), "floating-point or complex Tensors"),
        (lambda x: func.vjp(torch.sin, x)[1]((x, x)), "structure of cotangents"),
        (func.jacrev(lambda x: ()), "non-empty output"),
        (lambda x: func.jvp(torch.sin, (), ()), "at least one Tensor"),
        (lambda x: func.jvp(torch.sin, (x,), (x, x)), "same python structure"),
        (lambda x: func.jvp(torch.sin, (x,), (1.0,)), "only contain Tensors"),
        (lambda x: func.jvp(lambda x: torch.ones(2), (x,), (x,), strict=True), "independent of the inputs"),
        (lambda x: func.jacrev(torch.sin)(x.to(torch.complex64)), "jacrev: Expected all inputs to be real"),
        (func.jacfwd(lambda x: x * 1j), "jacfwd: Expected all outputs to be real"),
        (lambda x: func.vmap(lambda x: x.nonzero())(x.reshape(1)), "vmap: "),
    ],
)
def test_what_does_not_fit_is_a_runtime_error(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.tensor(0.5))


def test_a_tensor_is_shown_inside_vmap():
    seen = []

    def f(x):
        seen.append(repr(x))
        return x

    func.vmap(f)(torch.arange(4.0).reshape(2, 2))
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1.],\n            [2., 3.]])\n)"]


class Looking(torch.autograd.Function):
    """A step whose derivative looks at its values."""

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return 2 * g if g.abs().max().item() > 0 else g


def test_a_jacobian_row_by_row_runs_what_looks_at_values():
    x = torch.tensor([0.5, 2.0])
    assert torch.autograd.functional.jacobian(Looking.apply, x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert func.jacrev(Looking.apply, chunk_size=1)(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(RuntimeError, match="item"):
        torch.autograd.functional.jacobian(Looking.apply, x, vectorize=True)
