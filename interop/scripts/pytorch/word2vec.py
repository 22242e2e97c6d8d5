"""Skip-gram with negative sampling: two embeddings, sparse and dense gradients, cosine similarity."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = "the king loves the queen and the queen loves the king while the dog chases the cat and the cat fears the dog".split()
vocabulary = sorted(set(WORDS))
number = {w: i for i, w in enumerate(vocabulary)}
pairs = [(number[WORDS[i]], number[WORDS[j]]) for i in range(len(WORDS)) for j in range(max(0, i - 2), min(len(WORDS), i + 3)) if i != j]


class SkipGram(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.u = nn.Embedding(size, width, sparse=True)
        self.v = nn.Embedding(size, width)
        bound = 0.5 / width
        self.u.weight.data.uniform_(-bound, bound)
        self.v.weight.data.zero_()

    def forward(self, center, context, negative):
        u = self.u(center)
        score = torch.sum(u * self.v(context), dim=1)
        wrong = torch.bmm(self.v(negative), u.unsqueeze(2)).squeeze()
        return -(F.logsigmoid(score) + F.logsigmoid(-wrong).sum(1)).mean()


torch.manual_seed(0)
rng = np.random.RandomState(0)
model = SkipGram(len(vocabulary), 8)
sparse = torch.optim.SparseAdam([model.u.weight], lr=0.05)
dense = torch.optim.Adagrad([model.v.weight], lr=0.5)
for epoch in range(10):
    rng.shuffle(pairs)
    total = 0.0
    for i in range(0, len(pairs), 16):
        batch = torch.LongTensor(pairs[i : i + 16])
        negative = torch.multinomial(torch.ones(len(batch), len(vocabulary)), 3, replacement=True)
        loss = model(batch[:, 0], batch[:, 1], negative)
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: {total:.4f}")
print("sparse grad:", model.u.weight.grad.is_sparse, "dense grad %.5f" % model.v.weight.grad.norm().item())
a, b = model.u.weight[number["king"]], model.u.weight[number["queen"]]
print("similarity %.4f" % F.cosine_similarity(a, b, dim=0).item())
values, places = torch.topk(model.u.weight @ a, 3)
print([vocabulary[i] for i in places.tolist()], values.tolist())
