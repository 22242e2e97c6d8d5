"""autograd.Function in both styles, checked by gradcheck, and used in a net with a straight-through estimator."""

import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Scaled(Function):
    @staticmethod
    def forward(x, factor):
        return x * factor, x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, factor = inputs
        ctx.factor = factor
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.factor, None


class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        return g.clone()


torch.manual_seed(0)
x = torch.randn(5, dtype=torch.double, requires_grad=True)
print("gradcheck:", gradcheck(LegendrePolynomial3.apply, (x,)), gradgradcheck(LegendrePolynomial3.apply, (x,)))
y, sign = Scaled.apply(x, 2.5)
print("sign needs grad:", sign.requires_grad, "scaled:", y.requires_grad, type(y.grad_fn).__name__)
y.sum().backward()
print("grad", x.grad)

a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
t = torch.linspace(-3.14159, 3.14159, 200)
for i in range(200):
    prediction = a + b * LegendrePolynomial3.apply(c + d * t)
    loss = (prediction - torch.sin(t)).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
    if i % 50 == 0:
        print(i, round(loss.item(), 4))
torch.manual_seed(1)
w = torch.randn(4, 3, requires_grad=True)
out = Binarize.apply(torch.randn(6, 4) @ w).mean()
out.backward()
print("straight through: %.4f grad %.5f" % (out.item(), w.grad.sum().item()))
