"""Linear regression by hand-written gradient descent on tensors."""

import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 100).unsqueeze(1)
y = 3 * x - 0.5 + 0.1 * torch.randn(x.size())

w = torch.zeros(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(60):
    loss = ((x.mm(w) + b - y) ** 2).mean()
    loss.backward()
    if epoch % 20 == 0:
        print("epoch %d loss %.5f grad %.5f %.5f" % (epoch, loss.item(), w.grad.item(), b.grad.item()))
    with torch.no_grad():
        w -= 0.3 * w.grad
        b -= 0.3 * b.grad
        w.grad.zero_()
        b.grad.zero_()
print("w", w.data)
print("b", b.data.numpy())
