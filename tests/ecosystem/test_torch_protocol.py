"""PyTorch's own functions on tensors of tapegrad: what they record, and what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import torch as facade
from tapegrad.errors import ArgumentError, DetachedError, GradientError

pytestmark = pytest.mark.interop("torch")
RNG = np.random.default_rng(8)
X = RNG.uniform(0.2, 0.9, (3, 4))
W = RNG.uniform(0.2, 0.9, (4, 2))


@pytest.fixture(scope="module")
def torch() -> Any:
    import torch

    return torch


# Functions of PyTorch and a tensor; each is compared with itself on a tensor of PyTorch's.
CALLS = {
    "sin": lambda torch, x: torch.sin(x),
    "matmul": lambda torch, x: torch.matmul(x, torch.tensor(W)),
    "matmul, the second": lambda torch, x: torch.matmul(torch.tensor(W.T), x.T),
    "tensor + x": lambda torch, x: torch.tensor(X) + x,
    "x * tensor": lambda torch, x: x * torch.tensor(X),
    "tensor - x": lambda torch, x: torch.tensor(X) - x,
    "tensor / x": lambda torch, x: torch.tensor(X) / x,
    "tensor ** x": lambda torch, x: torch.tensor(X) ** x,
    "tensor @ x": lambda torch, x: torch.tensor(W.T) @ x.T,
    "add(alpha)": lambda torch, x: torch.add(torch.tensor(X), x, alpha=2.5),
    "sum": lambda torch, x: torch.sum(x, dim=1, keepdim=True),
    "mean": lambda torch, x: torch.mean(x, 0),
    "max of an axis": lambda torch, x: torch.max(x, 1).values,
    "logsumexp": lambda torch, x: torch.logsumexp(x, 1),
    "stack": lambda torch, x: torch.stack([x, torch.tensor(X), 2 * x]),
    "cat": lambda torch, x: torch.cat((torch.tensor(X), x), dim=1),
    "split": lambda torch, x: torch.split(x, 2, dim=1)[1],
    "where": lambda torch, x: torch.where(x > 0.5, x, torch.tensor(X) ** 2),
    "einsum": lambda torch, x: torch.einsum("ij,jk->ki", x, torch.tensor(W)),
    "tensordot": lambda torch, x: torch.tensordot(x, torch.tensor(W), dims=1),
    "broadcast_tensors": lambda torch, x: torch.broadcast_tensors(x, torch.ones(2, 1, 1))[0],
    "cumsum": lambda torch, x: torch.cumsum(x, 0),
    "linalg.norm": lambda torch, x: torch.linalg.norm(x, dim=1),
    "norm": lambda torch, x: torch.norm(x),
    "fft": lambda torch, x: torch.abs(torch.fft.rfft(x)),
    "special": lambda torch, x: torch.special.erf(x),
    "sum(dtype)": lambda torch, x: torch.sum(x, dtype=torch.float64),
    "relu": lambda torch, x: torch.nn.functional.relu(x - 0.5),
    "softmax": lambda torch, x: torch.nn.functional.softmax(x, dim=1),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (4,)),
    "linear": lambda torch, x: torch.nn.functional.linear(x, torch.tensor(W.T)),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 3, 1])),
    "a module without parameters": lambda torch, x: torch.nn.GELU()(x),
}


def by_pytorch(torch: Any, f: Any) -> tuple[Any, Any]:
    x = torch.tensor(X, requires_grad=True)
    y = f(torch, x)
    g = torch.tensor(np.cos(np.arange(y.numel())).reshape(tuple(y.shape)))
    return y.detach().numpy(), torch.autograd.grad(y, x, g)[0].numpy()


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_pytorch_records_a_plain_tensor(torch: Any, name: str) -> None:
    value, gradient = by_pytorch(torch, CALLS[name])
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = CALLS[name](torch, x)
    assert type(y) is tg.Tensor
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-10)
    g = tg.asarray(np.cos(np.arange(y.size)).reshape(y.shape))
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=g).numpy(), gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_pytorch_gives_the_facades_tensors_for_the_facades(torch: Any, name: str) -> None:
    value, gradient = by_pytorch(torch, CALLS[name])
    x = facade.tensor(X, requires_grad=True)
    y = CALLS[name](torch, x)
    assert type(y) is facade.Tensor
    np.testing.assert_allclose(y.detach().numpy(), value, rtol=1e-10)
    y.backward(facade.tensor(np.cos(np.arange(y.numel())).reshape(tuple(y.shape))))
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-9, atol=1e-12)


def test_constants_of_pytorch_are_taken_without_a_copy(torch: Any) -> None:
    t = torch.tensor(X)
    assert np.shares_memory(tg.asarray(t).raw, t.numpy())
    assert np.shares_memory(torch.meshgrid(tg.asarray(X[0]), t[0])[1].raw, t.numpy())
    bits = torch.tensor([1.5, -2.5], dtype=torch.bfloat16)
    assert tg.asarray(bits).dtype == tg.bfloat16
    assert tg.asarray(bits).tolist() == [1.5, -2.5]


def test_a_tensor_that_requires_grad_is_refused(torch: Any) -> None:
    x, t = tg.asarray(X), torch.tensor(X, requires_grad=True)
    for call in (lambda: torch.mul(x, t), lambda: t + x, lambda: x + t, lambda: tg.asarray(t)):
        with pytest.raises(GradientError, match=r"requires grad, torch.float64 \(3, 4\), would be a constant here"):
            call()
    with pytest.raises(GradientError, match=r"torch.nn.functional.linear: .*requires_grad_\(False\)"):
        torch.nn.Linear(4, 2, dtype=torch.float64)(x)
    assert torch.mul(x, t.detach()).shape == (3, 4)
    with torch.no_grad():
        assert torch.mul(x, t).shape == (3, 4)


def test_a_tensor_that_is_no_memory_of_this_machine_is_refused(torch: Any) -> None:
    for t in (torch.ones(3, 4, device="meta"), torch.eye(4).to_sparse()):
        with pytest.raises(ArgumentError, match="is no array of NumPy's"):
            torch.add(tg.asarray(X), t)


def test_what_the_facade_lacks_is_refused_with_the_nearest_name(torch: Any) -> None:
    with pytest.raises(ArgumentError, match=r"torch.dropout_: .*the nearest that it has is torch.nn.functional.dropout\."):
        torch.dropout_(tg.asarray(X), 0.5, True)
    with pytest.raises(ArgumentError, match=r"(?s)torch.tensordot\(out=.*: tapegrad.torch does not have this argument"):
        torch.tensordot(facade.tensor(X), torch.tensor(W), dims=1, out=facade.zeros(3, 2, dtype=facade.float64))


def test_conversions_refuse_a_recorded_tensor(torch: Any) -> None:
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        for convert in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack, torch.ones(1).new_tensor):
            with pytest.raises(DetachedError, match="without its derivative"):
                convert(x)
        with pytest.raises(DetachedError, match="lose its derivative"):
            torch.from_numpy(np.asarray(x))
        with pytest.raises((TypeError, ValueError)):
            torch.tensor([x[0, 0], x[0, 1]])
        for make in (torch.scalar_tensor, lambda v: torch.full_like(x, v), lambda v: torch.full_like(x, fill_value=v)):
            with pytest.raises(DetachedError, match="takes a recorded tensor for a number"):
                make(x[0, 0])
        assert torch.full_like(x, 2.5).shape == (3, 4)
        with pytest.raises(DetachedError, match="copied without its derivative"):
            pickle.dumps(x)


def test_writing_into_tensors_of_pytorch_takes_values_that_nobody_records(torch: Any) -> None:
    x, t = tg.asarray(X), torch.zeros(3, 4, dtype=torch.float64)
    t.copy_(x)
    t[0] = x[1]
    np.testing.assert_array_equal(t.numpy(), X[[1, 1, 2]])
    torch.add(x, x, out=t)
    np.testing.assert_array_equal(t.numpy(), 2 * X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        for write in (lambda: t.copy_(x), lambda: t.__setitem__(0, x[1]), lambda: torch.add(x, x, out=t)):
            with pytest.raises(DetachedError, match="cannot keep its derivative"):
                write()
        s = t
        s += x  # no write: the sum is a new tensor, as for immutable numbers
        loss = tg.sum(s)
    np.testing.assert_array_equal(t.numpy(), 2 * X)
    np.testing.assert_array_equal(tape.gradient(loss, x).numpy(), np.ones((3, 4)))


def test_plain_tensors_do_not_change_in_place(torch: Any) -> None:
    x = tg.asarray(X)
    for write in (
        lambda: torch.relu_(x),
        lambda: torch.nn.functional.relu(x, inplace=True),
        lambda: torch.sin(x, out=x),
    ):
        with pytest.raises(ArgumentError, match="would change a tensor of tapegrad in place"):
            write()
    y = facade.tensor(-X)
    torch.relu_(y)
    assert y.tolist() == np.zeros((3, 4)).tolist()


def test_answers_that_are_no_tensors(torch: Any) -> None:
    x = tg.asarray(X)
    assert torch.result_type(x, torch.ones(1, dtype=torch.float32)) is torch.float64
    assert torch.is_floating_point(x) is True
    assert torch.numel(x) == 12
    assert torch.allclose(x, torch.tensor(X)) is True


def test_variables_are_watched_when_pytorchs_functions_read_them(torch: Any) -> None:
    w = tg.Variable(X)
    with tg.GradientTape() as tape:
        loss = torch.sum(torch.square(w))
    np.testing.assert_allclose(tape.gradient(loss, w).numpy(), 2 * X)


def test_tensors_on_the_other_kernels_record_too(torch: Any) -> None:
    pytest.importorskip("tensorflow")
    x = tg.asarray(X, backend="tensorflow")
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = torch.sin(x)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x).numpy()), np.cos(X))
