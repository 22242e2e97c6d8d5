"""Proximal policy optimisation on a continuous task: Gaussian policy, advantages, clipped ratios, entropy, a schedule."""

import math
import random
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.normal import Normal


@dataclass
class Args:
    seed: int = 1
    torch_deterministic: bool = True
    cuda: bool = True
    num_envs: int = 4
    num_steps: int = 32
    updates: int = 4
    minibatch_size: int = 32
    update_epochs: int = 2
    learning_rate: float = 3e-3
    gamma: float = 0.95
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    hidden: list = field(default_factory=lambda: [16, 16])


class Envs:
    """Points that are to be pushed to the origin."""

    def __init__(self, n, rng):
        self.rng, self.state = rng, rng.uniform(-1, 1, (n, 4)).astype(np.float32)

    def step(self, action):
        self.state[:, 2:] = 0.9 * self.state[:, 2:] + 0.1 * np.clip(action, -1, 1)
        self.state[:, :2] += self.state[:, 2:]
        reward = -np.abs(self.state[:, :2]).sum(1)
        done = (np.abs(self.state[:, :2]) > 2).any(1)
        self.state[done] = self.rng.uniform(-1, 1, (int(done.sum()), 4))
        return self.state.copy(), reward, done


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.normal_(layer.weight, 0.0, std / math.sqrt(layer.in_features))
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        sizes = [4, *hidden]
        body = lambda: [m for a, b in zip(sizes, sizes[1:]) for m in (layer_init(nn.Linear(a, b)), nn.Tanh())]
        self.critic = nn.Sequential(*body(), layer_init(nn.Linear(hidden[-1], 1), std=1.0))
        self.actor_mean = nn.Sequential(*body(), layer_init(nn.Linear(hidden[-1], 2), std=0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, np.prod((2,))))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        action_mean = self.actor_mean(x)
        action_std = torch.exp(self.actor_logstd.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


args = Args()
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)
torch.backends.cudnn.deterministic = args.torch_deterministic
device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")
envs = Envs(args.num_envs, np.random.default_rng(args.seed))
agent = Agent(args.hidden).to(device)
optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
batch_size = args.num_envs * args.num_steps

obs = torch.zeros((args.num_steps, args.num_envs, 4)).to(device)
actions = torch.zeros((args.num_steps, args.num_envs) + (2,)).to(device)
logprobs = torch.zeros((args.num_steps, args.num_envs)).to(device)
rewards, dones, values = (torch.zeros_like(logprobs) for _ in range(3))
start_time = time.time()
next_obs = torch.Tensor(envs.state).to(device)
next_done = torch.zeros(args.num_envs).to(device)

for update in range(1, args.updates + 1):
    frac = 1.0 - (update - 1.0) / args.updates
    optimizer.param_groups[0]["lr"] = frac * args.learning_rate
    for step in range(0, args.num_steps):
        obs[step] = next_obs
        dones[step] = next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step] = value.flatten()
        actions[step] = action
        logprobs[step] = logprob
        next_obs, reward, done = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).to(device).view(-1)
        next_obs, next_done = torch.Tensor(next_obs).to(device), torch.Tensor(done).to(device)

    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(1, -1)
        advantages = torch.zeros_like(rewards).to(device)
        lastgaelam = 0
        for t in reversed(range(args.num_steps)):
            nextnonterminal = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
            nextvalues = next_value if t == args.num_steps - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + args.gamma * args.gae_lambda * nextnonterminal * lastgaelam
        returns = advantages + values

    b_obs, b_actions = obs.reshape((-1, 4)), actions.reshape((-1, 2))
    b_logprobs, b_advantages, b_returns, b_values = (x.reshape(-1) for x in (logprobs, advantages, returns, values))
    b_inds = np.arange(batch_size)
    clipfracs = []
    for epoch in range(args.update_epochs):
        np.random.shuffle(b_inds)
        for start in range(0, batch_size, args.minibatch_size):
            mb_inds = b_inds[start : start + args.minibatch_size]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb_inds], b_actions[mb_inds])
            logratio = newlogprob - b_logprobs[mb_inds]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > args.clip_coef).float().mean().item()]
            mb_advantages = b_advantages[mb_inds]
            mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
            pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * torch.clamp(ratio, 0.8, 1 + args.clip_coef)).mean()
            newvalue = newvalue.view(-1)
            v_clipped = b_values[mb_inds] + torch.clamp(newvalue - b_values[mb_inds], -args.clip_coef, args.clip_coef)
            v_loss = 0.5 * torch.max((newvalue - b_returns[mb_inds]) ** 2, (v_clipped - b_returns[mb_inds]) ** 2).mean()
            entropy_loss = entropy.mean()
            loss = pg_loss - args.ent_coef * entropy_loss + v_loss * args.vf_coef
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()
    y_pred, y_true = b_values.cpu().numpy(), b_returns.cpu().numpy()
    explained_var = np.nan if np.var(y_true) == 0 else 1 - np.var(y_true - y_pred) / np.var(y_true)
    print(f"update {update}: loss {loss.item():.4f} kl {approx_kl.item():.5f} explained {explained_var:.3f} clipped {np.mean(clipfracs):.3f}")
    print(f"grad norm {norm:.4f} entropy {entropy_loss.item():.4f} return {returns.mean().item():.3f}")
assert time.time() > start_time
