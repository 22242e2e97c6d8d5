"""A denoising diffusion model on the digits: sinusoidal time embedding, a small U-Net, an averaged copy, sampling."""

import argparse
import copy
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, einsum
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--timesteps", type=int, default=50)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--dim", type=int, default=8)
args = parser.parse_args()

torch.manual_seed(42)
device = "cuda" if torch.cuda.is_available() else "cpu"


def exists(x):
    return x is not None


class Digits(Dataset):
    def __init__(self, transform=None):
        self.images = load_digits().images[:256]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.as_tensor(self.images[i], dtype=torch.float32)[None] / 16
        return self.transform(image) if exists(self.transform) else image


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=time.device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, dim, dim_out, time_dim, groups=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_dim, dim_out * 2))
        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()
        self.res = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, t):
        scale, shift = self.mlp(t)[:, :, None, None].chunk(2, dim=1)
        h = self.norm(self.proj(x)) * (scale + 1) + shift
        return self.act(h) + self.res(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        self.scale = dim_head**-0.5
        self.heads = heads
        self.to_qkv = nn.Conv2d(dim, dim_head * heads * 3, 1, bias=False)
        self.to_out = nn.Conv2d(dim_head * heads, dim, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        qkv = self.to_qkv(x).chunk(3, dim=1)
        q, k, v = map(lambda t: t.unflatten(1, (self.heads, -1)).flatten(-2), qkv)
        q = q * self.scale
        sim = einsum("b h d i, b h d j -> b h i j", q, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b h d j -> b h i d", attn, v)
        out = out.permute(0, 1, 3, 2).reshape(b, -1, h, w)
        return self.to_out(out) + x


class Unet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        time_dim = dim * 4
        self.time_mlp = nn.Sequential(
            SinusoidalPositionEmbeddings(dim), nn.Linear(dim, time_dim), nn.GELU(), nn.Linear(time_dim, time_dim)
        )
        self.init_conv = nn.Conv2d(1, dim, 3, padding=1)
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        dims = [dim, dim * 2]
        for ind, d in enumerate(dims):
            self.downs.append(nn.ModuleList([Block(d, d, time_dim), nn.Conv2d(d, dims[min(ind + 1, 1)], 4, 2, 1)]))
        self.mid = Block(dims[-1], dims[-1], time_dim)
        self.mid_attn = Attention(dims[-1])
        for d in reversed(dims):
            self.ups.append(nn.ModuleList([nn.Upsample(scale_factor=2, mode="nearest"), Block(dims[-1] + d, dims[-1], time_dim)]))
        self.final_conv = nn.Conv2d(dims[-1], 1, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        t = self.time_mlp(time)
        h = []
        for block, downsample in self.downs:
            x = block(x, t)
            h.append(x)
            x = downsample(x)
        x = self.mid_attn(self.mid(x, t))
        for upsample, block in self.ups:
            x = block(torch.cat((upsample(x), h.pop()), dim=1), t)
        return self.final_conv(x)


betas = torch.linspace(1e-4, 0.05, args.timesteps)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, axis=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
sqrt_recip_alphas = torch.sqrt(1.0 / alphas)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def extract(a, t, x_shape):
    batch_size = t.shape[0]
    out = a.gather(-1, t.cpu())
    return out.reshape(batch_size, *((1,) * (len(x_shape) - 1))).to(t.device)


def q_sample(x_start, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x_start)
    a = extract(alphas_cumprod.sqrt(), t, x_start.shape)
    return a * x_start + extract((1 - alphas_cumprod).sqrt(), t, x_start.shape) * noise


@torch.no_grad()
def p_sample(model, x, t, t_index):
    betas_t = extract(betas, t, x.shape)
    root = extract(torch.sqrt(1.0 - alphas_cumprod), t, x.shape)
    model_mean = extract(sqrt_recip_alphas, t, x.shape) * (x - betas_t * model(x, t) / root)
    if t_index == 0:
        return model_mean
    return model_mean + torch.sqrt(extract(posterior_variance, t, x.shape)) * torch.randn_like(x)


model = Unet(args.dim).to(device)
ema = copy.deepcopy(model).eval().requires_grad_(False)
print("parameters", sum(p.numel() for p in model.parameters() if p.requires_grad))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=args.epochs * 8)
loader = DataLoader(Digits(lambda x: x * 2 - 1), batch_size=32, shuffle=True, drop_last=True, num_workers=0)
for epoch in range(args.epochs):
    for step, batch in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        batch = batch.to(device)
        t = torch.randint(0, args.timesteps, (batch.shape[0],), device=device).long()
        noise = torch.randn_like(batch)
        loss = F.smooth_l1_loss(noise, model(q_sample(batch, t, noise), t))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), ema.parameters()):
                q.lerp_(p, 0.1)
        print(f"step {step} loss {loss.item():.5f} grad norm {norm.item():.4f} rate {scheduler.get_last_lr()[0]:.6f}")

img = torch.randn((2, 1, 8, 8), device=device)
for i in reversed(range(0, 10)):
    img = p_sample(ema, img, torch.full((2,), i, device=device, dtype=torch.long), i)
print("sample mean %.3f std %.3f" % (img.mean(), img.std()), img.clamp(-1, 1)[0, 0, :2, :4])
