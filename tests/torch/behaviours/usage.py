"""Programs of a few lines: ways of use that were met in public scripts and packages."""

PROGRAMS = {
    "as_strided of slices and of leaves that are slices": """
x = t.arange(6.0, dtype=t.float64).requires_grad_()
b = x * 2
y = b[2:4]
beside = y.as_strided((3,), (1,), 0)
beside.backward(t.tensor([1.0, 2.0, 3.0], dtype=t.float64))
leaf = b.detach()[1].requires_grad_()
part = b.detach()[1:3].requires_grad_()
moved = t.arange(12.0).reshape(3, 4).t().requires_grad_()
taken = moved.as_strided((2, 2), (1, 4), 1)
w = t.zeros(6)
v = w[2:4]
v.as_strided((2,), (2,)).fill_(1.0)
result = (
    y.as_strided((2,), (1,)).tolist(), y[1].as_strided((), ()).tolist(), beside.tolist(), x.grad.tolist(),
    t.autograd.grad(t.as_strided(leaf, (), ()) * 3, leaf),
    t.autograd.grad((part.as_strided((3,), (1,), 2) * t.tensor([1.0, 2.0, 3.0])).sum(), part),
    taken.tolist(), t.autograd.grad((taken**2).sum(), moved)[0].tolist(),
    w.tolist(), v.tolist(), err(w.as_strided, (4,), (2,)),
)
""",
    "numbers of NumPy's on the left of an operator": """
o = []
for x in (t.ones(2), t.ones(2, requires_grad=True), t.arange(2), t.ones(2, dtype=t.float16), t.tensor(2.0)):
    for a in (np.float64(2.5), np.float32(2), np.int64(3)):
        for f in ("a + x", "a - x", "a * x", "a / x.add(3)", "a % x.add(1)", "a**x", "a < x", "a >= x", "a == x"):
            y = eval(f)
            o.append((f, type(y).__name__, str(y.dtype), y.requires_grad, R4(y)))
result = o
""",
    "truths copied into tensors and loaded into buffers": """
m = t.nn.Module()
m.register_buffer("ready", t.tensor(False))
m.register_buffer("mask", t.zeros(2, 2, dtype=t.bool))
m.load_state_dict({"ready": t.tensor(True), "mask": t.eye(2).bool()})
x = t.zeros(3, dtype=t.bool)
source = t.tensor([True, False, True])
x.copy_(source)
source[0] = False
result = (
    m.ready.item(), m.mask.tolist(), x.tolist(),
    t.ones(2, 2).bool().copy_(t.tensor(False)).tolist(), t.empty(2).copy_(x[:2]).tolist(),
)
""",
    "assert_allclose": """
a = t.testing.assert_allclose
r = []
for x, y, words in (
    ([1.0, 2.0], [1.0, 2.00001], {}),
    (t.ones(2), t.ones(2, dtype=t.float64) + 2e-4, {}),
    (t.ones(2), np.ones(2), {}),
    (float("nan"), float("nan"), {}),
    (float("nan"), float("nan"), {"equal_nan": False}),
    (t.ones(2), t.ones(3), {}),
    (t.ones(2), t.zeros(2), {"rtol": 0, "atol": 1}),
    (t.ones(2), t.zeros(2), {"msg": "they differ"}),
    (t.tensor([1, 2]), t.tensor([1, 3]), {}),
):
    r.append(err(a, x, y, **words))
result = r
""",
    "a step of a solver that writes into its own table past the version": """
class Assign(t.autograd.Function):
    @staticmethod
    def forward(ctx, table, value, index):
        ctx.index = index
        table.data[index] = value
        return table

    @staticmethod
    def backward(ctx, g):
        return g, g[ctx.index], None


x = t.tensor([1.0, 2.0], requires_grad=True)
k = Assign.apply(t.empty(2, 4), x * 1, (..., 0))
for i in range(3):
    s = (k[..., : i + 1] * t.arange(1.0, i + 2)).sum(-1)
    k = Assign.apply(k, s.sin(), (..., i + 1))
rows = t.zeros(3, requires_grad=True) * 2
y = rows[1:] * rows[1:] + x.sum()
rows.data[0] = 7.0
(k * k).sum().backward(retain_graph=True)
y.sum().backward()
result = R4(k), [round(v, 3) for v in x.grad.tolist()], k._version, R4(rows)
""",
    "gradients at what was computed leave its own step for later": """
a = t.tensor([1.0, 2.0], requires_grad=True)
s = t.tensor([3.0, 4.0], requires_grad=True)
o = []
x = (a - 1) / s
for k in range(3):
    o.append(t.autograd.grad((x * x * (k + 1)).sum(), x)[0].tolist())
layer = t.nn.Linear(2, 2)
for k in range(2):
    o.append(tuple(t.autograd.grad([layer(x)], (x,), grad_outputs=[t.ones(2)])[0].shape))
x.sum().backward()
o.append(a.grad.tolist())
x = (a - 1) / s
y = x * 2
o.append([g.tolist() for g in t.autograd.grad((y * x).sum(), [x, y])])
o.append(err(lambda: t.autograd.grad(y.sum(), [a]))[:60])
x.sum().backward()
x = t.exp(a)
v = x[:1]
o.append([round(t.autograd.grad((v * v).sum(), [v])[0].item(), 3) for _ in range(2)])
x.register_hook(lambda g: g * 10)
o.append([round(t.autograd.grad((x * x).sum(), [x])[0].sum().item(), 2) for _ in range(2)])
x.sum().backward()
o.append(R4(a.grad))
result = o
""",
    "tensors in lists are numbers": """
T = t.tensor


def made(f):
    x = f()
    return tuple(x.shape), str(x.dtype), x.tolist()


r = []
for f in (
    lambda: T([[T([1.0])]]),
    lambda: T([[T([[1.0]])], [T(2.0)]]),
    lambda: T([T([1]), 2]),
    lambda: T([T(1), 2.5]),
    lambda: T([2.5, T(1)]),
    lambda: T([T(1), T(2.5)]),
    lambda: T([T(1.0, dtype=t.float64), 2.5]),
    lambda: T([T(1.0, dtype=t.float16)]),
    lambda: T([T(1, dtype=t.int32), 2]),
    lambda: T([np.float64(1.5), 2.5]),
    lambda: T([np.float32(1.5), T(2)]),
    lambda: T([np.ones((1, 2)), np.ones((1, 2))]),
    lambda: T((T([1.0]), T([2.0])), dtype=t.float64),
    lambda: t.FloatTensor([T([1.0]), T([2.0])]),
    lambda: t.Tensor([T([1.0]), T(2.0)]),
    lambda: t.as_tensor([T([1.0]), T([2.0])]),
    lambda: T([T(1.0, requires_grad=True), T(2.0)]),
    lambda: T([T([1.0, 2.0])]),
    lambda: T([T([]), T([])]),
):
    try:
        r.append(made(f))
    except Exception as error:
        r.append((type(error).__name__, str(error)))
result = r
""",
    "systems solved from factors": """
L = t.linalg
A = t.tensor([[[2.0, 1.0, 0.5], [4.0, -3.0, 1.0], [1.0, 2.0, 5.0]], [[0.0, 1.0, 2.0], [1.5, 0.5, -1.0], [3.0, 2.0, 1.0]]], dtype=t.float64)
A.requires_grad_()
B = t.arange(12.0, dtype=t.float64).reshape(2, 3, 2).sin().requires_grad_()
data, pivots = L.lu_factor(A)
r = []
for words in ({}, {"adjoint": True}, {"left": False}, {"left": False, "adjoint": True}):
    b = B if words.get("left", True) else B.mT
    x = L.lu_solve(data, pivots, b, **words)
    r.append((R4(x), [R4(g) for g in t.autograd.grad((x**2).sum(), [A, B], retain_graph=True)]))
r.append(R4(t.lu_solve(B, data, pivots)))
Z = t.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=t.complex128) * (1 + 1j)
W = Z + t.eye(2)
r.append(R4(L.lu_solve(*L.lu_factor(W), Z, adjoint=True)))
r.append((R4(L.lu_factor_ex(A).info), R4(L.lu_factor_ex(Z.real).info), L.lu_factor_ex(Z.real).info.dtype))
result = r
""",
}
