"""The largest, the smallest and the middle of long axes are found without sorting them, and are those of the sorted ones."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import torch


def _values(kind):
    rng = np.random.default_rng(5)
    x = rng.integers(-4, 4, (3, 70, 2)) if kind in ("ties", "integers") else rng.standard_normal((3, 70, 2))
    x = x.astype(np.int64 if kind == "integers" else np.float32)
    if kind == "extremes":
        x[0, 5:9] = np.nan
        x[1, :20] = np.inf
        x[1, 20:40] = -np.inf
        x[2] = np.nan
    return torch.tensor(x)


@pytest.mark.parametrize("kind", ["plain", "ties", "integers", "extremes"])
@pytest.mark.parametrize("k", [1, 5, 17])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_gives_the_first_of_the_sorted_ones(kind, k, largest):
    x = _values(kind)
    values, places = x.topk(k, dim=1, largest=largest)
    torch.testing.assert_close(values, x.sort(dim=1, descending=largest).values[:, :k], equal_nan=True)
    torch.testing.assert_close(x.gather(1, places), values, equal_nan=True)
    for row in np.moveaxis(places.numpy(), 1, -1).reshape(-1, k):
        assert len(set(row)) == k


@pytest.mark.parametrize("kind", ["plain", "ties", "integers", "extremes"])
@pytest.mark.parametrize("k", [1, 35, 70])
def test_kthvalue_is_that_of_the_sorted_ones(kind, k):
    x = _values(kind)
    values, places = x.kthvalue(k, dim=1)
    torch.testing.assert_close(values, x.sort(dim=1).values[:, k - 1], equal_nan=True)
    torch.testing.assert_close(x.gather(1, places.unsqueeze(1)).squeeze(1), values, equal_nan=True)


@pytest.mark.parametrize("kind", ["plain", "ties", "integers"])
def test_median_is_the_lower_one_of_the_sorted_ones(kind):
    x = _values(kind)
    values, places = x.median(dim=1)
    assert torch.equal(values, x.sort(dim=1).values[:, 34])
    assert torch.equal(x.gather(1, places.unsqueeze(1)).squeeze(1), values)


def test_the_gradient_goes_to_the_places_that_are_named():
    x = _values("plain").requires_grad_()
    values, places = x.topk(5, dim=1)
    values.sum().backward()
    assert torch.equal(x.grad, torch.zeros_like(x).scatter(1, places, 1.0))
