"""`ctc_loss` next to PyTorch's: padded and joined targets, repeated labels, sequences that are too short, or empty."""

from typing import Any

import numpy as np
import pytest

import tapegrad.torch as ours

torch: Any = pytest.importorskip("torch")
RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 4, 5))
TARGETS = np.array([[1, 1, 2], [3, 2, 4], [4, 4, 4], [2, 1, 1]])
TIMES, LENGTHS = [6, 5, 4, 6], [3, 2, 3, 0]  # the third needs five steps, for its labels are equal


def losses(lib: Any, reduction: str, zero_infinity: bool, joined: bool, times: list[int]) -> tuple[Any, Any]:
    x = lib.tensor(X, requires_grad=True)
    targets = np.concatenate([t[:n] for t, n in zip(TARGETS, LENGTHS, strict=True)]) if joined else TARGETS
    loss = lib.nn.functional.ctc_loss(
        lib.log_softmax(x, 2), lib.tensor(targets), times, LENGTHS, reduction=reduction, zero_infinity=zero_infinity
    )
    loss.sum().backward()
    return loss.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_and_gradients_are_pytorchs(reduction: str, joined: bool) -> None:
    mine, theirs = (losses(lib, reduction, True, joined, TIMES) for lib in (ours, torch))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_sequence_that_is_too_short_has_an_infinite_loss() -> None:
    mine, theirs = (losses(lib, "none", False, False, TIMES)[0] for lib in (ours, torch))
    assert np.isinf(mine[2])
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_no_time_at_all_is_right_for_no_labels_alone() -> None:
    mine, theirs = (losses(lib, "none", False, False, [0, 5, 4, 0])[0] for lib in (ours, torch))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    assert (mine[0], mine[3]) == (np.inf, 0)


def test_one_sequence_without_a_batch() -> None:
    calls = [
        lib.nn.functional.ctc_loss(lib.log_softmax(lib.tensor(X[:, 0]), 1), lib.tensor([1, 2]), lib.tensor(6), lib.tensor(2), reduction=r)
        for lib in (ours, torch)
        for r in ("none", "mean")
    ]
    for a, b in zip(calls[:2], calls[2:], strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)
