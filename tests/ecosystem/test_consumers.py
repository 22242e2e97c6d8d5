"""SciPy's and scikit-learn's functions for the array API on recorded tensors: values, and derivatives."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# SciPy reads SCIPY_ARRAY_API when it is imported, so each package is asked in a process of its own.  Of every call: the value
# is that on NumPy's array, and the gradient along a direction is the difference of NumPy's values.
PROGRAM = """
import json, sys
import numpy as np
import tapegrad as tg
calls, found = {calls}, {{}}
X = np.random.default_rng(0).uniform(0.2, 0.9, (6, 3))
T = np.random.default_rng(1).normal(size=X.shape)
for text in calls:
    def f(x):
        return eval(text)
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    value = f(X)
    g = np.cos(np.arange(value.size)).reshape(value.shape)
    slope = np.sum(g * (f(X + 1e-6 * T) - f(X - 1e-6 * T))) / 2e-6
    gradient = tape.gradient(y, x, output_gradients=g)
    found[text] = [
        type(y) is tg.Tensor,
        float(np.max(np.abs(y.numpy() - value))),
        float(np.sum(gradient.numpy() * T) - slope) / (1 + abs(slope)),
    ]
print(json.dumps(found))
"""
SCIPY = [
    "special.expit(x)",
    "special.logsumexp(x, axis=1)",
    "special.gammaln(x)",
    "special.softmax(x, axis=1)",
    "special.ndtr(x)",
    "special.xlogy(x, x)",
    "stats.zscore(x)",
    "stats.skew(x)",
    "stats.gmean(x, axis=1)",
    "stats.entropy(x)",
    "integrate.trapezoid(x)",
    "optimize.rosen(x[:, 0])",
    "transform.Rotation.from_rotvec(x).as_matrix()",
]
SKLEARN = [
    "preprocessing.StandardScaler().fit_transform(x)",
    "preprocessing.Normalizer().fit_transform(x)",
    "pairwise.rbf_kernel(x)",
    "pairwise.cosine_similarity(x)",
    "linear_model.Ridge(solver='svd').fit(x, x[:, 0] ** 2).predict(x)",
]


def asked(imports: str, calls: list[str]) -> dict[str, list[float]]:
    program = imports + PROGRAM.format(calls=calls)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[float]] = json.loads(result.stdout)
    return found


def check(found: dict[str, list[float]], calls: list[str]) -> None:
    assert list(found) == calls
    assert {text: v for text, v in found.items() if not v[0] or v[1] > 1e-10 or abs(v[2]) > 1e-6} == {}


@pytest.mark.slow
def test_scipy_records() -> None:
    imports = "from scipy import integrate, optimize, special, stats\nfrom scipy.spatial import transform"
    check(asked(imports, SCIPY), SCIPY)


@pytest.mark.slow
@pytest.mark.interop("sklearn")
def test_scikit_learn_records() -> None:
    imports = (
        "import sklearn\nfrom sklearn import linear_model, preprocessing\nfrom sklearn.metrics import pairwise\n"
        "sklearn.set_config(array_api_dispatch=True)"
    )
    check(asked(imports, SKLEARN), SKLEARN)
