"""Programs of a few lines: views, writes in place and versions."""

PROGRAMS = {
    "inplace leaf": """
x = t.ones(2, requires_grad=True)
out = [
    err(x.add_, 1),
    err(x[0].add_, 1),
    err(x.__setitem__, 0, 1.0),
    err(x.detach().add_, 1),
    err(x.view(2).mul_, 2),
    err(x.zero_),
    err(x.requires_grad_, False),
    err((x * 1).requires_grad_, False),
]
result = out
""",
    "view inplace grad": """
x = t.ones(4, requires_grad=True)
y = x * 1
v = y[:2]
v.mul_(3)
w = y[1:]
w.add_(v.sum())
y.sum().backward()
result = (x.grad.tolist(), y.grad_fn.name(), v.grad_fn.name(), y.tolist())
""",
    "view attrs": """
x = t.ones(2, 3)
v = x.t()
w = v[0]
result = (
    x._is_view(),
    v._is_view(),
    w._base is x,
    v._base is x,
    x._base,
    v.is_contiguous(),
    v.stride(),
    w.storage_offset(),
    x.data_ptr() == v.data_ptr(),
    v.is_leaf,
)
""",
    "split inplace": """
x = t.ones(4, requires_grad=True)
y = x * 1
a, c = y.split(2)
result = (err(a.add_, 1), err(y.unbind(0)[0].add_, 1), err(y.chunk(2)[0].mul_, 2), err(y.tensor_split(2)[0].mul_, 2))
""",
    "nograd view": """
x = t.ones(2, requires_grad=True)
y = x * 1
with t.no_grad():
    v = y.view(2)
o = [v.requires_grad, err(v.add_, 1)]
with t.no_grad():
    u = y[0]
    u.mul_(3)
result = (o, y.tolist())
""",
    "expand inplace": """
x = t.ones(1, 3).expand(2, 3)
result = (err(x.add_, 1), err(x.__setitem__, (0, 0), 5.0))
""",
    "mutation ctx": """
x = t.ones(2, requires_grad=True)
with t.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
    y = x * 2
    z = y * y
    y.add_(1)
    z.sum().backward()
result = x.grad.tolist()
""",
    "functions on each number": """
x = t.ones(2, requires_grad=True)
y, z = x * 2, t.ones(2)
def sum3(a, b, c):
    return a + b + c
result = [
    err(y.apply_, abs),
    err(x.apply_, abs),
    err(y.map_, z, max),
    err(z.map_, y, max),
    err(z.map2_, z, y, sum3),
    z.map2_(z, t.full((2,), 2.0), sum3).tolist(),
    z.map_(t.tensor(7.0), max).tolist(),
    z.apply_(abs).tolist(),
    err(x.set_, z),
    y.detach().apply_(lambda v: v + 1).tolist(),
    y.tolist(),
]
""",
}
