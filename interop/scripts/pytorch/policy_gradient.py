"""REINFORCE with a baseline on a small corridor world."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(5, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.affine1(x))
        return torch.softmax(self.action_head(x), dim=-1), self.value_head(x)


def episode(policy):
    place = 2
    for _ in range(12):
        state = np.eye(5)[place]
        probs, value = policy(torch.from_numpy(state).float())
        m = Categorical(probs)
        action = m.sample()
        policy.saved.append((m.log_prob(action), value, m.entropy()))
        place = min(4, max(0, place + (1 if action.item() == 1 else -1)))
        policy.rewards.append(1.0 if place == 4 else -0.1)
        if place == 4:
            break


torch.manual_seed(543)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=2e-2)
eps = np.finfo(np.float32).eps.item()
for i in range(25):
    episode(policy)
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.95 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    if len(returns) > 1:
        returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value, entropy), R in zip(policy.saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage - 0.01 * entropy)
        value_losses.append(nn.functional.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    if i % 5 == 0:
        print(f"episode {i}: {len(policy.rewards)} steps, reward {sum(policy.rewards):.2f}, loss {loss.item():.4f}")
    del policy.rewards[:]
    del policy.saved[:]
print("grad", policy.affine1.weight.grad.norm().item())
