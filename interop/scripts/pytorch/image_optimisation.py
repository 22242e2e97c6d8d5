"""Style-like optimisation of an image: the image is the only parameter, features come from a fixed net."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Variable

torch.manual_seed(8)
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 12, 3), nn.ReLU())
for p in features.parameters():
    p.requires_grad_(False)


def gram(x):
    n, c, h, w = x.size()
    flat = x.view(n * c, h * w)
    return torch.mm(flat, flat.t()).div(n * c * h * w)


content, style = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
wanted_content, wanted_style = features(content).detach(), gram(features(style)).detach()
image = Variable(content.data.clone(), requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.05)
for i in range(25):
    image.data.clamp_(0, 1)
    optimizer.zero_grad()
    y = features(image)
    smooth = (image[:, :, 1:] - image[:, :, :-1]).abs().mean() + (image[..., 1:] - image[..., :-1]).abs().mean()
    loss = F.mse_loss(y, wanted_content) + 100 * F.mse_loss(gram(y), wanted_style) + 0.01 * smooth
    loss.backward()
    optimizer.step()
    if i % 8 == 0:
        print("%d: %.6f grad %.6f" % (i, loss.item(), image.grad.norm()))
print("image: %.5f" % image.mean().item(), tuple(image.shape))
print("up: %.5f" % F.interpolate(image, scale_factor=2, mode="bilinear", align_corners=False).std().item())
