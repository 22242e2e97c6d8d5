"""Programs of a few lines: modules, and tensors made, copied and saved."""

PROGRAMS = {
    "init values": """
n = t.nn
o = []
for f in (
    lambda: n.Linear(3, 2),
    lambda: n.Conv2d(2, 2, 2),
    lambda: n.Embedding(3, 2),
    lambda: n.LSTM(2, 2),
    lambda: n.MultiheadAttention(4, 2),
    lambda: n.Bilinear(2, 2, 2),
    lambda: n.ConvTranspose1d(2, 2, 2),
    lambda: n.TransformerEncoderLayer(4, 2, 4),
    lambda: n.EmbeddingBag(3, 2),
    lambda: n.GRUCell(2, 2),
    lambda: n.Transformer(4, 2, 1, 1, 4),
):
    t.manual_seed(7)
    m = f()
    o.append([R4(p) for p in m.parameters()])
result = o
""",
    "missing attr": """
m = t.nn.Linear(1, 1)
result = (
    err(lambda: m.foo),
    err(lambda: t.ones(1).foo),
    err(lambda: setattr(m, "weight", 3)),
    err(m.register_parameter, "a.b", None),
    err(m.register_parameter, "weight2", t.ones(1)),
    err(m.register_buffer, "weight", t.ones(1)),
    err(m.add_module, "x", 3),
    err(m.get_submodule, "q"),
    err(m.get_parameter, "q"),
    err(t.nn.Sequential(m).append, 3),
    err(lambda: t.nn.ModuleList([3])),
    err(lambda: t.nn.Module()(1)),
    err(m.forward),
    err(lambda: delattr(m, "zz")),
    err(lambda: t.nn.Module.__init__(m, 3)),
)
""",
    "submodule before init": """
class A(t.nn.Module):
    def __init__(self):
        self.l = t.nn.Linear(1, 1)


class C(t.nn.Module):
    def __init__(self):
        self.p = t.nn.Parameter(t.ones(1))


result = (err(A), err(C))
""",
    "module api": """
m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
o = [
    [n for n, _ in m.named_modules()],
    [n for n, _ in m.named_parameters()],
    [n for n, _ in m.named_buffers()],
    len(list(m.children())),
    m.training,
    m.eval().training,
    m[1].training,
    m.train()[1].training,
]
m.requires_grad_(False)
o.append([p.requires_grad for p in m.parameters()])
m.apply(lambda x: o.append(type(x).__name__))
m.double()
o.append(str(m[0].weight.dtype))
o.append(str(m[1].num_batches_tracked.dtype))
m.half()
m.float()
m.to(t.float64)
o.append(str(m[1].running_mean.dtype))
m.zero_grad()
o.append(m[0:1].__class__.__name__)
o.append(len(m))
del m[0]
o.append(repr(m))
m.insert(0, t.nn.ReLU())
m.extend([t.nn.Tanh()])
o.append(repr(m))
result = o
""",
    "module share": """
l = t.nn.Linear(1, 1, bias=False)
m = t.nn.Sequential(l, l)
result = (
    len(list(m.parameters())),
    len(m.state_dict()),
    [n for n, _ in m.named_modules()],
    [n for n, _ in m.named_parameters(remove_duplicate=False)],
)
""",
    "buffers": """
m = t.nn.Module()
m.register_buffer("a", t.ones(1))
m.register_buffer("c", t.ones(1), persistent=False)
m.d = t.nn.Buffer(t.zeros(1))
m.e = t.ones(1)
result = (
    list(m.state_dict()),
    [n for n, _ in m.named_buffers()],
    m.a is dict(m.named_buffers())["a"],
    err(setattr, m, "a", 3),
)
""",
    "pickle": """
x = t.arange(4.0).reshape(2, 2).requires_grad_()
y = pickle.loads(pickle.dumps(x))
m = pickle.loads(pickle.dumps(t.nn.Linear(1, 1)))
result = (
    y.tolist(),
    y.requires_grad,
    repr(m),
    pickle.loads(pickle.dumps(t.float32)) is t.float32,
    pickle.loads(pickle.dumps(t.Size([1, 2]))),
    pickle.loads(pickle.dumps(t.device("cpu"))),
)
""",
    "save load": """
f = io.BytesIO()
x = t.ones(2)
d = {
    "a": x,
    "v": x[:1],
    "n": 3,
    "m": t.nn.Linear(1, 1).state_dict(),
    "l": [t.tensor(True), t.ones(2, dtype=t.bfloat16)],
    "s": t.Size([2]),
}
t.save(d, f)
f.seek(0)
r = t.load(f)
r["a"][0] = 5.0
result = (r["v"].item(), r["n"], list(r["m"]), r["l"], type(r["m"]).__name__, r["s"], sorted(r))
""",
    "hooks around several outputs, and writes into one": """
class Both(t.nn.Module):
    def forward(self, a, b):
        return a * 2, a * b
x = t.ones(2, requires_grad=True)
log = []
m = Both()
m.register_full_backward_hook(lambda mod, gi, go: log.append([[g is None for g in gs] for gs in (gi, go)]))
first, second = m(x, x * 3)
first.sum().backward()
m(x, x * 3)[1].sum().backward()
write = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU(inplace=True))
write[1].register_full_backward_hook(lambda mod, gi, go: None)
result = log, x.grad.tolist(), err(write, x)
""",
}
