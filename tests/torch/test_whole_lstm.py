"""A layer of long short-term memory is one op: it gives what cells give step by step, at every order, and warns of nothing."""

from __future__ import annotations

import warnings

import pytest

from tapegrad import torch


def _layer(**words):
    torch.manual_seed(3)
    return torch.nn.LSTM(3, 4, dtype=torch.float64, **words)


def _by_cells(layer, x, h, c, *, suffix, backwards=False):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, u, b, d = (getattr(layer, f"{name}_l{suffix}") for name in names)
    outputs = []
    for t in reversed(range(len(x))) if backwards else range(len(x)):
        i, f, g, o = (x[t] @ w.T + b + h @ u.T + d).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs[::-1] if backwards else outputs), h, c


def _derivatives(outputs, inputs):
    total = sum((k * y).sin().sum() for k, y in enumerate(outputs, 1))
    first = torch.autograd.grad(total, inputs, create_graph=True)
    return [*first, *torch.autograd.grad(sum((g**2).sum() for g in first), inputs)]


@pytest.mark.parametrize("backwards", [False, True])
def test_layer_is_its_cells_to_the_second_derivative(backwards):
    layer = _layer(bidirectional=backwards)
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    h, c = torch.randn(2, 1 + backwards, 2, 4, dtype=torch.float64).requires_grad_().unbind()
    y, (h_n, c_n) = layer(x, (h, c))
    k = int(backwards)
    found = [y[..., 4 * k :], h_n[k], c_n[k]]
    expected = _by_cells(layer, x, h[k], c[k], suffix="0_reverse" if k else "0", backwards=backwards)
    inputs = [x, *(p for name, p in layer.named_parameters() if ("reverse" in name) == backwards)]
    for a, b in zip(found + _derivatives(found, inputs), [*expected, *_derivatives(expected, inputs)], strict=True):
        torch.testing.assert_close(a, b)


def test_two_layers_agree_in_vmap_and_forward_mode():
    layer = _layer(num_layers=2)
    xs, ts = torch.randn(2, 3, 5, 2, 3, dtype=torch.float64).unbind()
    torch.testing.assert_close(torch.func.vmap(lambda x: layer(x)[0])(xs), torch.stack([layer(x)[0] for x in xs]))
    _, along = torch.func.jvp(lambda x: layer(x)[0].sum(), (xs[0],), (ts[0],))
    torch.testing.assert_close(along, (torch.func.grad(lambda x: layer(x)[0].sum())(xs[0]) * ts[0]).sum())


def test_a_write_to_its_result_is_noticed():
    layer = _layer()
    y, _ = layer(torch.randn(5, 2, 3, dtype=torch.float64))
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_to_the_last_state_leaves_the_outputs():
    layer = _layer()
    y, (h, _) = layer(torch.randn(5, 2, 3, dtype=torch.float64))
    before = y.detach().clone()
    h.mul_(2)
    assert torch.equal(y, before)
    y.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gates_that_are_shut_warn_of_nothing(dtype):
    layer = torch.nn.LSTM(1, 1, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, (_, c) = layer(torch.full((3, 1, 1), 1e6, dtype=dtype))
        (y.sum() + c.sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


# NumPy 2.4 negates wrongly where numbers of float32 are four apart.
@pytest.mark.parametrize(("n", "size"), [(1, 1), (2, 1), (1, 4), (3, 4)])
def test_small_sizes_in_single_precision(n, size):
    torch.manual_seed(0)
    layer = torch.nn.LSTM(2, size)
    x = torch.randn(3, n, 2)
    torch.testing.assert_close(layer(x)[0].double(), layer.double()(x.double())[0], rtol=1e-5, atol=1e-6)
