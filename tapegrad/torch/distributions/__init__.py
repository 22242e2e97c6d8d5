"""Distributions, as in `torch.distributions`: samples, log-probabilities and what follows from them.

Samples are PyTorch's under the same seed.  Those of Gamma, Beta, Dirichlet, Chi2 and StudentT move with their concentrations as
they do there: each at its probability.
"""

from tapegrad.torch.distributions import constraints, transforms
from tapegrad.torch.distributions.bernoulli import Bernoulli
from tapegrad.torch.distributions.beta import Beta
from tapegrad.torch.distributions.binomial import Binomial
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.cauchy import Cauchy
from tapegrad.torch.distributions.chi2 import Chi2
from tapegrad.torch.distributions.constraint_registry import biject_to, transform_to
from tapegrad.torch.distributions.continuous_bernoulli import ContinuousBernoulli
from tapegrad.torch.distributions.dirichlet import Dirichlet
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.exp_family import ExponentialFamily
from tapegrad.torch.distributions.exponential import Exponential
from tapegrad.torch.distributions.fishersnedecor import FisherSnedecor
from tapegrad.torch.distributions.gamma import Gamma
from tapegrad.torch.distributions.generalized_pareto import GeneralizedPareto
from tapegrad.torch.distributions.geometric import Geometric
from tapegrad.torch.distributions.gumbel import Gumbel
from tapegrad.torch.distributions.half_cauchy import HalfCauchy
from tapegrad.torch.distributions.half_normal import HalfNormal
from tapegrad.torch.distributions.independent import Independent
from tapegrad.torch.distributions.inverse_gamma import InverseGamma
from tapegrad.torch.distributions.kl import kl_divergence, register_kl
from tapegrad.torch.distributions.kumaraswamy import Kumaraswamy
from tapegrad.torch.distributions.laplace import Laplace
from tapegrad.torch.distributions.lkj_cholesky import LKJCholesky
from tapegrad.torch.distributions.log_normal import LogNormal
from tapegrad.torch.distributions.logistic_normal import LogisticNormal
from tapegrad.torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tapegrad.torch.distributions.mixture_same_family import MixtureSameFamily
from tapegrad.torch.distributions.multinomial import Multinomial
from tapegrad.torch.distributions.multivariate_normal import MultivariateNormal
from tapegrad.torch.distributions.negative_binomial import NegativeBinomial
from tapegrad.torch.distributions.normal import Normal
from tapegrad.torch.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from tapegrad.torch.distributions.pareto import Pareto
from tapegrad.torch.distributions.poisson import Poisson
from tapegrad.torch.distributions.relaxed_bernoulli import RelaxedBernoulli
from tapegrad.torch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tapegrad.torch.distributions.studentT import StudentT
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from tapegrad.torch.distributions.uniform import Uniform
from tapegrad.torch.distributions.von_mises import VonMises
from tapegrad.torch.distributions.weibull import Weibull
from tapegrad.torch.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]


def __getattr__(name: str) -> object:
    from tapegrad.torch._missing import refuse

    refuse("torch.distributions", name, globals())
