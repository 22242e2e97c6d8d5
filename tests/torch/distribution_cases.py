"""Distributions to compare: how each is made, and the values of its parameters."""

from typing import Any

SOME, POSITIVE, SHARES = [0.1, -0.3, 2.0], [0.5, 1.2, 2.0], [[0.1, 0.5, 0.8], [0.2, 0.3, 0.5]]
SIGNED_ROWS = [[0.1, -0.5, 0.8], [0.2, 0.3, 3.0]]
MATRIX = [[2.0, 0.3], [0.3, 1.0]]

CASES: dict[str, tuple[str, list[Any]]] = {
    "Normal": ("m.Normal(a, b)", [SOME, POSITIVE]),
    "Normal of numbers": ("m.Normal(0.5, a)", [1.5]),
    "Laplace": ("m.Laplace(a, b)", [SOME, POSITIVE]),
    "Cauchy": ("m.Cauchy(a, b)", [SOME, POSITIVE]),
    "Uniform": ("m.Uniform(a, b)", [SOME, [0.5, 1.2, 3.0]]),
    "Exponential": ("m.Exponential(a)", [POSITIVE]),
    "Gamma": ("m.Gamma(a, b)", [POSITIVE, [0.7, 2.0, 3.0]]),
    "Chi2": ("m.Chi2(a)", [POSITIVE]),
    "Dirichlet": ("m.Dirichlet(a)", [[POSITIVE, [3.0, 0.4, 1.0]]]),
    "Beta": ("m.Beta(a, b)", [POSITIVE, [0.7, 2.0, 3.0]]),
    "StudentT": ("m.StudentT(a, b, c)", [[1.5, 3.0, 7.0], SOME, POSITIVE]),
    "Bernoulli": ("m.Bernoulli(a)", [[0.1, 0.5, 0.8]]),
    "Bernoulli by logits": ("m.Bernoulli(logits=a)", [SOME]),
    "Categorical": ("m.Categorical(a)", [SHARES]),
    "Categorical by logits": ("m.Categorical(logits=a)", [SIGNED_ROWS]),
    "OneHotCategorical": ("m.OneHotCategorical(a)", [SHARES]),
    "straight through": ("m.OneHotCategoricalStraightThrough(logits=a)", [SIGNED_ROWS]),
    "Binomial": ("m.Binomial(20, a)", [[0.1, 0.5, 0.8]]),
    "Binomial by logits": ("m.Binomial(7, logits=a)", [SOME]),
    "Multinomial": ("m.Multinomial(6, a)", [SHARES]),
    "Poisson": ("m.Poisson(a)", [[0.5, 3.0, 20.0]]),
    "Geometric": ("m.Geometric(a)", [[0.1, 0.5, 0.8]]),
    "Geometric by logits": ("m.Geometric(logits=a)", [SOME]),
    "Gumbel": ("m.Gumbel(a, b)", [SOME, POSITIVE]),
    "HalfNormal": ("m.HalfNormal(a)", [POSITIVE]),
    "LogNormal": ("m.LogNormal(a, b)", [[0.1, -0.3, 0.2], [0.5, 0.2, 0.3]]),
    "MultivariateNormal": ("m.MultivariateNormal(a, b)", [[0.1, -0.3], MATRIX]),
    "by factor": ("m.MultivariateNormal(a, scale_tril=b)", [[[0.1, -0.3], [0.0, 1.0]], [[2.0, 0.0], [0.3, 1.0]]]),
    "by precision": ("m.MultivariateNormal(a, precision_matrix=b)", [[0.1, -0.3], MATRIX]),
    "HalfCauchy": ("m.HalfCauchy(a)", [POSITIVE]),
    "InverseGamma": ("m.InverseGamma(a, b)", [POSITIVE, [0.7, 2.0, 3.0]]),
    "Kumaraswamy": ("m.Kumaraswamy(a, b)", [POSITIVE, [0.7, 2.0, 3.0]]),
    "Pareto": ("m.Pareto(a, b)", [POSITIVE, [0.7, 1.5, 3.0]]),
    "Weibull": ("m.Weibull(a, b)", [POSITIVE, [0.7, 2.0, 3.0]]),
    "LogisticNormal": ("m.LogisticNormal(a, b)", [SOME, POSITIVE]),
    "FisherSnedecor": ("m.FisherSnedecor(a, b)", [[1.5, 3.0, 7.0], [1.2, 3.0, 9.0]]),
    "NegativeBinomial": ("m.NegativeBinomial(a, b)", [[5.0, 2.0, 1.0], [0.1, 0.5, 0.8]]),
    "NegativeBinomial by logits": ("m.NegativeBinomial(4, logits=a)", [SOME]),
    "ContinuousBernoulli": ("m.ContinuousBernoulli(a)", [[0.1, 0.5, 0.8]]),
    "ContinuousBernoulli by logits": ("m.ContinuousBernoulli(logits=a)", [[0.1, -0.3, 0.001]]),
    "RelaxedBernoulli": ("m.RelaxedBernoulli(a, b)", [0.7, [0.1, 0.5, 0.8]]),
    "RelaxedBernoulli by logits": ("m.RelaxedBernoulli(a, logits=b)", [0.7, SOME]),
    "RelaxedOneHotCategorical": ("m.RelaxedOneHotCategorical(a, b)", [0.7, SHARES]),
    "VonMises": ("m.VonMises(a, b)", [SOME, POSITIVE]),
    "GeneralizedPareto": ("m.GeneralizedPareto(a, b, c)", [SOME, POSITIVE, [0.3, -0.4, 0.0]]),
    "MixtureSameFamily": ("m.MixtureSameFamily(m.Categorical(a), m.Normal(b, c))", [[0.2, 0.3, 0.5], SOME, POSITIVE]),
    "mixture of vectors": (
        "m.MixtureSameFamily(m.Categorical(a), m.Independent(m.Normal(b, c), 1))",
        [[0.2, 0.8], [[0.1, -0.3, 0.5], [1.0, 2.0, 0.3]], [[0.5, 0.3, 0.1], [1.0, 1.0, 2.0]]],
    ),
    "LowRankMultivariateNormal": (
        "m.LowRankMultivariateNormal(a, b, c)", [SOME, [[0.5, 0.1], [-0.2, 0.7], [1.0, 0.3]], [0.3, 1.0, 0.5]]
    ),
    "LKJCholesky": ("m.LKJCholesky(3, a)", [[0.5, 1.0, 2.5]]),
    "Wishart": ("m.Wishart(a, b)", [4.5, MATRIX]),
    "Wishart by factor": ("m.Wishart(a, scale_tril=b)", [[3.5], [[1.2, 0.0], [0.3, 0.8]]]),
    "Independent": ("m.Independent(m.Normal(a, b), 1)", [[[0.1, -0.3], [0.0, 1.0]], [[2.0, 1.0], [0.3, 1.0]]]),
    "tanh": ("m.TransformedDistribution(m.Normal(a, b), [m.TanhTransform()])", [[0.1, -0.3, 0.5], POSITIVE]),
    "cached": ("m.TransformedDistribution(m.Normal(a, b), m.TanhTransform(cache_size=1))", [SOME, POSITIVE]),
    "several": (
        "m.TransformedDistribution(m.Independent(m.Normal(a, b), 1), [m.AffineTransform(a, b), m.SigmoidTransform()])",
        [[0.1, -0.3, 0.5], POSITIVE],
    ),
    "logistic": (
        "m.TransformedDistribution(m.Uniform(a, b), [m.SigmoidTransform().inv, m.AffineTransform(0.3, -2.0)])",
        [[0.0, 0.0], [1.0, 1.0]],
    ),
}
