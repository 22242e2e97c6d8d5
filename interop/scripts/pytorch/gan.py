"""A GAN of one-dimensional samples, with two optimisers and detached fakes."""

import torch
import torch.nn as nn

torch.manual_seed(2)
generator = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
discriminator = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())


def weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.01)


generator.apply(weights)
discriminator.apply(weights)
loss = nn.BCELoss()
g_optim = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
d_optim = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(60):
    real = torch.randn(64, 1) * 0.5 + 4
    fake = generator(torch.randn(64, 4))
    d_optim.zero_grad()
    d_loss = loss(discriminator(real), ones) + loss(discriminator(fake.detach()), zeros)
    d_loss.backward()
    d_optim.step()

    g_optim.zero_grad()
    g_loss = loss(discriminator(fake), ones)
    g_loss.backward()
    g_optim.step()
    if step % 20 == 0:
        print("step %3d  D %.4f  G %.4f" % (step, d_loss.item(), g_loss.item()))
print("mean of fakes %.4f" % generator(torch.randn(200, 4)).mean().item())
print("grad %.6f" % generator[0].weight.grad.abs().mean().item())
