"""Hooks of every kind: on tensors, modules and nodes; activations and gradients collected, gradients changed."""

import torch
import torch.nn as nn

torch.manual_seed(12)
net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
activations, gradients = {}, {}


def keep(name):
    def hook(module, inputs, output):
        activations[name] = output.detach()

    return hook


def back(module, grad_input, grad_output):
    gradients["out"] = grad_output[0].norm().item()


handles = [layer.register_forward_hook(keep(str(i))) for i, layer in enumerate(net)]
handles.append(net[2].register_full_backward_hook(back))
x = torch.randn(4, 6, requires_grad=True)
x.register_hook(lambda g: g * 2)
h = net[0](x)
h.retain_grad()
out = net[2](net[1](h))
loss = out.pow(2).mean()
order = []
loss.grad_fn.register_hook(lambda gi, go: order.append("loss"))
loss.backward()
print("activations", {k: tuple(v.shape) for k, v in activations.items()})
print("grad of x %.5f" % x.grad.norm().item(), "grad of h %.5f" % h.grad.norm().item(), "grad out %.5f" % gradients["out"])
print(order, loss.grad_fn.name(), loss.grad_fn.next_functions[0][0].name())
for handle in handles:
    handle.remove()
activations.clear()
net(x)
print("after removal:", len(activations))

w = torch.ones(3, requires_grad=True)
seen = []
w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
(w * torch.arange(3.0)).sum().backward()
(w**2).sum().backward()
print("post accumulate grad", seen)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 10):
    z = (w * w).sum()
w.grad = None
z.backward()
print("unpacked grad", w.grad.tolist())
try:
    v = torch.ones(2, requires_grad=True)
    u = v.exp()
    u.add_(1)
    u.sum().backward()
except RuntimeError as error:
    print("error:", "modified by an inplace operation" in str(error))
