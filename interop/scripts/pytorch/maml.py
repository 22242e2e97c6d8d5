"""MAML on sinusoids: an inner step with create_graph, an outer step through it."""

import math

import torch

torch.manual_seed(9)


def net(x, params):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1 + b1) @ w2 + b2


params = [
    (torch.randn(1, 20)).requires_grad_(),
    torch.zeros(20, requires_grad=True),
    (torch.randn(20, 1) / math.sqrt(20)).requires_grad_(),
    torch.zeros(1, requires_grad=True),
]
meta = torch.optim.SGD(params, lr=0.02)
for step in range(20):
    meta.zero_grad()
    total = 0.0
    for _ in range(4):
        amplitude, phase = torch.rand(1) * 4.9 + 0.1, torch.rand(1) * math.pi
        x = torch.rand(20, 1) * 10 - 5
        y = amplitude * torch.sin(x + phase)
        inner = ((net(x[:10], params) - y[:10]) ** 2).mean()
        grads = torch.autograd.grad(inner, params, create_graph=True)
        fast = [p - 0.01 * g for p, g in zip(params, grads)]
        outer = ((net(x[10:], fast) - y[10:]) ** 2).mean() / 4
        outer.backward()
        total += outer.item()
    torch.nn.utils.clip_grad_value_(params, 1.0)
    meta.step()
    if step % 5 == 0:
        print(f"step {step}: {total:.4f}", "grad", [round(p.grad.norm().item(), 4) for p in params])
