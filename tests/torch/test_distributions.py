"""Distributions: samples, log-probabilities, moments, derivatives and errors, as PyTorch gives them."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T
from tapegrad.torch import _arrays
from tapegrad.torch import distributions as ours
from tapegrad.torch._generator import default_generator
from tests.torch.distribution_cases import CASES, SOME

#: Those whose samples move with a concentration, for which PyTorch has approximations of three or four digits.
BY_CONCENTRATION = {
    *("Gamma", "Chi2", "Dirichlet", "Beta", "StudentT", "InverseGamma", "FisherSnedecor", "Wishart", "Wishart by factor"),
}
#: Those whose cdf is not here.
NO_CDF = {"VonMises"}
#: Those that PyTorch draws from Intel's library on Intel's processors.
INTEL = {"Exponential"}


@pytest.fixture(autouse=True)
def warnings_of_pytorch_are_its_own() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch")
        # Moments that are infinite or not there, which PyTorch's kernels don't warn of.
        warnings.filterwarnings("ignore", "(divide by zero|invalid value) encountered", RuntimeWarning)
        yield


class Both:
    """A distribution of PyTorch's and one of ours, with the same parameters, and the tensors that are these."""

    def __init__(self, name: str, *, factor: float = 1.0, requires_grad: bool = False) -> None:
        import torch
        from torch import distributions as theirs

        expression, values = CASES[name]
        scaled = [(np.asarray(v) * factor).tolist() for v in values]
        self.torch: Any = torch
        self.parameters = [[t.tensor(v, requires_grad=requires_grad) for v in scaled] for t in (torch, T)]
        modules: list[Any] = [theirs, ours]
        self.made = [
            eval(expression, {"m": m, **dict(zip("abc", p, strict=False))})
            for m, p in zip(modules, self.parameters, strict=True)
        ]

    def seed(self) -> None:
        self.torch.manual_seed(1)
        default_generator().manual_seed(1)

    def compare(self, what: Callable[[Any], Any], *, rtol: float = 2e-5) -> list[Any] | None:
        """The two results, which agree; None where PyTorch has none."""
        try:
            theirs = what(self.made[0])
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                what(self.made[1])
            return None
        mine = what(self.made[1])
        agree(theirs, mine, rtol)
        return [theirs, mine]


def agree(theirs: Any, mine: Any, rtol: float = 2e-5) -> None:
    assert tuple(theirs.shape) == tuple(mine.shape)
    assert str(theirs.dtype) == str(mine.dtype)
    np.testing.assert_allclose(_arrays.raw(mine), theirs.detach().numpy(), rtol=rtol, atol=1e-6)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", CASES)
def test_moments_and_entropies_agree(name: str) -> None:
    pair = Both(name)
    theirs, mine = pair.made
    assert (tuple(theirs.batch_shape), tuple(theirs.event_shape)) == (tuple(mine.batch_shape), tuple(mine.event_shape))
    assert (theirs.has_rsample, theirs.has_enumerate_support) == (mine.has_rsample, mine.has_enumerate_support)
    for what in ("mean", "mode", "variance", "stddev"):
        pair.compare(lambda d, what=what: getattr(d, what))
    pair.compare(lambda d: d.entropy())
    if theirs.has_enumerate_support:
        for expand in (True, False):
            pair.compare(lambda d, expand=expand: d.enumerate_support(expand))


#: Densities that magnify the rounding of samples: logarithms of what is left of 1.
ROUNDED = {"LKJCholesky": 1e-3}
#: Those that PyTorch draws twice.
OTHER_NUMBERS = {"Wishart", "Wishart by factor"}
SAMPLED = [name for name in CASES if name not in OTHER_NUMBERS]


