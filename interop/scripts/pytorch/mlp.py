"""A small classifier on two spirals: nn.Module, DataLoader, Adam, a scheduler, state_dict saved and loaded."""

import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)
        self.drop = nn.Dropout(p=0.1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.drop(torch.tanh(self.fc2(x)))
        return self.out(x)


def spirals(n):
    t = torch.rand(n) * 3 * math.pi
    label = torch.randint(0, 2, (n,))
    angle = t + label * math.pi
    points = torch.stack([t * torch.cos(angle), t * torch.sin(angle)], dim=1) / 6
    return points + 0.02 * torch.randn(n, 2), label


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = TensorDataset(*spirals(400))
train, test = random_split(data, [320, 80])
loader = DataLoader(train, batch_size=32, shuffle=True)
net = Net().to(device)
print(net)
print("parameters:", sum(p.numel() for p in net.parameters() if p.requires_grad))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    net.train()
    total = 0.0
    for points, labels in loader:
        points, labels = points.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(net(points), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(points)
    scheduler.step()
    print(f"epoch {epoch}: loss {total / len(train):.4f} lr {optimizer.param_groups[0]['lr']:.5f}")

net.eval()
with torch.no_grad():
    points, labels = zip(*test)
    predicted = net(torch.stack(points)).argmax(dim=1)
    correct = (predicted == torch.stack(labels)).float().mean()
print("accuracy: {:.3f}".format(correct))
buffer = io.BytesIO()
torch.save(net.state_dict(), buffer)
buffer.seek(0)
again = Net()
again.load_state_dict(torch.load(buffer))
print("same:", all(torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters())))
for name, p in net.named_parameters():
    print(f"grad {name}: {p.grad.norm():.5f}")
