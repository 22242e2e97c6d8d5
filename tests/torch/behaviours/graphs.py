"""Programs of a few lines: what autograd does: hooks, graphs, modes, Functions."""

PROGRAMS = {
    "hook order": """
x = t.tensor([1.0, 2.0], requires_grad=True)
o = []
x.register_hook(lambda g: o.append("x1"))
y = x * 2
y.register_hook(lambda g: o.append("y1"))
y.retain_grad()
y.register_hook(lambda g: (o.append("y2"), g * 2)[1])
x.register_post_accumulate_grad_hook(lambda p: o.append("post"))
y.grad_fn.register_prehook(lambda g: o.append("pre"))
y.grad_fn.register_hook(lambda a, c: o.append("node"))
y.sum().backward()
result = (o, x.grad.tolist(), y.grad.tolist())
""",
    "hook remove inside": """
x = t.tensor([1.0], requires_grad=True)
o = []
h = x.register_hook(lambda g: (o.append(1), h.remove())[0])
(x * 2).sum().backward()
(x * 2).sum().backward()
result = o
""",
    "hook errs": """
x = t.tensor([1.0], requires_grad=True)
y = t.tensor([1.0])
out = [err(y.register_hook, lambda g: g)]
x.register_hook(lambda g: t.zeros(2))
out.append(err((x * 2).sum().backward))
x2 = t.tensor([1.0], requires_grad=True)
x2.register_hook(lambda g: 3)
out.append(err((x2 * 2).sum().backward))
out.append(err(x.register_post_accumulate_grad_hook, 3))
out.append(err((x * 2).register_post_accumulate_grad_hook, lambda p: p))
out.append(err(y.retain_grad))
result = out
""",
    "multi grad": """
a, b_, c = [t.tensor([float(i)], requires_grad=True) for i in (1, 2, 3)]
o = []
t.autograd.graph.register_multi_grad_hook(
    (a, b_, c), lambda gs: o.append([None if g is None else g.item() for g in gs])
)
(a * b_).sum().backward()
(a * b_ * c).sum().backward()
result = o
""",
    "multi grad any": """
a, b_ = [t.tensor([float(i)], requires_grad=True) for i in (1, 2)]
o = []
h = t.autograd.graph.register_multi_grad_hook((a, b_), lambda g: o.append(g.item()), mode="any")
(a * b_).sum().backward()
h.remove()
(a * b_).sum().backward()
result = len(o)
""",
    "module hooks": """
m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
o = []
m[0].register_forward_pre_hook(lambda m, i: o.append("pre"))
m[0].register_forward_hook(lambda m, i, out: o.append("fwd"))
m[0].register_full_backward_hook(
    lambda m, gi, go: o.append(
        ("bw", [None if g is None else tuple(g.shape) for g in gi], [tuple(g.shape) for g in go])
    )
)
m[0].register_full_backward_pre_hook(lambda m, go: o.append("bwpre"))
m.register_forward_hook(lambda m, a, k, out: o.append(("kw", k)), with_kwargs=True)
m(t.ones(1, 2)).sum().backward()
m(t.ones(1, 2, requires_grad=True)).sum().backward()
result = o
""",
    "module hook replace": """
m = t.nn.Identity()
m.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
m.register_forward_hook(lambda m, i, o: o + 1)
result = m(t.ones(2)).tolist()
""",
    "module hook prepend": """
m = t.nn.Identity()
o = []
m.register_forward_hook(lambda *a: o.append(1))
m.register_forward_hook(lambda *a: o.append(2), prepend=True)
m.register_forward_hook(lambda *a: o.append(3), always_call=True)
m(t.ones(1))
result = o
""",
    "global hooks": """
o = []
from importlib import import_module

M = t.nn.modules.module
h = M.register_module_forward_hook(lambda m, i, out: o.append(type(m).__name__))
t.nn.Sequential(t.nn.Identity())(t.ones(1))
h.remove()
t.nn.Identity()(t.ones(1))
result = o
""",
    "state dict hooks": """
m = t.nn.Linear(1, 1)
m._register_state_dict_hook(lambda mod, sd, pre, loc: sd.update(extra=1)) if hasattr(
    m, "_register_state_dict_hook"
) else None
m.register_state_dict_pre_hook(lambda mod, pre, keep: None)
result = sorted(m.state_dict())
""",
    "load hooks": """
m = t.nn.Linear(1, 1)
o = []
m.register_load_state_dict_pre_hook(lambda *a: o.append("pre"))
m.register_load_state_dict_post_hook(lambda mod, inc: (o.append("post"), inc.missing_keys.clear())[0])
r = m.load_state_dict({}, strict=False)
result = (o, repr(r))
""",
    "load errors": """
m = t.nn.Linear(2, 2)
result = err(m.load_state_dict, {"weight": t.ones(3, 2), "bogus": t.ones(1)})
""",
    "load errors full": """
m = t.nn.Linear(2, 2)
try:
    m.load_state_dict({"weight": t.ones(3, 2), "bogus": t.ones(1)})
except RuntimeError as e:
    result = str(e)
""",
    "grad modes": """
o = []


@t.no_grad()
def f():
    return t.is_grad_enabled()


@t.enable_grad()
def g():
    yield t.is_grad_enabled()
    yield t.is_grad_enabled()


with t.no_grad():
    o += list(g())
    o.append(t.is_grad_enabled())
o.append(f())
t.set_grad_enabled(False)
o.append(t.is_grad_enabled())
t.set_grad_enabled(True)
with t.set_grad_enabled(False):
    o.append(t.is_grad_enabled())
o.append(t.is_grad_enabled())


@t.set_grad_enabled(False)
def k():
    return t.is_grad_enabled()


o.append(k())
o.append(t.is_grad_enabled())


@t.no_grad
def q():
    return t.is_grad_enabled()


o.append(q())
result = o
""",
    "backward errs": """
x = t.ones(2, requires_grad=True)
result = [
    err((x * 2).backward),
    err(t.ones(1).backward),
    err((x * 2).sum().backward, t.ones(2)),
    err((x * 2).backward, t.ones(3)),
    err(t.autograd.grad, (x * 2).sum(), t.ones(2, requires_grad=True)),
    err(t.autograd.grad, (x * 2).sum(), t.ones(2)),
    err((x * 2).backward, 3),
    err(t.autograd.backward, [x.sum()], [None, None]),
    err(t.autograd.grad, [], x),
    err((x * 2).sum().backward, inputs=[]),
    err(t.autograd.grad, x.sum(), x, allow_unused=False, materialize_grads=True),
]
""",
    "anomaly": """
x = t.tensor([0.0], requires_grad=True)


def f():
    with t.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


def g():
    with t.autograd.set_detect_anomaly(True):
        t.log(x - 1).sum().backward()


result = (err(f), err(g), t.is_anomaly_enabled())
""",
    "gradient edge": """
x = t.ones(2, requires_grad=True)
y = x * 2
e = t.autograd.graph.get_gradient_edge(y)
g = t.autograd.grad((y * 3).sum(), e)
result = (type(e).__name__, e.output_nr, g[0].tolist(), e.node.name())
""",
    "node is": """
x = t.ones(2, requires_grad=True)
y = x * 2
result = (
    isinstance(y.grad_fn, t.autograd.graph.Node),
    y.grad_fn is y.grad_fn,
    y.grad_fn == (x * 2).grad_fn,
    type(y.grad_fn).__name__,
    x.grad_fn,
    y.grad_fn.next_functions[0][0].variable is x,
)
""",
    "multi grad among hooks": """
a, b = t.ones(2, requires_grad=True), t.full((2,), 2.0, requires_grad=True)
h = a * 2
y = h * b
o = []
handle = t.autograd.graph.register_multi_grad_hook((y, h, a, b), lambda gs: o.append([None if g is None else g.tolist() for g in gs]))
for name, x in (("a", a), ("b", b), ("h", h), ("y", y)):
    x.register_hook(lambda g, name=name: o.append(name))
a.register_post_accumulate_grad_hook(lambda p: o.append("added"))
y.sum().backward()
kept = weakref.ref(h)
del h, y, x
result = o, kept() is None
""",
    "inference and grad modes": """
w = t.ones(2, requires_grad=True)
o = []
def see():
    y = w * 2
    o.append((t.is_grad_enabled(), t.is_inference_mode_enabled(), y.requires_grad, y.is_inference()))
with t.no_grad(), t.inference_mode(False):
    see()
with t.inference_mode():
    see()
    with t.enable_grad():
        see()
        with t.no_grad():
            see()
        see()
        with t.inference_mode():
            see()
    with t.inference_mode(False):
        see()
        with t.no_grad():
            see()
    see()
    t.set_grad_enabled(True)
    see()
see()
t.enable_grad()(see)()
with t.inference_mode():
    t.enable_grad()(see)()
    held = t.ones(2)
    t.nn.Parameter(held)
result = o, err(t.nn.Parameter, held), t.nn.Parameter(held, requires_grad=False).requires_grad
""",
    "answers of hooks of other types": """
def of(register, hook):
    x = t.ones(2, requires_grad=True)
    getattr(x, register)(hook)
    return err((x * 2).sum().backward)
result = (
    of("register_hook", lambda g: g.double()),
    of("register_hook", lambda g: g.sum()),
    of("register_hook", lambda g: 3),
    of("register_post_accumulate_grad_hook", lambda p: 3),
    of("register_post_accumulate_grad_hook", lambda p: p),
    of("register_post_accumulate_grad_hook", lambda p: p * 1),
    err(t.set_grad_enabled, "a"),
)
""",
    "writes after a number was divided": """
x = t.ones(3, requires_grad=True)
result = []
for change in (lambda y: y.mul_(2), lambda y: y.zero_(), lambda y: y.__setitem__(0, 5.0)):
    for divide in (lambda y: 1 / y, lambda y: 3 / y, lambda y: y.reciprocal(), lambda y: x / y):
        y = x * 2
        z = divide(y)
        change(y)
        result.append(err(lambda: t.autograd.grad(z.sum(), x))[:90])
""",
    "writes to what a Function has saved": """
class Two(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, place):
        y, z = x.exp(), x * 2
        ctx.save_for_backward((x, y, z)[place])
        return y, z
    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.saved_tensors[0], None

def of(place, write):
    a = t.ones(2, requires_grad=True) * 3
    found = (a, *Two.apply(a, place))
    write(found[place])
    return err(found[1].sum().backward)[:165]
double = lambda x: x.detach().mul_(2)
result = [of(0, lambda x: x.mul_(2)), of(0, lambda x: x[0].zero_()), of(1, double), of(2, double)]
""",
}
