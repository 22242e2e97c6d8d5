"""A physics-informed net: u'' + u = 0 with u(0) = 0, u'(0) = 1, by second derivatives of the net."""

import torch
from torch import nn

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
for m in net:
    if isinstance(m, nn.Linear):
        nn.init.xavier_normal_(m.weight)
        nn.init.zeros_(m.bias)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


t = torch.linspace(0, 3, 40).reshape(-1, 1).requires_grad_(True)
zero = torch.zeros(1, 1, requires_grad=True)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(60):
    u = net(t)
    du = derivative(u, t)
    residual = derivative(du, t) + u
    u0 = net(zero)
    loss = residual.pow(2).mean() + u0.pow(2).sum() + (derivative(u0, zero) - 1).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "loss", "%.6f" % loss.item())
print("error: %.5f" % (net(t) - torch.sin(t)).abs().max().item())
print("gradient:", " ".join("%.6f" % p.grad.norm() for p in net.parameters()))
