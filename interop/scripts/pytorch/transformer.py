"""A small transformer that learns to reverse sequences, with a causal mask, AdamW and a warm-up."""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, width, length=64):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        step = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(position * step)
        table[:, 1::2] = torch.cos(position * step)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Model(nn.Module):
    def __init__(self, vocab=12, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = PositionalEncoding(width)
        layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(width, vocab)

    def forward(self, x, mask=None):
        return self.head(self.encoder(self.position(self.embed(x)), mask=mask))


torch.manual_seed(11)
model = Model()
mask = torch.triu(torch.full((13, 13), float("-inf")), diagonal=1)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 10))
for step in range(30):
    digits = torch.randint(2, 12, (16, 6))
    tokens = torch.cat([digits, torch.ones(16, 1, dtype=torch.long), digits.flip(1)], dim=1)
    logits = model(tokens, mask)
    loss = nn.functional.cross_entropy(logits[:, 6:-1].reshape(-1, 12), tokens[:, 7:].reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    warm.step()
    if step % 10 == 0:
        total = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters()))
        print(f"step {step}: loss {loss.item():.4f}, grad norm {total.item():.4f}")
print("last loss: %.4f" % loss.item())