@pytest.mark.interop("torch")
@pytest.mark.parametrize("shape", [(), (4,), (20, 3)])
@pytest.mark.parametrize("name", SAMPLED)
def test_samples_and_what_is_said_of_them_agree(name: str, shape: tuple[int, ...]) -> None:
    pair = Both(name)
    pair.seed()
    samples = pair.compare(lambda d: d.sample(shape))
    assert samples is not None
    assert pair.torch.get_rng_state().numpy().tobytes() == default_generator().state_bytes()
    by = {id(d): x for d, x in zip(pair.made, samples, strict=True)}
    pair.compare(lambda d: d.log_prob(by[id(d)]), rtol=ROUNDED.get(name, 2e-5))
    if name not in NO_CDF:
        pair.compare(lambda d: d.cdf(by[id(d)]))
    pair.compare(lambda d: d.icdf(by[id(d)] * 0 + 0.3))


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", SAMPLED)
def test_derivatives_agree(name: str) -> None:
    pair = Both(name, requires_grad=True)
    for what in ["log_prob", *(["rsample"] if pair.made[0].has_rsample else [])]:
        pair.seed()
        drawn = [d.sample((5,)) if what == "log_prob" else d.rsample((5,)) for d in pair.made]
        found = [d.log_prob(x) if what == "log_prob" else x for d, x in zip(pair.made, drawn, strict=True)]
        agree(*found, rtol=ROUNDED.get(name, 2e-5))
        grads = [
            grad(y.sum(), p, allow_unused=True, retain_graph=True)
            for grad, y, p in zip((pair.torch.autograd.grad, T.autograd.grad), found, pair.parameters, strict=True)
        ]
        for theirs, mine in zip(*grads, strict=True):
            assert (theirs is None) == (mine is None)
            if theirs is not None:
                agree(theirs, mine, rtol=1e-2 if name in BY_CONCENTRATION else 2e-4)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", SAMPLED)
def test_a_larger_batch_samples_alike(name: str) -> None:
    pair = Both(name)
    pair.made = [d.expand((2, *d.batch_shape)) for d in pair.made]
    pair.seed()
    samples = pair.compare(lambda d: d.sample())
    assert samples is not None
    by = {id(d): x for d, x in zip(pair.made, samples, strict=True)}
    pair.compare(lambda d: d.log_prob(by[id(d)]))


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", CASES)
def test_divergences_agree(name: str) -> None:
    from torch.distributions import kl_divergence

    factor = 1.0 if name == "by precision" else 0.9
    pair, other = Both(name), Both(name, factor=factor)
    try:
        expected = kl_divergence(pair.made[0], other.made[0])
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match=r"KL|known where"):
            ours.kl_divergence(pair.made[1], other.made[1])
        return
    agree(expected, ours.kl_divergence(pair.made[1], other.made[1]), rtol=1e-3)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", sorted(OTHER_NUMBERS))
def test_covariances_have_pytorchs_density_and_their_own_mean(name: str) -> None:
    pair = Both(name, requires_grad=True)
    matrices = [[[3.0, 0.4], [0.4, 5.0]], [[1.0, -0.2], [-0.2, 0.3]]]
    shape = (2, *pair.made[0].batch_shape, 2, 2)
    values = [t.tensor(matrices).reshape((2, *(1,) * (len(shape) - 3), 2, 2)).expand(shape) for t in (pair.torch, T)]
    found = [d.log_prob(x) for d, x in zip(pair.made, values, strict=True)]
    agree(*found)
    grads = [
        grad(y.sum(), p) for grad, y, p in zip((pair.torch.autograd.grad, T.autograd.grad), found, pair.parameters, strict=True)
    ]
    for theirs, mine in zip(*grads, strict=True):
        # Above its diagonal a triangle is no parameter: PyTorch's derivative there is that of an entry that it doesn't read.
        agree(*((theirs, mine) if "factor" not in name or theirs.dim() < 2 else (theirs.tril(), mine.tril())), rtol=2e-4)
    pair.seed()
    with T.no_grad():
        drawn = pair.made[1].expand((2, *pair.made[1].batch_shape)).sample((4000,))
        assert bool(pair.made[1].support.check(drawn).all())
        apart = (drawn.mean(0) - pair.made[1].mean).abs()
        assert bool((apart < 4 * pair.made[1].stddev / 4000**0.5).all())


@pytest.mark.interop("torch")
@pytest.mark.parametrize("made", ["Bernoulli(logits=a)", "Categorical(logits=a)", "Geometric(logits=a)", "Binomial(5, logits=a)"])
def test_a_sample_leaves_the_history_of_parameters_as_it_is(made: str) -> None:
    import torch
    from torch import distributions as theirs

    grads = []
    for module, t in ((theirs, torch), (ours, T)):
        a = t.tensor(SOME, requires_grad=True)
        d = eval(made, {**vars(module), "a": a})
        d.sample()
        (d.mean if "Binomial" in made or "Geometric" in made else d.entropy()).sum().backward()
        grads.append(a.grad)
    agree(*grads, rtol=2e-4)


