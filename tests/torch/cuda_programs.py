"""What `cuda` means: with `--stand-in`, TensorFlow's second CPU stands for a GPU.  Run by tests in a process of its own."""

import io
import json
import sys
import warnings

import numpy as np
import tensorflow as tf

if "--stand-in" in sys.argv:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

import tapegrad as tg
from tapegrad import torch
from tapegrad.torch import _devices, nn


def places(*tensors):
    return [str(x.device) for x in tensors]


def of(error, call):
    try:
        call()
    except error as found:
        return str(found)
    return "nothing raised"


def makers():
    like = torch.ones(3, device="cuda")
    there = [
        torch.zeros(2, device="cuda"), torch.tensor([1.5], device="cuda:0"), torch.arange(3, device=0), torch.eye(2, device="cuda"),
        torch.randn(2, device="cuda"), torch.randint(3, (2,), device="cuda"), torch.randperm(3, device="cuda"),
        torch.as_tensor([0.5], device="cuda"), torch.full((2,), 0.5, device="cuda"), torch.linspace(0, 1, 3, device="cuda"),
        torch.zeros_like(like), torch.rand_like(like), like.new_zeros(2), like.new_tensor([0.5]), torch.full_like(like, 2.0),
        torch.bernoulli(like), torch.cuda.FloatTensor([0.5]), torch.multinomial(like, 2),
    ]  # fmt: skip
    here = [torch.zeros(2), torch.randn(2), torch.zeros_like(like, device="cpu"), torch.from_numpy(np.ones(2)), torch.FloatTensor(2)]
    return places(*there), places(*here)


def moving():
    w = torch.tensor([0.5, 1.5], requires_grad=True)
    y = (w.cuda() ** 3).cpu().sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (h,) = torch.autograd.grad(g.to("cuda").sum(), w)
    x = torch.ones(2, device="cuda")
    same = x.to("cuda") is x and x.cuda() is x and w.cpu() is w
    other = [x.to(w).device.type, w.to(x).device.type, x.type_as(w).device.type, x.to("cpu", torch.float64).type(), x.double().type()]
    return places(y, g, h), g.tolist(), h.tolist(), same, other


def where_default():
    with torch.device("cuda"):
        inside = places(torch.ones(2), torch.randn(2))
    torch.set_default_device("cuda")
    default = [*places(torch.ones(2)), str(torch.get_default_device())]
    torch.set_default_device(None)
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    typed = places(torch.ones(2), torch.Tensor([0.5]))
    torch.set_default_tensor_type(torch.FloatTensor)
    return inside, default, typed, places(torch.ones(2))


def errors():
    x, y = torch.ones(2, device="cuda"), torch.ones(2)
    conv = nn.Conv2d(1, 1, 1).cuda()
    return [
        of(RuntimeError, lambda: x + y),
        of(RuntimeError, lambda: x.unsqueeze(0) @ y.unsqueeze(1)),
        of(RuntimeError, lambda: x.add_(y)),
        of(RuntimeError, lambda: conv(torch.ones(1, 1, 2, 2))),
        of(TypeError, x.numpy),
        of(RuntimeError, lambda: torch.ones(2, device="cuda:4")),
    ]


def numbers_of_the_cpu():
    x = torch.ones(2, device="cuda")
    s = torch.tensor(2.0, requires_grad=True)
    y = s * x
    y.sum().backward()
    return places(y, x + torch.tensor(1.5), s.grad), s.grad.item()


def in_place():
    x = torch.ones(2, 3, device="cuda")
    for step in (
        x.zero_, lambda: x.fill_(0.5), x.normal_, lambda: x.copy_(torch.ones(2, 3)), lambda: x.add_(1.0).clamp_(0, 1),
        lambda: x.__setitem__(0, 0.5), lambda: x.__setitem__((slice(None), 1), torch.ones(2)), lambda: x.__setitem__(x > 0.5, 0.25),
        lambda: x[0].mul_(2.0),
    ):  # fmt: skip
        step()
        if not x.is_cuda:
            return "lost"
    b = torch.zeros(2, device="cuda")
    w = torch.tensor([0.5, 1.5], requires_grad=True)
    b[:] = w * 2
    b.sum().backward()
    return x.tolist(), places(b, w.grad), w.grad.tolist()


def trained(device):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.25), nn.Linear(8, 3)).to(device)
    recurrent = nn.LSTM(4, 3).to(device)
    optimizer = torch.optim.Adam([*model.parameters(), *recurrent.parameters()], 1e-2)
    x, y = torch.randn(5, 1, 4, 4).to(device), torch.tensor([0, 1, 2, 0, 1]).to(device)
    for _ in range(3):
        out, _ = recurrent(x[:, 0])
        loss = nn.functional.cross_entropy(model(x), y) + out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    tensors = [*model.state_dict().values(), *(p.grad for p in model.parameters())]
    states = [v for state in optimizer.state.values() for k, v in state.items() if k != "step"]
    return loss.item(), sorted(set(places(*tensors, *states))), model


def training():
    (a, there, model), (b, here, _) = trained("cuda"), trained("cpu")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    loaded = []
    for location in ("cuda:0", "cpu", torch.device("cuda")):
        file.seek(0)
        state = torch.load(file, map_location=location)
        loaded += sorted(set(places(*state.values())))
    model.load_state_dict(state)
    return abs(a - b) < 1e-5, there, here, loaded, sorted(set(places(*model.parameters())))


def answers():
    with torch.cuda.device(0):
        found = [torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device(), torch.accelerator.is_available()]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    torch.cuda.synchronize()
    torch.cuda.manual_seed_all(5)
    x = torch.ones(2, device="cuda")
    with torch.autocast("cuda"):
        short = [str((x.unsqueeze(0) @ x.unsqueeze(1)).dtype), str((x.cpu().unsqueeze(0) @ x.cpu().unsqueeze(1)).dtype)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.amp.GradScaler("cuda")
    kinds = [isinstance(x, torch.cuda.FloatTensor), isinstance(x, torch.FloatTensor), x.type()]
    missing = of(AttributeError, lambda: torch.cuda.get_device_properties(0).total_memory)
    return found, start.elapsed_time(end) >= 0, short, kinds, repr(x), missing


def distributions():
    p = torch.tensor([0.25, 0.75], device="cuda")
    d = torch.distributions
    made = [d.Categorical(p), d.Normal(p, p), d.Bernoulli(p), d.Normal(p, 1.0), d.Uniform(p, p + 1), d.Exponential(p), d.Laplace(p, p)]
    return sorted({place for m in made for place in places(m.sample(), m.log_prob(m.sample()), m.entropy())})


if __name__ == "__main__":
    tg.set_default_backend("tensorflow")
    none = None
    if "--stand-in" in sys.argv:
        none = [torch.cuda.is_available(), of(RuntimeError, lambda: torch.ones(2).cuda())]
        _devices.STAND_INS[:] = ["CPU:1"]
    programs = [makers, moving, where_default, errors, numbers_of_the_cpu, in_place, training, answers, distributions]
    json.dump({"none": none, **{f.__name__: f() for f in programs}}, sys.stdout)
