"""A siamese net with a contrastive loss on pairs of digits; a checkpoint is saved, loaded and goes on training."""

import os
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.autograd import Variable
from torch.utils.data import DataLoader, Dataset, random_split

seed = 11
random.seed(seed)
np.random.seed(seed)
torch.manual_seed(seed)
if torch.cuda.is_available():
    torch.cuda.manual_seed_all(seed)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False


class SiameseDataset(Dataset):
    def __init__(self, n=240):
        digits = load_digits()
        self.data, self.target = digits.data[:n] / 16.0, digits.target[:n]

    def __getitem__(self, index):
        should_get_same_class = random.randint(0, 1)
        while True:
            other = random.randrange(len(self.target))
            if (self.target[other] == self.target[index]) == bool(should_get_same_class):
                break
        label = np.array([int(self.target[other] != self.target[index])], dtype=np.float32)
        return self.data[index].reshape(1, 8, 8), self.data[other].reshape(1, 8, 8), torch.from_numpy(label)

    def __len__(self):
        return len(self.target)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(1, 4, kernel_size=3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(4),
            nn.ReflectionPad2d(1),
            nn.Conv2d(4, 8, kernel_size=3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(8),
            nn.Dropout2d(p=0.0),
        )
        self.fc = nn.Sequential(nn.Linear(8 * 8 * 8, 32), nn.ReLU(inplace=True), nn.Linear(32, 5))
        self.apply(self.weights_init)

    @staticmethod
    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.kaiming_normal_(m.weight.data, mode="fan_out", nonlinearity="relu")
        elif classname.find("Linear") != -1:
            m.weight.data.normal_(0.0, 0.05)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.cnn(x)
        output = output.view(output.size()[0], -1)
        return self.fc(output)

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean(
            (1 - label) * torch.pow(euclidean_distance, 2)
            + (label) * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2)
        )


train, test = random_split(SiameseDataset(), [200, 40], generator=torch.Generator().manual_seed(seed))
net = SiameseNetwork()
criterion = ContrastiveLoss()
optimizer = optim.Adam(net.parameters(), lr=0.0005, weight_decay=1e-4)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)


def run_epoch(epoch):
    net.train()
    for i, (img0, img1, label) in enumerate(DataLoader(train, shuffle=True, batch_size=25), 0):
        img0, img1, label = Variable(img0.float()), Variable(img1.float()), Variable(label)
        output1, output2 = net(img0, img1)
        loss = criterion(output1, output2, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 4 == 0:
            print("Epoch number {}\n Current loss {:.4f}".format(epoch, loss.data.item()))
    scheduler.step()


run_epoch(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pth.tar")
    torch.save(
        {"epoch": 1, "state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path
    )
    checkpoint = torch.load(path, map_location="cpu")
net.load_state_dict(checkpoint["state_dict"])
optimizer.load_state_dict(checkpoint["optimizer"])
scheduler.load_state_dict(checkpoint["scheduler"])
run_epoch(checkpoint["epoch"])
print("rates", [group["lr"] for group in optimizer.param_groups], sorted(checkpoint))
print("grad of the last layer %.5f" % net.fc[-1].weight.grad.norm().item())

net.eval()
with torch.no_grad():
    distances = {0: [], 1: []}
    for a, b, label in DataLoader(test, batch_size=1):
        out = net(a.float(), b.float())
        distances[int(label)].append(F.pairwise_distance(*out).item())
print({k: round(float(np.mean(v)), 3) for k, v in distances.items()})