# -- maps onto regions ---------------------------------------------------------------------------------------------
REGIONS = {
    "real": ("c.real", (3,)),
    "positive": ("c.positive", (3,)),
    "greater_than": ("c.greater_than(-1.5)", (3,)),
    "less_than": ("c.less_than(2.0)", (3,)),
    "unit_interval": ("c.unit_interval", (3,)),
    "interval": ("c.interval(-1.0, 4.0)", (2, 3)),
    "independent": ("c.independent(c.positive, 1)", (2, 3)),
    "simplex": ("c.simplex", (2, 4)),
    "lower_cholesky": ("c.lower_cholesky", (2, 3, 3)),
    "positive_definite": ("c.positive_definite", (3, 3)),
    "corr_cholesky": ("c.corr_cholesky", (2, 6)),
    "cat": ("c.cat([c.positive, c.interval(0.0, 2.0)], -1, [2, 3])", (2, 5)),
    "stack": ("c.stack([c.positive, c.real], -1)", (3, 2)),
}
#: Regions whose maps are not told how much they stretch.
TO_ALONE = {"lower_cholesky", "positive_definite"}


@pytest.mark.interop("torch")
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", REGIONS)
def test_maps_onto_regions_agree(name: str, registry: str) -> None:
    import torch
    from torch import distributions as theirs

    text, shape = REGIONS[name]
    if name in TO_ALONE and registry == "biject_to":
        for module in (theirs, ours):
            with pytest.raises(NotImplementedError, match="Cannot transform"):
                module.biject_to(eval(text, {"c": module.constraints}))
        return
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    made = []
    for module, t in ((theirs, torch), (ours, T)):
        region = eval(text, {"c": module.constraints})
        transform = getattr(module, registry)(region)
        given = t.tensor(x, requires_grad=True)
        y = transform(given)
        assert bool(region.check(y).all())
        y.pow(2).sum().backward()
        results = [y, given.grad, transform.inv(y)]
        if transform.bijective and name not in TO_ALONE:
            results.append(transform.log_abs_det_jacobian(given, y))
            assert tuple(transform.inverse_shape(y.shape)) == shape
        assert tuple(transform.forward_shape(given.shape)) == tuple(y.shape)
        assert (transform.domain.event_dim, transform.codomain.event_dim) == (transform.inv.codomain.event_dim, region.event_dim)
        made.append(results)
    for expected, found in zip(*made, strict=True):
        agree(expected, found, rtol=2e-4)


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "text",
    [
        "d.ReshapeTransform((2, 3), (6,))",
        "d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform()])",
        "d.ComposeTransform([d.ExpTransform(), d.ReshapeTransform((2, 3), (3, 2))])",
        "d.CumulativeDistributionTransform(d.Normal(0.0, 1.5))",
        "d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.AffineTransform(1.0, -2.0)], -1)",
        "d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], -1, [1, 2])",
    ],
)
def test_maps_that_rearrange_agree(text: str) -> None:
    import torch
    from torch import distributions as theirs

    x = np.random.default_rng(5).normal(size=(4, 2, 3)).astype(np.float32)
    made = []
    for module, t in ((theirs, torch), (ours, T)):
        transform = eval(text, {"d": module})
        given = t.tensor(x)
        y = transform(given)
        made.append([y, transform.inv(y), transform.log_abs_det_jacobian(given, y)])
        assert tuple(transform.forward_shape((4, 2, 3))) == tuple(y.shape)
    for expected, found in zip(*made, strict=True):
        agree(expected, found, rtol=2e-4)


def test_the_entropy_of_an_exponential_family_follows_from_its_normaliser() -> None:
    class Normal(ours.ExponentialFamily):
        _mean_carrier_measure = -0.5 * math.log(2 * math.pi)

        def __init__(self, loc: Any, scale: Any) -> None:
            self.loc, self.scale = loc, scale
            super().__init__(loc.shape, validate_args=False)

        @property
        def _natural_params(self) -> tuple[Any, Any]:
            return self.loc / self.scale.pow(2), -0.5 / self.scale.pow(2)

        def _log_normalizer(self, *natural_params: Any) -> Any:
            x, y = natural_params
            return -0.25 * x.pow(2) / y - 0.5 * (-2 * y).log()

    loc, scale = T.tensor([0.5, -1.0]), T.tensor([0.7, 2.0])
    agree_ = ours.Normal(loc, scale).entropy()
    assert np.allclose(Normal(loc, scale).entropy().detach().numpy(), agree_.numpy(), rtol=1e-5)


