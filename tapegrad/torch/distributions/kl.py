"""Kullback and Leibler's divergence of two distributions, where a formula is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad.torch.distributions.bernoulli import Bernoulli
from tapegrad.torch.distributions.beta import Beta
from tapegrad.torch.distributions.binomial import Binomial
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.cauchy import Cauchy
from tapegrad.torch.distributions.continuous_bernoulli import ContinuousBernoulli
from tapegrad.torch.distributions.dirichlet import Dirichlet
from tapegrad.torch.distributions.exponential import Exponential
from tapegrad.torch.distributions.gamma import Gamma
from tapegrad.torch.distributions.geometric import Geometric
from tapegrad.torch.distributions.gumbel import Gumbel
from tapegrad.torch.distributions.half_normal import HalfNormal
from tapegrad.torch.distributions.independent import Independent
from tapegrad.torch.distributions.laplace import Laplace
from tapegrad.torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tapegrad.torch.distributions.multivariate_normal import MultivariateNormal
from tapegrad.torch.distributions.normal import Normal
from tapegrad.torch.distributions.one_hot_categorical import OneHotCategorical
from tapegrad.torch.distributions.pareto import Pareto
from tapegrad.torch.distributions.poisson import Poisson
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.uniform import Uniform
from tapegrad.torch.distributions.utils import euler_constant, softplus, sum_rightmost, torch
from tapegrad.torch.distributions.wishart import Wishart

__all__ = ["kl_divergence", "register_kl"]

_FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Declare the decorated function of p and q the divergence of two classes and their subclasses."""
    for given in (type_p, type_q):
        if not isinstance(given, type):  # classes of a program's own need not be derived from Distribution
            raise TypeError(f"Expected type_p and type_q to be Distribution subclasses but got {given}")

    def register(formula: Any) -> Any:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return register


def kl_divergence(p: Any, q: Any) -> Any:
    """The divergence of q from p: the mean of log p(x) - log q(x) over samples of p."""
    best = [
        (type(p).__mro__.index(a) + type(q).__mro__.index(b), formula)
        for (a, b), formula in _FORMULAS.items()
        if isinstance(p, a) and isinstance(q, b)
    ]
    if not best:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return min(best, key=lambda found: found[0])[1](p, q)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    n = p.event_shape[0]
    batch = torch.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    left, right = (d.scale_tril.expand((*batch, n, n)) for d in (q, p))
    trace = torch.linalg.solve_triangular(left, right, upper=False).pow(2).sum(-1).sum(-1)
    rest = (q.loc - p.loc).expand((*batch, n)).unsqueeze(-1)
    distance = torch.linalg.solve_triangular(left, rest, upper=False).pow(2).sum(-1).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - n)


def _lowrank(p: Any, q: Any) -> Any:
    """Of two normal distributions of which one or both have a covariance of low rank."""
    n = p.event_shape[0]
    inverse = q.precision_matrix
    trace = (inverse * p.covariance_matrix).sum(-1).sum(-1)
    rest = (q.loc - p.loc).unsqueeze(-1)
    distance = (rest * (inverse @ rest)).sum(-1).sum(-1)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - n)


def _log_det(d: Any) -> Any:
    return d._log_det() if isinstance(d, LowRankMultivariateNormal) else 2 * d._half_log_det()


register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)(_lowrank)
register_kl(MultivariateNormal, LowRankMultivariateNormal)(_lowrank)
register_kl(LowRankMultivariateNormal, MultivariateNormal)(_lowrank)


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Any:
    n = p.event_shape[-1]
    half = torch.linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    halves = torch.arange(n, dtype=p.df.dtype, device=p.df.device) / 2
    digammas = torch.digamma((p.df / 2).unsqueeze(-1) - halves).sum(-1)
    return (
        q.df * (q._log_scale() - p._log_scale())
        + p.df / 2 * (half.pow(2).sum(-1).sum(-1) - n)
        + torch.mvlgamma(q.df / 2, n)
        - torch.mvlgamma(p.df / 2, n)
        + (p.df - q.df) / 2 * digammas
    )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    by_mean = p.mean * (p.logits - q.logits)
    return by_mean + p._log_norm() + torch.log1p(-p.probs) - q._log_norm() - torch.log1p(-q.probs)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, found)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, apart, shift = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    tail = torch.exp(apart + (1 + ratio).lgamma() - shift)
    return shift - ratio.log() - apart + tail + ratio * euler_constant - (1 + euler_constant)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = torch.log((q.high - q.low) / (p.high - p.low))
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch.lgamma(q.concentration)
        - torch.lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norm = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norm + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(q.probs == 0, math.inf, one)
    one = torch.where(p.probs == 0, torch.zeros_like(one), one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = torch.where(q.probs == 1, math.inf, zero)
    return one + torch.where(p.probs == 1, torch.zeros_like(zero), zero)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where((q.probs == 0).expand_as(terms), math.inf, terms)
    return torch.where((p.probs == 0).expand_as(terms), torch.zeros_like(terms), terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of two Independents is known where as many axes belong to an event of both")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of two transformed distributions is known where their transforms are equal")
    return kl_divergence(p.base_dist, q.base_dist)
