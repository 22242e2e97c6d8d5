"""A script that draws at every turn prints the same losses under PyTorch and here."""

from typing import Any

import pytest

SCRIPT = """
torch.manual_seed(7)
x = torch.randn(90, 5)
y = (x @ torch.randn(5, 1)).tanh() + 0.1 * torch.randn(90, 1)
train, test = torch.utils.data.random_split(torch.utils.data.TensorDataset(x, y), [70, 20])
loader = torch.utils.data.DataLoader(train, batch_size=16, shuffle=True)


class VAE(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2))
        self.mean, self.scale = torch.nn.Linear(16, 3), torch.nn.Linear(16, 3)
        self.decoder = torch.nn.Linear(3, 1)
        torch.nn.init.trunc_normal_(self.decoder.weight, std=0.5)

    def forward(self, x):
        h = self.encoder(x)
        q = torch.distributions.Normal(self.mean(h), torch.exp(0.1 * self.scale(h)))
        prior = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
        return self.decoder(q.rsample()), torch.distributions.kl_divergence(q, prior).sum(-1).mean()


net = VAE()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(4):
    for a, b in loader:
        optimizer.zero_grad()
        found, kl = net(a + 0.05 * torch.randn_like(a))
        loss = ((found - b) ** 2).mean() + 0.01 * kl
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch == 1:
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}, file)
    if epoch == 2:  # back to where it was
        file.seek(0)
        saved = torch.load(file)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["rng"])
choice = torch.distributions.Categorical(logits=x[:, :3]).sample()
losses.append(choice.float().mean().item())
"""


def losses_of(torch: Any) -> list[float]:
    import io

    found: list[float] = []
    exec(SCRIPT, {"torch": torch, "io": io, "losses": found})
    return found


@pytest.mark.interop("torch")
def test_a_model_with_noise_dropout_and_shuffled_batches_prints_the_same_losses() -> None:
    import torch

    import tapegrad.torch as ours

    expected, found = losses_of(torch), losses_of(ours)
    assert found == pytest.approx(expected, rel=2e-4)
    assert found[10:15] == found[15:20]  # the state that was put back


def test_recorded_losses() -> None:
    import tapegrad.torch as ours

    assert [round(x, 3) for x in losses_of(ours)[:6]] == RECORDED


RECORDED = [2.311, 2.608, 1.348, 0.461, 1.538, 0.943]
