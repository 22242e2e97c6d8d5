"""Distributions, as in `torch.distributions`: samples, log-probabilities and what follows from them.

Samples are PyTorch's under the same seed.  `rsample` of Gamma, Beta, Dirichlet, Chi2 and StudentT does not know its
derivative by the concentrations, and says so where one is asked for.
"""

from tapegrad.torch.distributions import constraints, transforms
from tapegrad.torch.distributions.bernoulli import Bernoulli
from tapegrad.torch.distributions.beta import Beta
from tapegrad.torch.distributions.binomial import Binomial
from tapegrad.torch.distributions.categorical import Categorical
from tapegrad.torch.distributions.cauchy import Cauchy
from tapegrad.torch.distributions.chi2 import Chi2
from tapegrad.torch.distributions.dirichlet import Dirichlet
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.exponential import Exponential
from tapegrad.torch.distributions.gamma import Gamma
from tapegrad.torch.distributions.geometric import Geometric
from tapegrad.torch.distributions.gumbel import Gumbel
from tapegrad.torch.distributions.half_normal import HalfNormal
from tapegrad.torch.distributions.independent import Independent
from tapegrad.torch.distributions.kl import kl_divergence, register_kl
from tapegrad.torch.distributions.laplace import Laplace
from tapegrad.torch.distributions.log_normal import LogNormal
from tapegrad.torch.distributions.multinomial import Multinomial
from tapegrad.torch.distributions.multivariate_normal import MultivariateNormal
from tapegrad.torch.distributions.normal import Normal
from tapegrad.torch.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from tapegrad.torch.distributions.poisson import Poisson
from tapegrad.torch.distributions.studentT import StudentT
from tapegrad.torch.distributions.transformed_distribution import TransformedDistribution
from tapegrad.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from tapegrad.torch.distributions.uniform import Uniform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transforms",
]


def __getattr__(name: str) -> object:
    from tapegrad.torch._missing import refuse

    refuse("torch.distributions", name, globals())
