"""Programs of a few lines: datasets, loaders, samplers and distributions."""

PROGRAMS = {
    "loader": """
D = t.utils.data
ds = D.TensorDataset(t.arange(10), t.arange(10) * 2)
o = []
for a, c in D.DataLoader(ds, batch_size=4):
    o.append((a.tolist(), c.tolist()))
o.append([a.tolist() for a, c in D.DataLoader(ds, batch_size=4, drop_last=True)])
t.manual_seed(3)
o.append([a.tolist() for a, c in D.DataLoader(ds, batch_size=3, shuffle=True)])
o.append(len(D.DataLoader(ds, batch_size=3)))
g = t.Generator().manual_seed(5)
o.append([a.tolist() for a, c in D.DataLoader(ds, batch_size=5, shuffle=True, generator=g)])
o.append([a.tolist() for a, _ in D.DataLoader(ds, batch_sampler=D.BatchSampler(D.SequentialSampler(ds), 6, False))])
o.append([a.tolist() for a, _ in D.DataLoader(ds, batch_size=None)][:2])
result = o
""",
    "loader errs": """
D = t.utils.data
ds = D.TensorDataset(t.arange(8))


class It(D.IterableDataset):
    def __iter__(self):
        return iter(range(5))


result = [
    err(D.DataLoader, ds, shuffle=True, sampler=D.SequentialSampler(ds)),
    err(D.DataLoader, ds, batch_size=0),
    err(D.DataLoader, It(), shuffle=True),
    err(D.DataLoader, ds, num_workers=-1),
    err(D.TensorDataset, t.ones(2), t.ones(3)),
    err(lambda: len(D.DataLoader(It()))),
    [x.tolist() for x in D.DataLoader(It(), 2)],
    err(D.random_split, ds, [3, 3]),
    err(D.DataLoader, ds, batch_size=2, drop_last=True, batch_sampler=[[1]]),
    err(D.RandomSampler, ds, num_samples=0),
    err(lambda: list(D.DataLoader([object()]))),
]
""",
    "samplers": """
D = t.utils.data
t.manual_seed(0)
ds = list(range(6))
result = [
    list(D.RandomSampler(ds)),
    list(D.RandomSampler(ds, replacement=True, num_samples=4)),
    list(D.WeightedRandomSampler([0.1, 0.9, 0.5], 5)),
    list(D.SubsetRandomSampler([3, 4, 5])),
    list(D.BatchSampler(range(5), 2, False)),
    [list(s) for s in D.random_split(ds, [2, 4])],
    [list(s) for s in D.random_split(ds, [0.5, 0.5], generator=t.Generator().manual_seed(1))],
    list(D.WeightedRandomSampler([0.2, 0.3, 0.5], 3, replacement=False)),
]
""",
    "collate": """
c = t.utils.data.default_collate
import numpy as np, collections

P = collections.namedtuple("P", "a b")
result = [
    c([1, 2]),
    c([1.0, 2.0]),
    c(["a", "b"]),
    c([{"x": 1}, {"x": 2}]),
    c([(1, t.ones(1)), (2, t.zeros(1))]),
    c([P(1, 2), P(3, 4)]),
    c([np.float32(1), np.float32(2)]),
    c([np.ones(2), np.zeros(2)]),
    err(c, [[1, 2], [3]]),
    err(c, [None]),
    err(c, [t.ones(1), t.ones(2)]),
]
""",
    "concat ds": """
D = t.utils.data
a = D.TensorDataset(t.arange(3))
c = D.ConcatDataset([a, a])
s = D.Subset(a, [2, 0])
result = (len(c), c[4], c[-1], s[0], len(s), err(lambda: c[7]), len(a + a), D.StackDataset(t.arange(2), t.arange(2))[1])
""",
    "distributions": """
D = t.distributions
t.manual_seed(0)
o = []
for d in (
    D.Normal(0.0, 1.0),
    D.Categorical(t.tensor([0.2, 0.3, 0.5])),
    D.Bernoulli(0.3),
    D.Uniform(0.0, 2.0),
    D.Exponential(2.0),
    D.Beta(2.0, 3.0),
    D.Gamma(2.0, 1.0),
    D.Laplace(0.0, 1.0),
    D.MultivariateNormal(t.zeros(2), t.eye(2)),
    D.Dirichlet(t.ones(3)),
    D.Poisson(3.0),
    D.Geometric(0.3),
    D.Cauchy(0.0, 1.0),
    D.Gumbel(0.0, 1.0),
    D.LogNormal(0.0, 1.0),
    D.StudentT(3.0),
    D.HalfNormal(1.0),
    D.OneHotCategorical(t.tensor([0.5, 0.5])),
    D.Binomial(4, 0.5),
    D.Independent(D.Normal(t.zeros(2), 1.0), 1),
):
    s = d.sample()

    def tr(f):
        try:
            return R4(f())
        except Exception as e:
            return type(e).__name__

    o.append(
        (
            type(d).__name__,
            R4(s.float()),
            tr(lambda: d.log_prob(s)),
            tr(d.entropy),
            tr(lambda: d.mean),
            tr(lambda: d.variance),
            tuple(d.batch_shape),
            tuple(d.event_shape),
            d.has_rsample,
        )
    )
result = o
""",
    "dist repr": """
D = t.distributions
result = [
    repr(D.Normal(0.0, 1.0)),
    repr(D.Categorical(t.ones(3))),
    repr(D.Bernoulli(logits=t.zeros(2))),
    repr(D.Normal(t.zeros(2), 1.0)),
    err(D.Normal, 0.0, -1.0),
    err(D.Normal(0.0, 1.0).log_prob, "x"),
    err(D.Categorical, t.tensor([-1.0, 2.0])),
    repr(D.Independent(D.Normal(t.zeros(2), 1.0), 1)),
    err(D.Bernoulli, 2.0),
    err(D.Bernoulli),
    repr(D.MultivariateNormal(t.zeros(2), t.eye(2))),
    err(D.Categorical(t.ones(3)).log_prob, t.tensor(5)),
    repr(D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()])),
]
""",
}
