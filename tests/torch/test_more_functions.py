"""Functions of samples, scatters and messages, next to PyTorch's."""

from typing import Any

import pytest

import tapegrad.torch as ours
from tests.torch.agreement import arrays, compare

torch: Any = pytest.importorskip("torch")

CALLS = [
    "t.lstm_cell(x, (x[:, :2], y[:, :2]), b.view(6, 4).repeat(2, 1)[:8], b.view(12, 2)[:8], c.view(-1)[:8], c.view(-1)[8:16])",
    "t.gru_cell(x, y[:, :2], b.view(6, 4), b.view(12, 2)[:6], c.view(-1)[:6], c.view(-1)[6:12])",
    "t.gru_cell(x, y[:, :2], b.view(6, 4), b.view(12, 2)[:6])", "t.rnn_tanh_cell(x, y, a, a.T, v, w)",
    "t.rnn_relu_cell(x, y, a, a.T, v, w)",
    "t.celu_(x * 2)", "t.selu_(x * 2)", "t.dropout_(x * 2, 0.0, True)", "t.alpha_dropout_(x * 2, 0.3, False)",
    "t.as_strided_(x * 2, (2, 2), (1, 2))",
    "t.trapezoid(x)", "t.trapezoid(x, dx=0.3, dim=0)", "t.trapezoid(x, y)", "t.trapezoid(x, v.cumsum(0))", "t.trapz(x)",
    "t.trapezoid(x, x[:, 0], dim=0)", "t.cumulative_trapezoid(x, v.cumsum(0))",
    "t.gradient(x)", "t.gradient(x, spacing=2.0)", "t.gradient(x, dim=1, edge_order=2)",
    "t.gradient(x, spacing=(t.arange(3.0).double() ** 2, t.arange(4.0).double() ** 1.5))",
    "t.gradient(x, spacing=(t.arange(3.0).double() ** 2, t.arange(4.0).double() ** 1.5), edge_order=2)",
    "t.gradient(x, spacing=(1.0, 2.0, 3.0))", "t.vander(k)", "t.vander(k, 3, increasing=True)",
    "t.logaddexp2(x, y)", "t.mvlgamma(p + 4, 2)", "(p + 4).mvlgamma_(2)",
    "x.nanquantile(0.3)", "x.nanquantile(0.3, 1)", "x.nanquantile(t.tensor([0.3, 0.5]).double(), 1, True)",
    "x.nanquantile(0.3, 0, True)", "t.where(x > 1, t.nan, x).nanquantile(0.4, 1)",
    *(f"x.quantile(0.4, 1, interpolation={m!r})" for m in ("lower", "higher", "midpoint", "nearest")),
    *(f"t.where(x > 1, t.nan, x).nanquantile(0.4, interpolation={m!r})" for m in ("lower", "higher", "midpoint", "nearest")),
    "x.quantile(0.4, interpolation='mean')", "x.quantile(1.4)", "x.quantile(t.tensor([0.1, 0.8]).double(), keepdim=True)",
    "t.cov(x, fweights=t.tensor([1, 2, 1, 3]))", "t.cov(x, aweights=v.abs())", "t.cov(x, correction=0, aweights=v.abs())",
    "t.cov(x, fweights=t.tensor([1, 2, 1, 3]), aweights=v.abs())", "t.cov(x, fweights=v)", "t.cov(x, aweights=-v.abs())",
    "t.cov(seq)", "t.corrcoef(v)", "t.corrcoef(z)", "t.trapezoid(t.stack([x, y]), x)", "t.cumulative_trapezoid(t.stack([x, y]), y, dim=1)",
    "t.trapezoid(i)",
    "x.select_scatter(v, 0, 1)", "x.slice_scatter(y[:2], 0, 1)", "x.slice_scatter(y[:, :2], 1, 0, 4, 2)", "x.slice_scatter(y, 0, 1)",
    "t.diagonal_scatter(a, v)", "t.diagonal_scatter(x, v[:3])", "t.diagonal_scatter(x, v)",
    "x.index_reduce(0, t.tensor([0, 2]), y[:2], 'amax')",
    "x.index_reduce(0, t.tensor([0, 0]), y[:2], 'prod', include_self=False)",
    "t.dropout(x, 0.0, True)", "t.celu(x)", "t.layer_norm(x, (4,))", "t.conv1d(seq, c[:, :4, :3])", "t.group_norm(img, 2)",
    "t.cosine_similarity(x, y)", "t.exp_(x * 1)", "t.clamp_(x * 1, 0, 1)", "(x * 1).cumsum_(0)", "(x * 1).cumprod_(1)",
    "t.fmax(x, x.round())", "t.fmin(x, x.detach())", "t.fmax(t.where(x > 0, t.nan, x), y)", "z.to(t.float64)",
    "t.stft(seq[0], 4, 2, return_complex=True)", "t.stft(seq[0], 4, return_complex=True, center=False, normalized=True)",
    "t.stft(seq[0], 4, 2, 3, w[:3], return_complex=True, onesided=False)",
    "t.istft(t.stft(img.reshape(2, -1), 4, 2, window=w.abs() + 1, return_complex=True), 4, 2, window=w.abs() + 1)",
    "t.istft(t.stft(seq[0], 4, 2, return_complex=True), 4, 2, length=7)",
    "x.broadcast_to(2, 3, 4)", "x.broadcast_to((2, 3, 4))", "(x * 1).swapaxes_(0, 1)",
    "i.pow(2.0)", "i**2.0", "i.pow(2)", "m**2", "x.pow(2.0)", "t.kaiser_window(5)", "t.kaiser_window(4, False, 6.0, dtype=t.float64)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:This overload of")
