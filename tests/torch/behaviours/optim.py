"""Programs of a few lines: optimizers and schedulers."""

PROGRAMS = {
    "sgd state": """
p = t.nn.Parameter(t.ones(2))
o = t.optim.SGD([p], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
for _ in range(3):
    o.zero_grad()
    (p**2).sum().backward()
    o.step()
sd = o.state_dict()
result = (sorted(sd["param_groups"][0].items(), key=str), {k: sorted(v) for k, v in sd["state"].items()}, R4(p.data))
""",
    "reprs opt": """
p = [t.nn.Parameter(t.ones(1))]
result = [
    repr(getattr(t.optim, n)(p))
    for n in (
        "Adam",
        "AdamW",
        "SGD",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "Adamax",
        "NAdam",
        "RAdam",
        "ASGD",
        "Rprop",
        "LBFGS",
    )
]
""",
    "opt errs": """
p = t.nn.Parameter(t.ones(1))
O = t.optim
result = [
    err(O.SGD, [], lr=0.1),
    err(O.SGD, p, lr=0.1),
    err(O.SGD, [p], lr=-1),
    err(O.Adam, [p], betas=(1.0, 0.9)),
    err(O.Adam, [3]),
    err(O.SGD, [p * 1], lr=0.1),
    err(O.SGD, [{"params": [p]}, {"params": [p]}], lr=0.1),
    err(O.SGD([p], lr=0.1).load_state_dict, {"state": {}, "param_groups": []}),
    err(O.SGD, [p], momentum=-1),
    err(O.SGD, [p], lr=0.1, nesterov=True),
    err(O.Adam, [p], eps=-1),
    err(O.LBFGS([p]).step),
    err(O.SGD([p], lr=0.1).add_param_group, {"params": [p]}),
    err(O.SGD([p], 0.1).add_param_group, 3),
]
""",
    "opt closure": """
p = t.nn.Parameter(t.ones(1))
o = t.optim.SGD([p], lr=0.1)


def c():
    o.zero_grad()
    l = p.sum()
    l.backward()
    return l


result = (
    o.step(c).item(),
    o.step(),
    p.grad is not None,
    (o.zero_grad(), p.grad)[1],
    (p.sum().backward(), o.zero_grad(set_to_none=False), p.grad)[2],
)
""",
    "opt hooks": """
p = t.nn.Parameter(t.ones(1))
o = t.optim.SGD([p], lr=0.1)
l = []
o.register_step_pre_hook(lambda *a: l.append("pre"))
o.register_step_post_hook(lambda *a: l.append("post"))
p.sum().backward()
o.step()
o.register_state_dict_post_hook(lambda op, sd: sd.update(x=1))
result = (l, sorted(o.state_dict()))
""",
    "opt load": """
def mk():
    p = t.nn.Parameter(t.ones(2))
    return (p, t.optim.Adam([p], lr=0.1))


p, o = mk()
(p**2).sum().backward()
o.step()
q, r = mk()
r.load_state_dict(copy.deepcopy(o.state_dict()))
(q**2).sum().backward()
r.step()
result = (R4(q.data), r.state[q]["step"], str(r.state[q]["exp_avg"].dtype), r.param_groups[0]["lr"])
""",
    "opt groups": """
a, c = (t.nn.Parameter(t.ones(1)), t.nn.Parameter(t.ones(1)))
o = t.optim.SGD([{"params": [a], "lr": 0.5}, {"params": c}], lr=0.1, momentum=0.9)
o.add_param_group({"params": [t.nn.Parameter(t.ones(1))], "lr": 3.0})
result = ([g["lr"] for g in o.param_groups], [g["momentum"] for g in o.param_groups], repr(o))
""",
    "named opt": """
m = t.nn.Linear(1, 1)
o = t.optim.SGD(m.named_parameters(), lr=0.1)
result = (o.param_groups[0].get("param_names"), o.state_dict()["param_groups"][0].get("param_names"))
""",
    "foreach max": """
p = t.nn.Parameter(t.ones(1))
o = t.optim.Adam([p], maximize=True, foreach=False)
p.sum().backward()
o.step()
result = (R4(p.data), sorted(o.param_groups[0]))
""",
    "schedulers": """
S = t.optim.lr_scheduler
out = []
mk = [
    ("StepLR", lambda o: S.StepLR(o, 2, 0.5)),
    ("Multi", lambda o: S.MultiStepLR(o, [1, 3])),
    ("Exp", lambda o: S.ExponentialLR(o, 0.9)),
    ("Cos", lambda o: S.CosineAnnealingLR(o, 4)),
    ("Lam", lambda o: S.LambdaLR(o, lambda e: 0.9**e)),
    ("Mult", lambda o: S.MultiplicativeLR(o, lambda e: 0.5)),
    ("Warm", lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2)),
    ("Cyc", lambda o: S.CyclicLR(o, 0.01, 0.1, 2)),
    ("One", lambda o: S.OneCycleLR(o, 0.1, total_steps=6)),
    ("Lin", lambda o: S.LinearLR(o)),
    ("Const", lambda o: S.ConstantLR(o)),
    ("Poly", lambda o: S.PolynomialLR(o, 4)),
    ("Seq", lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.5)], [2])),
    ("Chain", lambda o: S.ChainedScheduler([S.ConstantLR(o), S.ExponentialLR(o, 0.9)])),
]
for n, f in mk:
    o = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1, momentum=0.9)
    s = f(o)
    l = []
    for _ in range(5):
        o.step()
        s.step()
        l.append(round(o.param_groups[0]["lr"], 6))
    out.append((n, l, [round(v, 6) for v in s.get_last_lr()], s.last_epoch if hasattr(s, "last_epoch") else None))
result = out
""",
    "sched state": """
o = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
s = t.optim.lr_scheduler.StepLR(o, 2)
r = t.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1)
l = []
for v in (1.0, 1.0, 1.0, 1.0, 0.5):
    r.step(v)
    l.append(o.param_groups[0]["lr"])
result = (sorted(s.state_dict()), sorted(r.state_dict()), l, r.get_last_lr(), r.num_bad_epochs)
""",
    "sched warn": """
o = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
s = t.optim.lr_scheduler.StepLR(o, 2)
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    s.step()
result = (
    [str(x.message)[:80] for x in w],
    err(t.optim.lr_scheduler.StepLR, 3, 2),
    err(t.optim.lr_scheduler.OneCycleLR, o, 0.1),
    err(t.optim.lr_scheduler.LambdaLR, o, [1, 2]),
)
""",
    "clip": """
p = t.nn.Parameter(t.ones(4))
(p * 3).sum().backward()
n = t.nn.utils.clip_grad_norm_([p], 1.0)
o = [round(n.item(), 4), R4(p.grad)]
t.nn.utils.clip_grad_value_([p], 0.1)
o.append(R4(p.grad))
p.grad[0] = float("nan")
o.append(err(t.nn.utils.clip_grad_norm_, [p], 1.0, error_if_nonfinite=True))
o.append(t.nn.utils.clip_grad_norm_([], 1.0))
o.append(t.nn.utils.get_total_norm([t.ones(4)]))
result = o
""",
}
