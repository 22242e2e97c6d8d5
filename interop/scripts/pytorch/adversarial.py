"""Adversarial examples: the fast gradient sign method and projected steps against a small net, and training on them."""

from __future__ import print_function

from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Subset, TensorDataset

epsilons = [0, 0.05, 0.1, 0.2]
use_cuda = True
torch.manual_seed(42)
print("CUDA Available: ", torch.cuda.is_available())
device = torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.features = nn.Sequential(
            OrderedDict(
                [
                    ("conv1", nn.Conv2d(1, 6, 3, 1, 1)),
                    ("relu1", nn.ReLU()),
                    ("conv2", nn.Conv2d(6, 12, 3, 1)),
                    ("relu2", nn.ReLU()),
                    ("pool", nn.MaxPool2d(2)),
                ]
            )
        )
        self.fc1 = nn.Linear(108, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon * sign_data_grad
    return torch.clamp(perturbed_image, 0, 1)


def pgd(model, images, labels, eps=0.1, alpha=0.03, iters=4):
    ori_images = images.data
    for i in range(iters):
        images.requires_grad = True
        outputs = model(images)
        model.zero_grad()
        cost = F.nll_loss(outputs, labels).to(device)
        cost.backward()
        adv_images = images + alpha * images.grad.sign()
        eta = torch.clamp(adv_images - ori_images, min=-eps, max=eps)
        images = torch.clamp(ori_images + eta, min=0, max=1).detach_()
    return images


def test(model, device, test_loader, epsilon):
    correct = 0
    strength = []
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        data.requires_grad = True
        output = model(data)
        init_pred = output.max(1, keepdim=True)[1]
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        data_grad = data.grad.data
        strength.append(data_grad.abs().sum())
        perturbed_data = fgsm_attack(data, epsilon, data_grad)
        output = model(perturbed_data)
        final_pred = output.max(1, keepdim=True)[1]
        correct += final_pred.eq(target.view_as(final_pred)).sum().item()
        assert init_pred.shape == final_pred.shape
    final_acc = correct / float(len(test_loader.dataset))
    print(f"Epsilon: {epsilon}\tTest Accuracy = {correct} / {len(test_loader.dataset)} = {final_acc:.3f}")
    return final_acc, torch.stack(strength).mean()


digits = load_digits()
dataset = TensorDataset(torch.FloatTensor(digits.images / 16).unsqueeze(1), torch.LongTensor(digits.target))
train_loader = DataLoader(Subset(dataset, range(600)), batch_size=50, shuffle=True, pin_memory=torch.cuda.is_available())
test_loader = DataLoader(Subset(dataset, np.arange(600, 700).tolist()), batch_size=50, shuffle=False)
model = Net().to(device)
optimizer = optim.Adam(model.parameters(), lr=0.002)
for epoch in range(2):
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        attacked = pgd(model, data.clone(), target) if epoch == 1 and batch_idx % 4 == 0 else data
        optimizer.zero_grad()
        loss = F.nll_loss(model(attacked), target)
        loss.backward()
        optimizer.step()
        if batch_idx % 6 == 0:
            print("Train Epoch: {} [{}/{}]\tLoss: {:.4f}".format(epoch, batch_idx * len(data), 600, loss.item()))
model.eval()
for eps in epsilons:
    acc, strength = test(model, device, test_loader, eps)
    print("grad strength %.3f" % strength)
print(model)
