"""A character model: embedding, two LSTM layers, truncated sequences, clipped gradients, sampling."""

import torch
import torch.nn as nn

TEXT = "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 6
chars = sorted(set(TEXT))
index = {c: i for i, c in enumerate(chars)}
data = torch.tensor([index[c] for c in TEXT], dtype=torch.long)


class CharRNN(nn.Module):
    def __init__(self, vocab, size):
        super(CharRNN, self).__init__()
        self.embed = nn.Embedding(vocab, size)
        self.lstm = nn.LSTM(size, size, num_layers=2, batch_first=True)
        self.linear = nn.Linear(size, vocab)

    def forward(self, x, state=None):
        out, state = self.lstm(self.embed(x), state)
        return self.linear(out), state


torch.manual_seed(7)
model = CharRNN(len(chars), 24)
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
batch, steps = 4, 20
columns = data[: len(data) // batch * batch].view(batch, -1)
for epoch in range(2):
    state = None
    for i in range(0, columns.size(1) - steps - 1, steps):
        inputs, targets = columns[:, i : i + steps], columns[:, i + 1 : i + 1 + steps]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(inputs, state)
        loss = criterion(logits.reshape(-1, len(chars)), targets.reshape(-1))
        model.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print("epoch %d: loss %.4f, gradient norm %.4f" % (epoch, loss.item(), norm))

with torch.no_grad():
    state, x, words = None, torch.tensor([[index["t"]]]), ["t"]
    for _ in range(10):
        logits, state = model(x, state)
        x = logits[:, -1].softmax(-1).argmax(-1, keepdim=True)
        words.append(chars[x.item()])
print("sample:", repr("".join(words)))
