"""Sweeps, hooks and modes of the PyTorch style."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import torch


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def test_a_second_sweep_fails_only_where_values_were_saved():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert y.grad_fn.name() == "SumBackward0"


def test_gradients_of_a_batch_of_cotangents():
    x = leaf(1.0, 2.0, 3.0)
    (rows,) = torch.autograd.grad(x**2, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
    assert rows.tolist() == np.diag([2.0, 4.0, 6.0]).tolist()
    (row,) = torch.autograd.grad(x[:1] ** 2, x, torch.ones(1, 1, dtype=torch.float64), is_grads_batched=True)
    assert row.tolist() == [[2.0, 0.0, 0.0]]


def test_a_graph_dies_with_its_tensors_however_long_it_is():
    x = leaf(1.0)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_hooks_on_nodes_see_and_replace_what_is_sent():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    y.grad_fn.register_hook(lambda sent, came: seen.append((sent[0].tolist(), came[0].tolist())))
    y.grad_fn.register_hook(lambda sent, came: (sent[0] * 10, None))
    y.sum().backward()
    assert seen == [([6.0, 6.0], [2.0, 2.0])]
    assert x.grad.tolist() == [60.0, 60.0]


def test_a_gradient_that_is_kept_is_what_hooks_have_left():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    (y * 5).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([15.0], [30.0])


def test_nodes_are_objects_of_one_identity_with_pytorchs_names():
    x = leaf(1.0)
    y = x * 2 + x
    assert y.grad_fn is y.grad_fn
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "AddBackward0"
    (first, n), (second, _) = y.grad_fn.next_functions
    assert (first.name(), n, second.variable) == ("MulBackward0", 0, x)


def test_a_hook_that_refers_to_its_tensor_is_collected():
    class Tag:
        pass

    tag = Tag()
    seen = weakref.ref(tag)
    y = leaf(1.0) * 2
    y.register_hook(lambda g, tag=tag, y=y: None)
    del tag, y
    gc.collect()
    assert seen() is None


def test_threads_add_to_one_gradient():
    x = leaf(*[1.0] * 10)

    def work():
        for _ in range(20):
            (x * x).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [160.0] * 10


def test_modes_belong_to_their_thread_and_survive_errors():
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()
    with torch.no_grad():
        found = []
        t = threading.Thread(target=lambda: found.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    assert found == [True]


def test_inference_tensors_may_be_read_and_not_saved():
    x = leaf(1.0, 2.0)
    with torch.inference_mode():
        y = x * 2
    assert y.is_inference()
    assert (x + y).requires_grad
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y.add_(1)
    assert not (x * 1).is_inference()


def test_saved_tensors_are_packed_only_inside():
    x = leaf(1.0, 2.0)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t * 10, lambda t: t / 10):
        y = x.exp()
    z = y * x
    assert packed == [np.exp([1.0, 2.0]).tolist()]
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]) * [2.0, 3.0])


def test_anomalies_are_told_with_where_they_come_from():
    x = torch.zeros(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            y = (x / x.detach()) * 0
            with pytest.raises(RuntimeError, match=r"DivBackward0.*nan values in its 0th output"):
                y.backward()
    assert any("test_anomalies_are_told" in str(w.message) for w in seen)
    assert not torch.is_anomaly_enabled()


def test_a_function_is_differentiated_twice_through_its_saved_output():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = leaf(0.5)
    (g,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    np.testing.assert_allclose(h.numpy(), np.exp([0.5]))


def test_a_function_in_forward_mode_and_in_a_batch():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.x = inputs[0]

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.x * t

        @staticmethod
        def vmap(info, in_dims, x):
            return Square.apply(x) + info.batch_size * 100, 0

    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        dual = fwd.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
        assert fwd.unpack_dual(Square.apply(dual)).tangent.tolist() == [6.0]
    assert torch.func.vmap(Square.apply)(torch.tensor([1.0, 2.0])).tolist() == [201.0, 204.0]


def test_a_reentrant_checkpoint_refuses_named_inputs():
    x = leaf(1.0)
    y = torch.utils.checkpoint.checkpoint(lambda a: a * a, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="use_reentrant"):
        torch.autograd.grad(y, x)
    y = torch.utils.checkpoint.checkpoint(lambda a: a * a, x, use_reentrant=True)
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_a_tape_and_a_sweep_see_the_same_ops():
    x = leaf(2.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x**3
    assert tape.gradient(y, x).raw.tolist() == [12.0]
    y.backward()
    assert x.grad.tolist() == [12.0]


def test_the_gradient_of_a_tape_has_no_graph_and_that_of_a_transform_has():
    x = leaf(2.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x**3
    assert tape.gradient(y, x).node is None
    g = torch.func.grad(lambda a: (a**3).sum())(x)
    g.sum().backward()
    assert x.grad.tolist() == [12.0]


def test_names_that_are_missing_are_told_with_the_nearest():
    with pytest.raises(AttributeError, match=r"tapegrad's facade lacks it; did you mean torch\.zeros_like"):
        _ = torch.zeros_lik
