"""A convolutional net with batch normalisation on scikit-learn's digits."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn, optim

torch.manual_seed(3)
images, labels = load_digits(return_X_y=True)
images = torch.from_numpy((images / 16).astype(np.float32)).view(-1, 1, 8, 8)
labels = torch.from_numpy(labels).long()

model = nn.Sequential(
    nn.Conv2d(1, 8, kernel_size=3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.LeakyReLU(0.1),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(64, 10),
    nn.LogSoftmax(dim=1),
)
optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
for epoch in range(2):
    order = torch.randperm(1500)
    for i in range(0, 1500, 100):
        batch = order[i : i + 100]
        loss = nn.functional.nll_loss(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 500 == 0:
            print("epoch", epoch, "step", i, "loss %.4f" % loss.item())
first = next(model.parameters())
print("grad of the first kernel: %.5f" % first.grad.abs().sum())
model.eval()
with torch.no_grad():
    out = model(images[1500:])
    _, predicted = torch.max(out, 1)
    print("accuracy: %.3f" % (predicted == labels[1500:]).double().mean().item())
    print("running mean: %.4f" % model[1].running_mean.norm().item())
