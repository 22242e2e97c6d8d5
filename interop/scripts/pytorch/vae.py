"""A variational autoencoder on digits: the reparametrisation trick and a closed-form KL term."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ELU())
        self.mean, self.log_variance = nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, 64))

    def forward(self, x):
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


torch.manual_seed(5)
x = torch.from_numpy((load_digits().data[:512] / 16).astype(np.float32))
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), 2e-3)
for epoch in range(4):
    for batch in x.split(64):
        logits, mean, log_variance = model(batch)
        reconstruction = F.binary_cross_entropy_with_logits(logits, batch, reduction="sum")
        kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = (reconstruction + kl) / len(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch {}: {:.3f} = {:.3f} + {:.3f}".format(epoch, loss, reconstruction / 64, kl / 64))
print("grad of the mean's bias:", [round(g, 3) for g in model.mean.bias.grad.tolist()])

with torch.no_grad():
    _, mean, log_variance = model(x[:8])
    posterior = Normal(mean, (0.5 * log_variance).exp())
    print("kl: %.4f" % kl_divergence(posterior, Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum())
    print("log prob: %.4f" % posterior.log_prob(posterior.sample()).mean())
    print("images: %.4f" % torch.sigmoid(model.decoder(torch.randn(3, 4))).sum().item())
