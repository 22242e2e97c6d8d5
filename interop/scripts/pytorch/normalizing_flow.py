"""RealNVP on two moons: coupling layers with buffers as masks, a base distribution, exact likelihoods, samples."""

import numpy as np
import torch
import torch.nn as nn
from sklearn import datasets
from torch import distributions
from torch.nn.parameter import Parameter


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize, 1))
        return self.g(z)


torch.manual_seed(7)
np.random.seed(7)
nets = lambda: nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 2))
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
print(isinstance(flow.mask, Parameter), [n for n, p in flow.named_parameters() if not p.requires_grad])

optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad == True], lr=2e-3)
for t in range(41):
    noisy_moons = datasets.make_moons(n_samples=100, noise=0.05)[0].astype(np.float32)
    loss = -flow.log_prob(torch.from_numpy(noisy_moons)).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if t % 10 == 0:
        print("iter %s:" % t, "loss = %.3f" % loss)
print("grad", ["%.4f" % p.grad.abs().max() for p in flow.s.parameters()][:4])

x = torch.from_numpy(datasets.make_moons(n_samples=8, noise=0.05)[0].astype(np.float32))
z, log_det = flow.f(x)
print("inverse", torch.allclose(flow.g(z), x, atol=1e-4), "log det %.3f" % log_det.sum().item())
jacobian = torch.autograd.functional.jacobian(lambda v: flow.f(v[None])[0][0], x[0])
print("log |det J| %.4f %.4f" % (torch.linalg.slogdet(jacobian)[1], log_det[0]))
samples = flow.sample(500)
print("samples", tuple(samples.shape), samples.mean(dim=0).detach().numpy().round(2))