@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("call", CALLS)
def test_values_dtypes_and_derivatives_are_PyTorchs(call: str) -> None:
    compare(ours, torch, call, arrays(3))


MESSAGES = [
    "t.nn.functional.mse_loss(x, v[:3])", "x.sum(2)", "x.sum(-3)", "x.max(5)", "t.cat([])", "v.permute(0, 1)", "x.permute(0, 0)",
    "int(v)", "float(v)", "v.item()", "t.tensor([[1], [1, 2]])", "t.tensor([[1, 2], [3]])", "t.tensor([[[1]], [[1], [2]]])",
    "t.linalg.inv(t.zeros(2, 2))", "t.linalg.inv(t.tensor([[1.0, 2], [2, 4]]))", "t.linalg.cholesky(-t.eye(2))",
    "t.linalg.cholesky(t.tensor([[1.0, 2], [2, 1]]))", "t.linalg.cholesky(-t.eye(2)[None])", "t.nn.NLLLoss()(x, v[:3])",
    "t.nn.LSTM(2, 3)(t.ones(2))", "v.type('torch.Foo')", "(x * 1).split(2)[0].add_(1)", "(x * 1).unbind(0)[0].mul_(2)",
    "t.autograd.backward(x.sum(), inputs=[])", "t.autocast()", "t.amp.GradScaler('cpu').update()",
    "z > 1", "z.max()", "z.sort()", "t.relu(z)", "t.maximum(z, z)", "z.floor()", "z % 2", "t.erf(z)", "t.fft.fft(v, dim=3)",
    "t.fft.fft(t.ones(0))", "t.fft.irfft(t.ones(1))", "t.autograd.grad(x.sum(), [])",
    "t.autograd.grad(x * 2, x, t.ones(2), is_grads_batched=True)", "t.autograd.gradcheck(t.sin, (v,))",
    "t.func.grad(lambda x: x)(x)", "t.autograd.functional.jacobian(lambda x: t.ones(2), x, strict=True)",
]  # fmt: skip


@pytest.mark.parametrize("call", MESSAGES)
def test_errors_are_worded_as_PyTorchs(call: str) -> None:
    said = []
    for t in (torch, ours):
        values = {name: t.tensor(value) for name, value in arrays(3).items()}
        values["x"].requires_grad_()
        with pytest.raises(Exception) as told:  # noqa: PT011
            eval(call, {"t": t, **values})
        said.append(str(told.value).split("\n")[0])
    assert said[1] == said[0]


def test_gradients_go_to_edges_of_the_graph() -> None:
    for t in (torch, ours):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        edge = t.autograd.graph.get_gradient_edge(y)
        assert t.autograd.grad((y * 3).sum(), edge, retain_graph=True)[0].tolist() == [3.0, 3.0]
        t.autograd.backward((y * 3).sum(), retain_graph=True, inputs=[t.autograd.graph.get_gradient_edge(x)])
        assert x.grad.tolist() == [6.0, 6.0]
        assert t.autograd.grad(edge, x, grad_outputs=t.ones(2))[0].tolist() == [2.0, 2.0]


def test_hooks_of_all_modules_are_where_PyTorch_has_them() -> None:
    for t in (torch, ours):
        seen: list[str] = []
        module = t.nn.modules.module
        handle = module.register_module_forward_hook(lambda m, args, y, seen=seen: seen.append(type(m).__name__))
        assert isinstance(handle, t.utils.hooks.RemovableHandle)
        t.nn.Sequential(t.nn.Identity())(t.ones(1))
        handle.remove()
        t.nn.Identity()(t.ones(1))
        assert seen == ["Identity", "Sequential"]


def test_every_hook_gives_the_same_kind_of_handle() -> None:
    for t in (torch, ours):
        x = t.ones(1, requires_grad=True)
        y = x * 2
        kind = t.utils.hooks.RemovableHandle
        for handle in (x.register_hook(print), y.grad_fn.register_hook(print), x.register_post_accumulate_grad_hook(print)):
            assert isinstance(handle, kind)
            with handle:
                pass
        y.backward()


def test_anomaly_mode_leaves_the_stack_with_the_node() -> None:
    x = ours.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"), ours.autograd.detect_anomaly():
        y = x * 2
    assert any("y = x * 2" in line for line in y.grad_fn.metadata["traceback_"])
    assert (x * 2).grad_fn.metadata == {}


