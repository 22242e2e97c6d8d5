"""Programs of a few lines: transforms of functions, forward mode, checkpoints, precision."""

PROGRAMS = {
    "fn variants": """
class A(t.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.k, None)


x = t.ones(2, requires_grad=True)
y = A.apply(x, 3.0)
y.sum().backward()
result = (
    x.grad.tolist(),
    y.grad_fn.name(),
    type(y.grad_fn).__name__,
    err(lambda: y.grad_fn.saved_tensors),
    y.grad_fn.needs_input_grad,
)
""",
    "fn errs": """
F = t.autograd.Function


class NoB(F):
    @staticmethod
    def forward(ctx, x):
        return x * 1


class Cnt(F):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g


class Shp(F):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return t.ones(5)


class NT(F):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return 3


class Save(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g


class Old(F):
    def forward(self, x):
        return x


x = t.ones(2, requires_grad=True)
result = [
    err(lambda: NoB.apply(x).sum().backward()),
    err(lambda: Cnt.apply(x, x).sum().backward()),
    err(lambda: Shp.apply(x).sum().backward()),
    err(lambda: NT.apply(x).sum().backward()),
    err(Save.apply, x),
    err(lambda: Old()(x)),
    err(lambda: NoB()(x)),
]
""",
    "fn nondiff": """
class N(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        i = x.argmax()
        v = x * 2
        ctx.mark_non_differentiable(i)
        ctx.set_materialize_grads(False)
        return (v, i)

    @staticmethod
    def backward(ctx, g, gi):
        return None if g is None else g * 2


x = t.tensor([1.0, 2.0], requires_grad=True)
v, i = N.apply(x)
v.sum().backward()
result = (i.requires_grad, v.requires_grad, x.grad.tolist(), i.item(), i.grad_fn)
""",
    "fn double": """
class S(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class O(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @t.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


x = t.tensor([2.0], requires_grad=True)
(g,) = t.autograd.grad(S.apply(x).sum(), x, create_graph=True)
(g2,) = t.autograd.grad(g.sum(), x)
(h,) = t.autograd.grad(O.apply(x).sum(), x, create_graph=True)
result = (g2.item(), h.requires_grad, err(lambda: h.sum().backward()))
""",
    "fn jvp vmap": """
class S(t.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, i, o):
        ctx.save_for_backward(i[0])
        ctx.save_for_forward(i[0])

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx, tg):
        return tg * ctx.saved_tensors[0].cos()


x = t.tensor([1.0, 2.0])
a = t.func.jvp(S.apply, (x,), (t.ones(2),))[1]
c = t.func.vmap(t.func.grad(lambda z: S.apply(z)))(x)
result = [round(v, 5) for v in a.tolist() + c.tolist()]
""",
    "saved hooks nest": """
x = t.ones(2, requires_grad=True)
o = []
with t.autograd.graph.saved_tensors_hooks(lambda v: (o.append("p1"), v)[1], lambda v: (o.append("u1"), v)[1]):
    with t.autograd.graph.saved_tensors_hooks(lambda v: (o.append("p2"), v)[1], lambda v: (o.append("u2"), v)[1]):
        y = x.exp()
    z = y.sin()
z.sum().backward()
result = o
""",
    "disable saved": """
x = t.ones(2, requires_grad=True)


def f():
    with t.autograd.graph.disable_saved_tensors_hooks("nope"):
        with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
            x.exp()


result = err(f)
""",
    "save on cpu": """
x = t.ones(2, requires_grad=True)
with t.autograd.graph.save_on_cpu():
    y = (x * x).sum()
y.backward()
result = x.grad.tolist()
""",
    "functional": """
F = t.autograd.functional
f = lambda x: (x**3).sum()
x = t.tensor([1.0, 2.0])
v = t.ones(2)
result = [
    F.jacobian(lambda x: x**2, x).tolist(),
    F.hessian(f, x).tolist(),
    [a.tolist() for a in F.vjp(lambda x: x**2, x, v)],
    [a.tolist() for a in F.jvp(lambda x: x**2, x, v)],
    F.hvp(f, x, v)[1].tolist(),
    F.vhp(f, x, v)[1].tolist(),
    F.jacobian(lambda a, c: (a * c, a), (x, v))[0][1].tolist(),
    F.jacobian(lambda x: x**2, x, vectorize=True, strategy="forward-mode").tolist(),
    err(F.jacobian, lambda x: t.ones(2), x, strict=True),
    err(F.hessian, lambda x: x, x),
]
""",
    "func random": """
t.manual_seed(0)
a = t.func.vmap(lambda x: x + t.rand(()), randomness="different")(t.zeros(3))
b2 = t.func.vmap(lambda x: x + t.rand(()), randomness="same")(t.zeros(3))
result = (len(set(a.tolist())), len(set(b2.tolist())), err(t.func.vmap(lambda x: x + t.rand(())), t.zeros(3)))
""",
    "functional call": """
m = t.nn.Linear(2, 1)
p = {"weight": t.ones(1, 2), "bias": t.zeros(1)}
result = (
    t.func.functional_call(m, p, (t.ones(1, 2),)).tolist(),
    t.func.functional_call(m, {"weight": t.zeros(1, 2)}, t.ones(1, 2)).item() == m.bias.item(),
)
""",
    "stack module state": """
ms = [t.nn.Linear(2, 1) for _ in range(3)]
p, bf = t.func.stack_module_state(ms)
result = ({k: tuple(v.shape) for k, v in p.items()}, bf)
""",
    "forward ad": """
fw = t.autograd.forward_ad
o = []
with fw.dual_level():
    d = fw.make_dual(t.tensor([1.0, 2.0]), t.ones(2))
    y = d.sin()
    p, tg = fw.unpack_dual(y)
    o += [round(v, 5) for v in tg.tolist()]
    o.append(fw.unpack_dual(t.ones(1)).tangent)
o.append(fw.unpack_dual(y).tangent)
o.append(err(fw.make_dual, t.ones(1), t.ones(1)))
result = o
""",
    "checkpoint": """
from importlib import import_module

ck = t.utils.checkpoint.checkpoint
x = t.ones(2, requires_grad=True)
o = []


def f(a):
    o.append(1)
    return a.sin() * 2


y = ck(f, x, use_reentrant=False)
y.sum().backward()
o.append(R4(x.grad))
y = ck(f, x, use_reentrant=True)
y.sum().backward()
o.append(R4(x.grad))
s = t.utils.checkpoint.checkpoint_sequential(t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh()), 2, x, use_reentrant=False)
o.append(R4(s))
result = o
""",
    "ckpt rng": """
ck = t.utils.checkpoint.checkpoint
x = t.ones(8, requires_grad=True)
t.manual_seed(1)
y = ck(lambda a: t.nn.functional.dropout(a, 0.5), x, use_reentrant=False)
y.sum().backward()
result = (y.tolist() == x.grad.tolist(), y.tolist())
""",
    "autocast": """
a = t.ones(2, 2)
with t.autocast("cpu", dtype=t.bfloat16):
    o = [
        str((a @ a).dtype),
        str((a + a).dtype),
        str(t.nn.functional.softmax(a.bfloat16(), 0).dtype),
        str(t.nn.Linear(2, 2)(a).dtype),
        str(a.sum().dtype),
        str(t.nn.functional.mse_loss(a @ a, a).dtype),
        t.is_autocast_enabled("cpu"),
    ]
    with t.autocast("cpu", enabled=False):
        o.append(str((a @ a).dtype))
o.append(str((a @ a).dtype))
result = o
""",
    "scaler": """
s = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
p = t.nn.Parameter(t.ones(1))
o = t.optim.SGD([p], lr=1.0)
out = [s.is_enabled(), s.get_scale()]
for i in range(3):
    o.zero_grad()
    l = (p * (float("inf") if i == 1 else 1.0)).sum()
    s.scale(l).backward()
    s.unscale_(o)
    out.append(p.grad.item())
    s.step(o)
    s.update()
    out += [s.get_scale(), p.item()]
out.append(s.state_dict())
out.append(err(s.step, o))
result = out
""",
    "scaler err": """
s = t.amp.GradScaler("cpu")
p = t.nn.Parameter(t.ones(1))
o = t.optim.SGD([p], lr=1.0)
s.scale(p.sum()).backward()
s.unscale_(o)
result = (err(s.unscale_, o), err(t.amp.GradScaler("cpu").update))
""",
}
