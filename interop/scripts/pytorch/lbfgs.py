"""LBFGS with a closure: the Rosenbrock function, then logistic regression in float64."""

import torch
from sklearn.datasets import load_digits

x = torch.tensor([-1.2, 1.0, -0.5, 0.8], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.LBFGS([x], lr=1, max_iter=20, line_search_fn="strong_wolfe")


def rosenbrock(v):
    return (100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).sum()


def closure():
    optimizer.zero_grad()
    loss = rosenbrock(x)
    loss.backward()
    return loss


for i in range(4):
    loss = optimizer.step(closure)
    print("%d: %.8f grad %.6f" % (i, loss.item(), x.grad.abs().max().item()))
print(x.detach())

data, target = load_digits(n_class=2, return_X_y=True)
data = torch.as_tensor(data / 16)
target = torch.as_tensor(target, dtype=torch.float64)
w = torch.zeros(64, dtype=torch.float64, requires_grad=True)
b = torch.zeros((), dtype=torch.float64, requires_grad=True)
second = torch.optim.LBFGS([w, b], history_size=5, max_iter=8)


def logistic():
    second.zero_grad()
    z = data @ w + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, target) + 1e-3 * w.dot(w)
    loss.backward()
    return loss


for i in range(3):
    print("logistic %.7f" % second.step(logistic).item())
print("w %.6f" % w.norm().item(), "grad %.7f" % w.grad.norm().item())
