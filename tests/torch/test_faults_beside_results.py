"""Factorisations and solutions that tell what is wrong beside the result, as PyTorch's `*_ex` do."""

import numpy as np
import pytest

from tapegrad import torch

INDEFINITE = [[2.0, 1.0, 0.0], [1.0, -0.5, 0.0], [0.0, 0.0, 1.0]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def test_jitter_is_added_until_a_matrix_can_be_factored():
    x = torch.ones(4, 4, dtype=torch.float64)
    L, info = torch.linalg.cholesky_ex(x)
    tries = 0
    while info.any():
        tries += 1
        x = x + 1e-6 * torch.eye(4, dtype=torch.float64)
        L, info = torch.linalg.cholesky_ex(x)
    assert tries == 1
    assert info.dtype == torch.int32
    assert torch.allclose(L @ L.mT, x)


@pytest.mark.parametrize("upper", [False, True])
def test_the_good_matrices_of_a_batch_have_their_factors_and_gradients(upper):
    x = torch.stack([torch.tensor(INDEFINITE), torch.tensor([[4.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 9.0]])]).requires_grad_()
    L, info = torch.linalg.cholesky_ex(x, upper=upper)
    assert info.tolist() == [2, 0]
    alone = x.detach()[1].clone().requires_grad_()
    expected = torch.linalg.cholesky(alone, upper=upper)
    assert torch.equal(L[1], expected)
    L[1].sum().backward()
    expected.sum().backward()
    assert torch.allclose(x.grad[1], alone.grad)
    assert x.grad[0].abs().sum() == 0


def test_singular_matrices_are_counted_not_refused():
    x = torch.stack([torch.tensor(SINGULAR), 2 * torch.eye(2)])
    inverse, info = torch.linalg.inv_ex(x)
    assert info.tolist() == [2, 0]
    assert inverse[1].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    result, info = torch.linalg.solve_ex(x, torch.ones(2, 2, 1))
    assert info.tolist() == [2, 0]
    assert result[1].tolist() == [[0.5], [0.5]]


def test_nan_is_no_positive_definite_matrix():
    assert torch.linalg.cholesky_ex(torch.tensor([[4.0, 0.0], [float("nan"), 1.0]])).info == 2
    with pytest.raises(RuntimeError, match="minor of order 1 is not positive-definite"):
        torch.linalg.cholesky(torch.tensor([[float("nan"), 0.0], [0.0, 1.0]]))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.linalg.cholesky_ex(x[0], check_errors=True),
        lambda t, x: t.linalg.inv_ex(x[1], check_errors=True),
        lambda t, x: t.linalg.solve(t.stack([t.eye(2, dtype=x[1].dtype), x[1]]), t.ones(2, 2, 1, dtype=x[1].dtype)),
        lambda t, x: t.linalg.cholesky_ex(x[0]),
        lambda t, x: t.linalg.cholesky_ex(t.stack([x[0], -x[0], t.eye(3, dtype=x[0].dtype)]), upper=True).info,
        lambda t, x: t.linalg.inv_ex(x[1]).info,
    ],
)
def test_what_is_told_is_what_pytorch_tells(call):
    real = pytest.importorskip("torch")
    made = []
    for t in (real, torch):
        try:
            out = call(t, [t.tensor(INDEFINITE, dtype=t.float64), t.tensor(SINGULAR, dtype=t.float64)])
        except RuntimeError as error:
            made.append(str(error).replace("_ex", ""))
        else:
            made.append([y.numpy() for y in (out if isinstance(out, tuple) else [out])])
    if isinstance(made[0], str):
        assert made[1] == made[0]
    else:
        for expected, y in zip(*made, strict=True):
            np.testing.assert_allclose(y, expected, atol=1e-12)
            assert y.dtype == expected.dtype
