"""Programs of a few lines: printing, output arguments, reductions, derivatives and transforms."""

PROGRAMS = {
    "printopts": """
o = []
t.set_printoptions(precision=2)
o.append(repr(t.tensor([1.23456])))
t.set_printoptions(sci_mode=True)
o.append(repr(t.tensor([1.23456])))
t.set_printoptions(sci_mode=False, profile="default")
t.set_printoptions(threshold=3, edgeitems=1)
o.append(repr(t.arange(10)))
t.set_printoptions(profile="full")
o.append(len(repr(t.arange(2000))))
t.set_printoptions(profile="default", sci_mode=None)
t.set_printoptions(linewidth=20)
o.append(repr(t.arange(10.0)))
t.set_printoptions(profile="default")
o.append(repr(t.arange(3.0) / 7))
result = o
""",
    "out": """
o = []
a = t.empty(2)
r = t.add(t.ones(2), 1, out=a)
o += [a.tolist(), r is a]
e = t.empty(0)
t.mul(t.ones(3), 2, out=e)
o.append(e.tolist())
i = t.empty(2, dtype=t.int64)
o.append(err(t.add, t.ones(2), 1.5, out=i))
v = t.empty(2)
k = t.empty(2, dtype=t.int64)
t.max(t.ones(2, 2), 1, out=(v, k))
o += [v.tolist(), k.tolist()]
o.append(err(t.add, t.ones(2, requires_grad=True), 1, out=a))
d = t.empty(2, dtype=t.float64)
t.add(t.ones(2), 1, out=d)
o.append(str(d.dtype))
t.matmul(t.eye(2), t.ones(2), out=a)
o.append(a.tolist())
t.cat([t.ones(1), t.zeros(1)], out=a)
o.append(a.tolist())
t.arange(2.0, out=a)
o.append(a.tolist())
t.zeros(2, out=a)
o.append(a.tolist())
t.randn(2, out=a)
t.sum(t.ones(2, 2), 0, out=a)
o.append(a.tolist())
t.where(t.tensor([True, False]), t.ones(2), t.zeros(2), out=a)
o.append(a.tolist())
t.stack([t.tensor(1.0), t.tensor(2.0)], out=a)
o.append(a.tolist())
result = o
""",
    "complex misc": """
z = t.tensor([1 + 2j, 3 - 1j])
w = z.clone()
w.real.mul_(2)
w.imag[0] = 7
result = (
    w,
    z.real.dtype,
    z.H if z.dim() == 2 else 0,
    z.mH if z.dim() == 2 else 0,
    t.real(t.ones(1)),
    err(t.imag, t.ones(1)),
    z.is_complex(),
    z.conj().resolve_conj(),
    z.dtype.to_real(),
    t.float32.to_complex(),
    z.abs().dtype,
    z.numpy().dtype,
    t.complex(t.ones(1).double(), t.ones(1).double()).dtype,
    t.tensor(1j).item(),
    t.polar(t.tensor(2.0), t.tensor(0.0)),
    z == z,
    z.isfinite(),
    t.allclose(z, z),
    z.mean(),
    z.var(),
    z.std(),
    t.isreal(z),
    z.nonzero(),
    (z * 1.5).dtype,
    (z.real * 1j).dtype,
    t.tensor([1.0, 2.0]) + 1j,
)
""",
    "gradcheck": """
g = t.autograd.gradcheck
x = t.tensor([0.5, 1.0], dtype=t.float64, requires_grad=True)


class Bad(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


result = [
    g(t.sin, (x,)),
    err(g, Bad.apply, (x,)),
    g(Bad.apply, (x,), raise_exception=False),
    t.autograd.gradgradcheck(lambda x: x**3, (x,)),
    err(g, t.sin, (t.ones(2, requires_grad=True),)),
    err(g, t.sin, (t.ones(2, dtype=t.float64),)),
    g(lambda x: (x, x * 2), (x,)),
    g(t.mul, (x, x.detach().clone().requires_grad_())),
    g(t.sin, (x,), fast_mode=True),
    g(t.sin, x, check_forward_ad=True),
    g(lambda a: a.sum(), [x]),
    g(t.sin, (x,), check_batched_grad=True),
]
""",
    "higher": """
x = t.tensor([1.0, 2.0], requires_grad=True)
(g,) = t.autograd.grad((x**4).sum(), x, create_graph=True)
(g2,) = t.autograd.grad(g.sum(), x, create_graph=True)
(g3,) = t.autograd.grad(g2.sum(), x)
o = [R4(g), R4(g2), R4(g3)]
y = (x**3).sum()
y.backward(create_graph=True)
o.append((R4(x.grad), x.grad.requires_grad, x.grad.grad_fn is not None))
x.grad.sum().backward()
o.append(R4(x.grad))
w = t.ones(3, 2, requires_grad=True)
z = t.nn.functional.softplus(w @ x.detach()).sum()
(gw,) = t.autograd.grad(z, w, create_graph=True)
p = (gw.norm(2) - 1) ** 2
p.backward()
o.append(R4(w.grad))
result = o
""",
    "grad opts": """
x = t.tensor([1.0, 2.0], requires_grad=True)
y = t.tensor([3.0], requires_grad=True)
G = t.autograd.grad
result = [
    G(x.sum(), [x, y], allow_unused=True),
    G(x.sum(), [x, y], materialize_grads=True),
    G([x.sum(), (x * 2).sum()], x),
    G(x * 2, x, t.ones(2)),
    G([x * 2, x * 3], [x], [t.ones(2), None] if 0 else [t.ones(2), t.ones(2)]),
    G(x * 2, x, t.eye(2), is_grads_batched=True),
    err(G, x * 2, x, t.ones(2), is_grads_batched=True),
    x.grad,
    G(x.sum(), (x, x)),
    err(G, x.sum(), []),
    err(G, x.sum(), x, t.ones(2)),
    G(x.sum(), x, retain_graph=True, create_graph=True)[0].requires_grad,
]
""",
    "retain": """
x = t.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
o = [y.retains_grad, x.retains_grad, y.is_leaf]
z = y * 3
z.sum().backward()
o.append(y.grad.tolist())
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    o.append(z.grad)
    o.append([str(v.message)[:60] for v in w])
result = o
""",
    "detach": """
x = t.ones(2, requires_grad=True)
y = x * 2
d = y.detach()
o = [d.requires_grad, d.is_leaf, d.data_ptr() == y.data_ptr()]
d[0] = 5
o.append(y.tolist())
y2 = x * 2
y2.detach_()
o += [y2.requires_grad, y2.grad_fn, y2.is_leaf]
o.append(err((x * 2)[0:1].detach_))
z = x.data
z[0] = 9
o += [x.tolist(), z.requires_grad]
x.data = t.zeros(3)
o += [x.shape, x.requires_grad]
result = o
""",
    "reduce grads": """
o = []
for f in (
    lambda x: x.max(),
    lambda x: x.max(1)[0].sum(),
    lambda x: x.amax(1).sum(),
    lambda x: x.amax(),
    lambda x: x.median(),
    lambda x: x.prod(),
    lambda x: x.prod(1).sum(),
    lambda x: x.std(),
    lambda x: x.var(0, unbiased=False).sum(),
    lambda x: x.norm(),
    lambda x: x.norm(1, 1).sum(),
    lambda x: x.norm(float("inf")),
    lambda x: x.logsumexp(1).sum(),
    lambda x: x.cumprod(1).sum(),
    lambda x: x.cummax(1)[0].sum(),
    lambda x: x.sort(1)[0][:, 0].sum(),
    lambda x: x.topk(2, 1)[0].sum(),
    lambda x: x.kthvalue(2, 1)[0].sum(),
    lambda x: x.mode(1)[0].sum(),
    lambda x: x.nanmean(),
    lambda x: x.quantile(0.4),
    lambda x: x.unique().sum() if 0 else x.sum(),
    lambda x: x.min(0).values.sum(),
    lambda x: x.aminmax().max,
    lambda x: x.std_mean()[0] if 0 else t.std_mean(x)[0],
    lambda x: x.trace() if 0 else x[:2, :2].trace(),
    lambda x: x.dist(x * 2),
    lambda x: x.renorm(2, 0, 1.0).sum(),
    lambda x: x.logcumsumexp(1).sum(),
    lambda x: x.nansum(),
    lambda x: x.count_nonzero().float() + x.sum(),
    lambda x: x.all().float() + x.sum(),
    lambda x: x.argmax().float() + x.sum(),
    lambda x: x.mean((0, 1)),
    lambda x: x.sum(dim=(), keepdim=False),
    lambda x: x.diff(dim=1).pow(2).sum(),
    lambda x: x.cov().sum(),
    lambda x: x.corrcoef().sum(),
):
    x = t.tensor([[1.0, 3.0, 3.0], [2.0, -1.0, 0.0]], requires_grad=True)
    try:
        y = f(x)
        y.backward()
        o.append((round(y.item(), 4), R4(x.grad)))
    except Exception as e:
        o.append(type(e).__name__ + str(e)[:100])
result = o
""",
    "memory": """
x = t.ones(2, requires_grad=True)
y = x.sin()
r = weakref.ref(y.grad_fn) if 0 else 1
o = []


class Tk:
    pass


tk = Tk()
w = weakref.ref(tk)
y.grad_fn.metadata["a"] = tk
del tk
o.append(w() is not None)
del y
gc.collect()
o.append(w() is None)
big = t.ones(10)
w = weakref.ref(big)
z = (x.sum() * big).sum()
del big
o.append(w() is not None)
z.backward()
gc.collect()
o.append(w() is None)
result = o
""",
    "linalg grads": """
o = []
L = t.linalg
for f in (
    lambda A: L.det(A),
    lambda A: L.inv(A).sum(),
    lambda A: L.solve(A, t.ones(2)).sum(),
    lambda A: L.cholesky(A @ A.T).sum(),
    lambda A: L.eigvalsh(A @ A.T)[0],
    lambda A: L.svdvals(A).sum(),
    lambda A: L.norm(A, 2),
    lambda A: L.norm(A, "nuc"),
    lambda A: L.slogdet(A)[1],
    lambda A: L.pinv(A).sum(),
    lambda A: L.qr(A)[1].abs().sum(),
    lambda A: L.matrix_exp(A * 0.1).sum(),
    lambda A: t.logdet(A),
    lambda A: L.matrix_power(A, -1).sum(),
    lambda A: L.lstsq(A, t.ones(2, 1)).solution.sum(),
    lambda A: L.cond(A),
    lambda A: L.eigvals(A).real.sum(),
    lambda A: L.lu(A)[2].sum(),
    lambda A: L.norm(A, -2),
    lambda A: L.norm(A, 1),
    lambda A: L.vector_norm(A, 3),
    lambda A: L.cross(A[0].repeat(2)[:3], t.ones(3)).sum(),
    lambda A: t.triangular_solve(t.ones(2, 1), A.triu())[0].sum(),
    lambda A: t.cholesky_solve(t.ones(2, 1), L.cholesky(A @ A.T)).sum(),
    lambda A: t.kron(A, A).sum(),
    lambda A: t.einsum("ij,jk,ki", A, A, A),
    lambda A: t.tensordot(A, A, 2),
    lambda A: t.trace(A @ A),
    lambda A: L.multi_dot([A, A, A]).sum(),
    lambda A: t.cdist(A, A + 1).sum(),
    lambda A: t.block_diag(A, A).sum(),
    lambda A: L.vecdot(A, A).sum(),
):
    A = t.tensor([[4.0, 1.0], [2.0, 3.0]], requires_grad=True)
    try:
        y = f(A)
        y.backward()
        o.append((round(y.item(), 3), [round(v, 3) for v in A.grad.flatten().tolist()]))
    except Exception as e:
        o.append(type(e).__name__ + str(e)[:100])
result = o
""",
    "fft": """
x = t.tensor([1.0, 2.0, 4.0, -1.0], requires_grad=True)
o = []
for f in (
    lambda x: t.fft.fft(x),
    lambda x: t.fft.rfft(x),
    lambda x: t.fft.irfft(t.fft.rfft(x) * 2),
    lambda x: t.fft.ifft(t.fft.fft(x)).real,
    lambda x: t.fft.fft(x, norm="ortho"),
    lambda x: t.fft.fft2(x.view(2, 2)),
    lambda x: t.fft.fftshift(x),
    lambda x: t.fft.fft(x, n=6),
    lambda x: t.fft.rfft2(x.view(2, 2)),
    lambda x: t.fft.hfft(t.fft.rfft(x)),
    lambda x: t.fft.ihfft(x),
    lambda x: t.fft.fftn(x.view(2, 2)),
    lambda x: t.fft.irfft(t.fft.rfft(x), n=3),
):
    x.grad = None
    y = f(x)
    (y.abs() ** 2).sum().backward()
    o.append((R4(y), R4(x.grad)))
o += [
    R4(t.fft.fftfreq(4)),
    R4(t.fft.rfftfreq(4, 0.5)),
    err(t.fft.fft, t.ones(0)),
    err(t.fft.fft, x, dim=3),
    err(t.fft.irfft, t.ones(1)),
]
result = o
""",
}