REFUSED = [
    "MixtureSameFamily(Normal(0.0, 1.0), Normal(t.zeros(3), 1.0))",
    "MixtureSameFamily(Categorical(t.ones(2)), Normal(t.zeros(3), 1.0))",
    "LKJCholesky(1)",
    "LowRankMultivariateNormal(t.zeros(2), t.zeros(3, 1), t.ones(2))",
    "ReshapeTransform((2, 3), (5,))",
    "Normal(t.zeros(2), t.tensor([1.0, -1.0]))",
    "Bernoulli()",
    "Categorical(t.tensor([-1.0, 2]))",
    "Normal(0.0, 1.0).log_prob(3.0)",
    "Normal('a', 1)",
    "MultivariateNormal(t.zeros(2))",
    "MultivariateNormal(t.zeros(2), -t.eye(2))",
    "Normal(t.zeros(3), 1.0).log_prob(t.zeros(2))",
    "Categorical(t.ones(2, 3)).log_prob(t.tensor([3, 1]))",
    "Categorical(t.tensor(1.0))",
    "Dirichlet(t.tensor(1.0))",
    "Independent(Normal(0.0, 1.0), 1)",
]


@pytest.mark.interop("torch")
@pytest.mark.parametrize("call", REFUSED)
def test_errors_are_those_of_pytorch(call: str) -> None:
    import torch
    from torch import distributions as theirs

    errors = []
    for module, t in [(theirs, torch), (ours, T)]:
        with pytest.raises(ValueError, match=r".") as caught:
            eval(call, {**vars(module), "t": t})
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


# -- without PyTorch ---------------------------------------------------------------------------------------------
def test_numbers_recorded_from_pytorch() -> None:
    default_generator().manual_seed(0)
    assert ours.Categorical(T.tensor([0.2, 0.3, 0.5])).sample((8,)).tolist() == RECORDED["Categorical"]
    for name, found in {
        "Normal": ours.Normal(1.0, 2.0).sample((3,)),
        "Beta": ours.Beta(2.0, 3.0).sample((3,)),
        "log_prob": ours.Normal(1.0, 2.0).log_prob(T.tensor([0.0, 3.0])),
    }.items():
        assert [round(x, 4) for x in found.tolist()] == RECORDED[name]


RECORDED: dict[str, list[Any]] = {
    "Categorical": [2, 2, 1, 2, 2, 2, 0, 1],
    "Normal": [-0.4385, 0.1933, -0.1933],
    "Beta": [0.5553, 0.1979, 0.6461],
    "log_prob": [-1.7371, -2.1121],
}


def test_samples_move_with_their_concentrations() -> None:
    a = T.tensor([0.5, 2.0], requires_grad=True)
    for d in (ours.Gamma(a, 1.0), ours.Beta(a, 1.0), ours.Dirichlet(a), ours.StudentT(a)):
        assert not d.sample().requires_grad
        (g,) = T.autograd.grad(d.rsample((3,)).sum(), a)
        assert bool(T.isfinite(g).all())
    rate = T.tensor([0.5, 2.0], requires_grad=True)
    assert ours.Gamma(2.0, rate).rsample().requires_grad


def test_the_mean_of_gamma_samples_moves_as_it_should() -> None:
    T.manual_seed(2)
    a = T.tensor([0.3, 1.0, 4.0], requires_grad=True)
    x = ours.Gamma(a, 2.0).rsample((20_000,))
    (g,) = T.autograd.grad(x.mean(0).sum(), a)
    np.testing.assert_allclose(g.numpy(), 0.5, rtol=0.05)  # the mean is a / 2


def test_a_divergence_that_is_not_known_is_refused_and_can_be_declared() -> None:
    class Mine(ours.Distribution):
        pass

    with pytest.raises(NotImplementedError, match="p type Normal and q type Mine"):
        ours.kl_divergence(ours.Normal(0.0, 1.0), Mine())
    ours.register_kl(ours.Normal, Mine)(lambda p, q: 3)
    try:
        assert ours.kl_divergence(ours.Normal(0.0, 1.0), Mine()) == 3
    finally:
        from tapegrad.torch.distributions import kl

        del kl._FORMULAS[ours.Normal, Mine]


def test_checks_can_be_left_out() -> None:
    assert ours.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    assert math.isnan(ours.Normal(0.0, 1.0, validate_args=False).log_prob(T.tensor(math.nan)).item())
    with pytest.raises(ValueError, match=r"to be within the support \(Real\(\)\)"):
        ours.Normal(0.0, 1.0).log_prob(T.tensor(math.nan))