def test_a_view_taken_without_a_graph_requires_what_its_base_does() -> None:
    for t in (torch, ours):
        x = t.ones(2, requires_grad=True)
        with t.no_grad():
            view, copy = x.view(2), x * 1
        assert view.requires_grad
        assert not copy.requires_grad
        assert not x.detach().requires_grad


def test_a_view_that_was_written_to_is_shown_as_a_view_of_the_write() -> None:
    for t in (torch, ours):
        base = t.ones(4, requires_grad=True) * 1
        part = base[:2]
        part.mul_(3)
        other = base[1:]
        other.add_(1)
        assert [type(v.grad_fn).__name__ for v in (base, part, other)] == ["CopySlices", "AsStridedBackward0", "AsStridedBackward0"]
        assert base.grad_fn.name() == "torch::autograd::CopySlices"
        assert "grad_fn=<CopySlices>" in repr(base)


@pytest.mark.parametrize(
    "call",
    [
        "t.ones(2), t.ones(2) + 1e-3", "t.ones(2), t.ones(3)", "t.ones(2), t.ones(2).double()", "1.0, 1.1", "1, 2",
        "[t.ones(1)], [t.zeros(1)]", "t.tensor([1, 2]), t.tensor([1, 3])", "t.tensor(1.0), t.tensor(2.0)", "t.ones(2), t.ones(2) + 1e-7",
        "t.ones(2), t.ones(2), rtol=1", "t.ones(2) * t.nan, t.ones(2) * t.nan", "t.ones(2), t.zeros(2), msg='so'",
        "t.ones(2) * t.nan, t.ones(2) * t.nan, equal_nan=True", "{'a': t.ones(1)}, {'a': t.ones(1) + 1}", "t.ones(2), t.ones(2).int()",
    ],
)  # fmt: skip
def test_assert_close_says_what_PyTorchs_does(call: str) -> None:
    said = []
    for t in (torch, ours):
        try:
            eval(f"t.testing.assert_close({call})", {"t": t})
        except (AssertionError, ValueError) as error:
            said.append((type(error), str(error)))
        else:
            said.append((None, ""))
    assert said[1] == said[0]


def test_constants_are_there() -> None:
    assert [ours.inf, ours.pi, ours.e, ours.newaxis] == [torch.inf, torch.pi, torch.e, None]
    assert ours.nan != ours.nan
    assert ours.ones(2)[:, ours.newaxis].shape == (2, 1)


def test_tensors_to_test_with_are_in_bounds() -> None:
    x = ours.testing.make_tensor((50,), dtype=ours.float64, low=1, high=2, requires_grad=True)
    assert x.requires_grad
    assert 1 <= x.min() <= x.max() <= 2
    k = ours.testing.make_tensor(4, 5, dtype=ours.int32, low=-2, high=3, exclude_zero=True)
    assert k.shape == (4, 5)
    assert set(k.flatten().tolist()) <= {-2, -1, 1, 2}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(
    "call",
    [
        "a.sort()[0]", "a.sort(descending=True)[1]", "a.topk(2)[0]", "a.argsort()", "a.median()", "a.median(0)[0]", "a.kthvalue(2)[0]",
        "a.quantile(0.5)", "a.sort()[0].diff()", "t.func.grad(lambda v: v.sort()[0][0] * 2)(a)", "a.max(0)[1]", "a.nanmedian()",
        "t.where(a > 0.5, t.nan, a).median()", "t.where(a > 0.5, t.nan, a).nanmedian()",
    ],
)  # fmt: skip
def test_order_is_known_inside_vmap(call: str) -> None:
    found = []
    for t in (torch, ours):
        x = t.arange(12.0).reshape(4, 3).sin()
        found.append(t.func.vmap(lambda a, t=t: eval(call, {"a": a, "t": t}))(x))
    assert str(found[1]) == str(found[0])


MODES = ["use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", ["t.cdist(x, y, compute_mode={!r})", "t.cdist(img.flatten(0, 2), img[0, 0], compute_mode={!r})"])
def test_distances_of_rows_are_PyTorchs_however_they_are_computed(call: str, mode: str) -> None:
    compare(ours, torch, call.format(mode), arrays(3), rtol=1e-6, atol=1e-7)


def test_distances_of_many_rows_take_no_memory_for_each_difference() -> None:
    import tracemalloc

    x = ours.ones(600, 200)
    tracemalloc.start()
    d = ours.cdist(x, x * 2)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 12 * d.nbytes  # all differences are 200 times as much
    assert abs(float(d[3, 5]) - 200**0.5) < 1e-3
    with pytest.raises(ValueError, match="is not a valid value for compute_mode"):
        ours.cdist(x, x, compute_mode="quickly")


def test_equal_rows_have_no_derivative() -> None:
    x = ours.ones(40, 3, requires_grad=True)
    ours.cdist(x, x.detach()).sum().backward()
    assert x.grad.eq(0).all()
