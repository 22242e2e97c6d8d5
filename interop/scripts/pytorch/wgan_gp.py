"""WGAN with gradient penalty: a gradient of a gradient through a critic."""

import torch
from torch import autograd, nn, optim

torch.manual_seed(4)
critic = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 32), nn.Softplus(), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(True), nn.Linear(32, 2))


def gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1).expand(real.size())
    mixed = autograd.Variable(alpha * real + (1 - alpha) * fake, requires_grad=True)
    out = critic(mixed)
    slopes = autograd.grad(
        outputs=out,
        inputs=mixed,
        grad_outputs=torch.ones(out.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((slopes.norm(2, dim=1) - 1) ** 2).mean()


c_optim = optim.RMSprop(critic.parameters(), lr=1e-3)
g_optim = optim.RMSprop(generator.parameters(), lr=1e-3)
for step in range(15):
    for p in critic.parameters():
        p.requires_grad = True
    for _ in range(3):
        angle = torch.rand(32) * 6.2831853
        real = torch.stack([angle.cos(), angle.sin()], 1)
        with torch.no_grad():
            noise = torch.randn(32, 2)
        fake = generator(noise).data
        critic.zero_grad()
        penalty = gradient_penalty(real, fake)
        cost = critic(fake).mean() - critic(real).mean() + 10 * penalty
        cost.backward()
        c_optim.step()
    for p in critic.parameters():
        p.requires_grad = False
    generator.zero_grad()
    g_cost = -critic(generator(torch.randn(32, 2))).mean()
    g_cost.backward()
    g_optim.step()
    if step % 5 == 0:
        print(f"{step}: critic {cost.item():.4f} penalty {penalty.item():.4f} generator {g_cost.item():.4f}")
print("grad norms", *("%.5f" % p.grad.norm().item() for p in critic.parameters()))
