"""Functions and methods of tensors: PyTorch's values, dtypes, derivatives and errors."""

import warnings
from typing import Any
from zlib import crc32

import pytest

import tapegrad as tg
import tapegrad.torch as ours
from tests.torch.agreement import arrays, compare

ONE = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "deg2rad",
    "logit",
    "nan_to_num",
    "i0",
    "sgn",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "signbit",
    "positive",
    "logical_not",
    "real",
    "angle",
]
TWO = [
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "remainder",
    "fmod",
    "pow",
    "atan2",
    "hypot",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "copysign",
    "logaddexp",
    "xlogy",
]
REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "std",
    "var",
    "max",
    "min",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "all",
    "any",
    "logsumexp",
    "median",
    "nansum",
    "nanmean",
    "norm",
    "count_nonzero",
    "std_mean",
    "var_mean",
    "aminmax",
]

CALLS = [
    *(f"torch.{f}(p)" for f in ONE if f not in ("acosh", "sgn")),
    "torch.acosh(p + 1)",
    *(f"p.{f}()" for f in ("exp", "log", "sqrt", "abs", "tanh", "sigmoid", "relu", "sign", "floor", "square", "neg")),
    *(f"torch.{f}(x, p)" for f in TWO),
    *(f"torch.{f}(p, 2.5)" for f in ("add", "sub", "mul", "div", "remainder", "fmod", "pow", "eq", "lt", "ge")),
    *(f"torch.{f}(j, 3)" for f in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "eq", "bitwise_and")),
    *(f"torch.{f}(j)" for f in ("abs", "neg", "exp", "sqrt", "sin", "sign", "square", "sigmoid", "floor", "round", "relu")),
    *(f"torch.{f}(x)" for f in REDUCTIONS if f not in ("logsumexp",)),
    *(f"torch.{f}(x, dim=1)" for f in REDUCTIONS if f not in ("norm",)),
    *(f"torch.{f}(b, dim=-1, keepdim=True)" for f in REDUCTIONS if f not in ("norm", "count_nonzero")),
    *(f"torch.{f}(b, dim=(0, 2))" for f in ("sum", "mean", "std", "var", "amax", "amin", "logsumexp", "nansum")),
    *(f"j.{f}()" for f in ("sum", "prod", "max", "min", "argmax", "any", "all", "median", "mean", "std")),
    *(f"m.{f}()" for f in ("sum", "any", "all", "max", "float", "long", "prod")),
    "x.sum(axis=0)", "x.mean(axis=1, keepdims=True)", "x.sum(0, True)", "x.sum(dtype=torch.float32)", "j.sum(dtype=torch.float32)",
    "x.std(unbiased=False)", "x.var(0, False)", "x.var(correction=2)", "x.std(1, True, True)", "x.max(1)[0]", "x.max(1).indices",
    "torch.max(x, y)", "torch.min(x, y)", "torch.clamp(x, -0.5, 0.5)", "x.clamp(min=0)", "x.clamp(max=0.1)", "x.clip(-1, 1)",
    "torch.clamp(x, y, y + 1)", "torch.clamp(j, -2, 2)", "torch.clamp(x)", "x.clamp_min(0.1)",
    "x.sort()", "x.sort(0, descending=True)", "torch.sort(x, dim=1)", "x.argsort(1)", "x.topk(2)", "x.topk(2, 0, largest=False)",
    "torch.kthvalue(x, 2, 1)", "x.median(1)", "x.median()", "torch.mode(i, 1)", "torch.quantile(x, 0.3)",
    "torch.quantile(x, torch.tensor([0.25, 0.5], dtype=torch.float64), dim=1)", "x.cumsum(1)", "x.cumprod(0)", "x.cummax(1)",
    "x.cummin(0)", "torch.logcumsumexp(x, 1)", "j.cumsum(0)", "torch.diff(x)", "torch.diff(x, n=2, dim=0)",
    "torch.add(x, y, alpha=2)", "torch.sub(x, y, alpha=0.5)", "torch.lerp(x, y, 0.3)", "torch.lerp(x, y, p)",
    "torch.addcmul(x, y, p, value=0.5)", "torch.addcdiv(x, y, p, value=2.0)", "torch.rsub(x, y)", "torch.rsub(x, 2)",
    "torch.div(x, p, rounding_mode='floor')", "torch.div(x, p, rounding_mode='trunc')", "torch.div(j, 3, rounding_mode='trunc')",
    "torch.div(j, 3, rounding_mode='floor')", "torch.pow(2, x)", "torch.pow(p, 0.5)", "x ** 2", "2 ** x", "x ** -1", "j ** 2",
    "torch.round(x, decimals=1)", "torch.heaviside(x.detach(), y.detach())", "torch.floor_divide(x.detach(), p.detach())",
    "torch.sgn(x.detach())", "torch.nan_to_num(x, 1.0)", "torch.isclose(x, x + 1e-9)",
    "torch.allclose(x, x)", "torch.equal(x, x)", "torch.equal(x, y)", "x.float() + y", "x + i", "i / 2", "i + 1.5", "m + 1", "m & m",
    "x.cat if False else torch.cat([x, y])", "torch.cat((x, y), 1)", "torch.cat([x, i])", "torch.cat([x, v])", "torch.stack([x, y], 1)",
    "torch.stack([x, y], dim=-1)", "torch.hstack([x, y])", "torch.vstack([v, w])", "torch.dstack([x, y])", "torch.column_stack([v, w])",
    "torch.hstack([v, w])", "x.split(2)", "x.split([1, 3], dim=1)", "x.chunk(2, 1)", "torch.chunk(x, 5)", "torch.tensor_split(x, 3, 1)",
    "x.unbind(1)", "x.view(2, 6)", "x.reshape(-1)", "x.view(-1, 2)", "x.view(5)", "x.t()", "x.T", "b.permute(2, 0, 1)",
    "b.transpose(0, -1)", "torch.transpose(b, 0, 2)", "b.flatten(1)", "torch.flatten(b)", "b.unsqueeze(1)", "b.squeeze()",
    "x[None].squeeze(0)", "b.movedim(0, 2)", "torch.swapaxes(b, 0, 1)", "v.expand(3, 4)", "v.expand_as(x)", "x.narrow(1, 1, 2)",
    "x.select(0, 1)", "x.flip(0)", "torch.flip(x, (0, 1))", "torch.fliplr(x)", "x.roll(1, 0)", "x.roll(2)",
    "torch.roll(x, (1, 2), (0, 1))",
    "x.repeat(2, 3)", "x.repeat(2, 1, 1)", "x.tile(2)", "torch.tile(v, (2, 2))", "x.repeat_interleave(2)",
    "x.repeat_interleave(2, dim=1)",
    "torch.rot90(x)", "x.diagonal()", "torch.diag(v)", "torch.diag(a)", "a.diag(1)", "torch.diag_embed(x)", "torch.diagflat(v)",
    "x.tril()", "a.triu(1)", "torch.tril(a, -1)", "x.unfold(1, 2, 1)", "torch.meshgrid(v, w, indexing='ij')",
    "torch.meshgrid(v, w, indexing='xy')", "torch.cartesian_prod(v, w)", "torch.broadcast_tensors(x, v)", "torch.atleast_2d(v)",
    "torch.block_diag(x, a)", "torch.unflatten(x, 1, (2, 2))", "x.unflatten(1, (2, -1))", "torch.ravel(x)", "x.swapdims(0, 1)",
    "x.gather(1, i)", "torch.gather(x, 0, i)", "x.scatter(1, x.argsort(1), y)", "x.scatter(1, i, 2.0)", "x.scatter_add(1, i, y)",
    "x.scatter_reduce(1, i, y, 'sum')", "x.scatter_reduce(1, i, y, 'prod')", "x.scatter_reduce(0, i, y, 'mean')",
    "x.scatter_reduce(1, i, y, 'amax', include_self=False)", "x.index_select(0, k)", "torch.index_select(x, 1, k)",
    "x.index_add(0, k[:3], y)", "x.index_add(1, k[:2], y[:, :2], alpha=2)", "x.index_copy(0, torch.tensor([2, 0]), y[:2])",
    "x.index_fill(1, k[:1], 7.0)", "x.masked_fill(m, -1.0)", "x.masked_select(m)", "torch.masked_select(x, m)", "x[m]", "x.take(i)",
    "x.put(torch.arange(3), y[0, :3])", "torch.take_along_dim(x, i, 1)", "torch.where(m, x, y)", "torch.where(x > 0, x, 0.0)",
    "torch.where(m)",
    "x.where(m, y)", "m.nonzero()", "torch.nonzero(m, as_tuple=True)", "torch.argwhere(m)", "x.masked_scatter(m, y)",
    "torch.unique(i)", "torch.unique(i, return_counts=True)", "torch.unique(i, return_inverse=True)", "torch.unique_consecutive(k)",
    "torch.bincount(k)", "torch.bincount(k, minlength=8)", "torch.isin(i, k)", "torch.searchsorted(v.sort()[0], w)",
    "torch.bucketize(x, v.sort()[0])", "torch.histc(x, 5)", "torch.histogram(x.detach().float(), 4)",
    "x.index_put((torch.arange(2), k[:2]), v[:2])", "x[0]", "x[:, 1:3]", "x[..., -1]", "x[k]", "x[[0, 2]]", "x[k, 1]", "b[:, :, None, 0]",
    "torch.mm(x, a)", "x.mm(a)", "x.matmul(a)", "x @ v", "torch.bmm(b, c)", "torch.mv(x, v)", "torch.dot(v, w)", "v.dot(w)",
    "torch.outer(v, w)", "torch.addmm(x, x, a)", "torch.addmm(x, x, a, beta=0.5, alpha=2)", "torch.baddbmm(b @ c, b, c)",
    "torch.addmv(v, a, w)", "torch.einsum('ij,jk->ik', x, a)", "torch.einsum('ij->i', x)", "torch.einsum('bij,bjk->bik', b, c)",
    "torch.tensordot(x, a, 1)", "torch.tensordot(x, y, ([0, 1], [0, 1]))", "torch.kron(v, w)", "torch.cross(x[:, :3], y[:, :3], 1)",
    "torch.trace(a)", "torch.det(a)", "torch.logdet(spd)", "torch.slogdet(a)", "torch.inverse(a)", "torch.cholesky(spd)",
    "torch.linalg.cholesky(spd)", "torch.linalg.inv(a)", "torch.linalg.solve(a, v)", "torch.linalg.det(a)", "torch.linalg.norm(x)",
    "torch.linalg.norm(x, dim=1)", "torch.linalg.norm(x, 1)", "torch.linalg.vector_norm(x, 3, dim=0)", "torch.linalg.matrix_norm(x)",
    "torch.linalg.svdvals(x)", "torch.linalg.eigvalsh(spd)", "torch.linalg.matrix_power(a, 3)", "torch.linalg.pinv(x)",
    "torch.linalg.matrix_rank(x)", "torch.linalg.multi_dot([x, a, y.T])", "torch.linalg.vecdot(x, y)", "torch.linalg.cond(a)",
    "torch.linalg.lstsq(a, x.T)[0]", "torch.matrix_exp(spd)", "torch.linalg.eigvals(spd).real.sort()[0]",
    "torch.linalg.lu(a)", "torch.linalg.qr(a).R.abs()", "x.norm()", "x.norm(p=1)", "x.norm(dim=1)", "x.norm(2, 1, keepdim=True)",
    "torch.norm(x, p=float('inf'))", "torch.dist(x, y)", "torch.cdist(x, y)", "torch.cdist(x, y, p=1)", "F.pdist(x)",
    "torch.cov(x)", "torch.corrcoef(x)", "torch.softmax(x, 1)", "x.log_softmax(0)", "x.softmax(dim=-1)", "torch.logsumexp(x, (0, 1))",
    "torch.fft.fft(x)", "torch.fft.rfft(x, n=6)", "torch.fft.ifft(z)", "torch.fft.fft2(x)", "torch.fft.irfft(z)", "torch.fft.fftshift(x)",
    "torch.special.expit(x)", "torch.special.xlogy(p, p)", "torch.special.gammaln(p)", "torch.special.log_softmax(x, 1)",
    "z.abs()", "z.conj()", "z.real", "z.imag", "z * z", "z.angle()", "torch.view_as_real(z)", "torch.complex(x, y)", "torch.polar(p, x)",
    "x.to(torch.float32)", "x.float()", "x.int()", "x.long()", "x.bool()", "x.type(torch.float16)", "x.half()", "x.bfloat16()",
    "x.type()", "i.type()", "x.type_as(i)", "x.size()", "x.size(1)", "x.dim()", "x.numel()", "x.shape", "x.element_size()",
    "x.is_contiguous()", "x.t().is_contiguous()", "x.stride()", "x.tolist()", "s.item()", "x.t().contiguous()", "x.cpu()",
    "torch.is_tensor(x)", "torch.is_floating_point(i)", "torch.numel(x)", "torch.zeros_like(x)", "torch.ones_like(i)",
    "torch.full_like(x, 3)", "x.new_zeros(2)", "x.new_ones((2, 2))", "x.new_tensor([1, 2])", "x.new_full((2,), 7)", "x.clone()",
    "x.detach()",
    "torch.renorm(x, 2, 0, 1.0)", "torch.clone(x)", "x.sum_to_size(1, 4)", "torch.vander(v) if False else torch.linalg.vander(v)",
    "x.view(7)", "torch.cat([x, b])", "torch.stack([x, v])", "x.sum(5)", "x.gather(1, i + 9)", "torch.mm(x, y)", "torch.bmm(x, x)",
    "x.masked_fill(i, 0.0)", "torch.dot(x, y)", "x.squeeze(3)", "x + b", "x.topk(9)", "m.mean()", "x.index_select(0, k + 9)",
    "torch.linalg.cholesky(-spd)", "torch.linalg.inv(x)", "torch.repeat_interleave(k)", "torch.combinations(v)",
    "x.addcmul(y, p)", "x.mul(2).add(1)", "x.div(2)", "x.eq(x)", "x.ne(0)", "x.lt(0.5)", "torch.logical_and(m, m)", "x.fmod(0.3)",
    "x.count_nonzero()", "x.nansum()", "x.argmin(1)", "x.all(1)", "x.any(0)", "torch.std_mean(x)", "torch.var_mean(x, 1)",
]  # fmt: skip

CREATION = [
    "torch.zeros(2, 3)", "torch.zeros((2, 3))", "torch.zeros([2])", "torch.zeros(2, dtype=torch.int32)", "torch.ones(())",
    "torch.ones(2, 1, dtype=torch.bool)", "torch.full((2, 2), 7)", "torch.full((2,), 1.5)", "torch.full((2,), True)",
    "torch.full([2], 3, dtype=torch.float64)", "torch.arange(5)", "torch.arange(1, 6, 2)", "torch.arange(0, 1, 0.3)",
    "torch.arange(5.0)", "torch.arange(3, 0, -1)", "torch.arange(0.5, 3)", "torch.arange(4, dtype=torch.float32)",
    "torch.linspace(0, 1, 7)", "torch.linspace(-2, 3, 4, dtype=torch.float64)", "torch.linspace(0, 10, 1)", "torch.logspace(0, 2, 3)",
    "torch.eye(3)", "torch.eye(2, 4)", "torch.tensor([1, 2])", "torch.tensor([[1.5]])", "torch.tensor(True)", "torch.tensor([])",
    "torch.tensor([1, 2.5])", "torch.as_tensor([1, 2])", "torch.Tensor([1, 2])", "torch.FloatTensor([1, 2])", "torch.LongTensor([1])",
    "torch.empty(2, 3).shape", "torch.tril_indices(3, 3)", "torch.triu_indices(2, 4, 1)", "torch.hann_window(5)",
    "torch.hamming_window(4, periodic=False)", "torch.finfo(torch.float32).eps", "torch.iinfo(torch.int32).max", "torch.zeros(-1)",
    "torch.arange(3, 0)", "torch.zeros(2.5)", "torch.promote_types(torch.int32, torch.float16)", "torch.get_default_dtype()",
    "torch.broadcast_shapes((2, 1), (3,))", "torch.Size([2, 3]).numel()", "str(torch.device('cpu'))", "repr(torch.device('cuda:1'))",
    "torch.fft.fftfreq(5)", "torch.fft.rfftfreq(6, d=0.5)", "torch.scalar_tensor(3)", "torch.tensor(3).type()", "torch.typename([])",
    "torch.tensor([1.0]).type()", "torch.result_type(torch.tensor([1]), 2.5)", "torch.can_cast(torch.float32, torch.int32)",
    "torch.is_grad_enabled()", "torch.cuda.is_available()", "torch.cuda.device_count()", "torch.backends.mps.is_available()",
]  # fmt: skip

IN_PLACE = [
    "add_(1)", "sub_(y)", "mul_(2)", "div_(3)", "pow_(2)", "clamp_(-0.1, 0.1)", "clamp_(min=0)", "exp_()", "abs_()", "neg_()", "sqrt_()",
    "floor_()", "round_()", "sigmoid_()", "tanh_()", "relu_()", "zero_()", "fill_(2.5)", "copy_(y)", "addcmul_(y, p, value=2)",
    "addcdiv_(y, p)", "masked_fill_(m, 0.0)", "scatter_(1, y.argsort(1), y)", "scatter_add_(1, i, y)", "index_add_(0, k[:3], y)",
    "index_fill_(0, k[:1], 1.0)", "lerp_(y, 0.5)", "add_(y, alpha=3)", "triu_()", "tril_(1)", "t_()", "unsqueeze_(0)", "squeeze_()",
    "reciprocal_()", "log_()", "sin_()", "eq_(y)", "lt_(0)", "fill_diagonal_(3)", "index_copy_(0, torch.tensor([1]), y[:1])",
    "put_(torch.arange(4), y[0])", "resize_(2, 6)", "transpose_(0, 1)", "remainder_(0.7)", "nan_to_num_()", "trunc_()", "frac_()",
    "sign_()",
]  # fmt: skip


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.interop("torch")
@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(torch: Any, call: str) -> None:
    compare(ours, torch, call, arrays(crc32(call.encode()) % 7 + 1))


@pytest.mark.interop("torch")
@pytest.mark.parametrize("call", CREATION)
def test_creation_as_pytorch(torch: Any, call: str) -> None:
    compare(ours, torch, call, {}, tracked=False)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("call", IN_PLACE)
def test_in_place_as_pytorch(torch: Any, call: str) -> None:
    given = arrays(5)
    compare(ours, torch, f"x.clone().{call}", given)
    compare(ours, torch, f"x.detach().abs().clone().{call}", given, tracked=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.ones(2, 3).view(7), r"shape '\[7\]' is invalid for input of size 6"),
        (lambda: ours.ones(2).gather(0, ours.tensor([5])), "index 5 is out of bounds for dimension 0 with size 2"),
        (
            lambda: ours.mm(ours.ones(2, 3), ours.ones(2, 3)),
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
        ),
        (lambda: ours.ones(2).no_such_method(), "no_such_method"),
        (lambda: ours.expp, "did you mean torch.exp"),
        (lambda: ours.ones(3).topk(4), "selected index k out of range"),
        (lambda: ours.zeros(2).add(1, wrong=2), "unexpected keyword argument 'wrong'"),
    ],
)
def test_errors_say_what_pytorch_says(call: Any, message: str) -> None:
    with pytest.raises((RuntimeError, AttributeError, TypeError, IndexError), match=message), warnings.catch_warnings():
        call()


def test_out_is_written() -> None:
    out = ours.zeros(3)
    assert ours.add(ours.ones(3), 1, out=out) is out
    assert out.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="can't be cast"):
        ours.add(ours.ones(3), 1, out=ours.zeros(3, dtype=ours.int32))


def test_named_results_print_their_names() -> None:
    found = ours.tensor([[1.0, 3.0]]).max(1)
    assert repr(found) == "torch.return_types.max(\nvalues=tensor([3.]),\nindices=tensor([1]))"
    values, indices = found
    assert values is found.values
    assert indices.item() == 1


def test_signatures_are_those_of_pytorch() -> None:
    import inspect

    assert str(inspect.signature(ours.add)) == "(input, other, *, alpha=1, out=None)"
    assert list(inspect.signature(ours.clamp).parameters) == ["input", "min", "max", "out"]


OLD_CALLS = [
    *("x.add(2, y)", "t.add(x, 2, y)", "x.clone().add_(-0.5, y)", "x.sub(2, y)", "t.sub(x, 2, y)", "x.clone().sub_(2, y)"),
    *("x.addcmul(2, y, z)", "t.addcmul(x, 2, y, z)", "x.clone().addcmul_(0.5, y, z)", "x.clone().addcdiv_(-2, y, z)"),
]


@pytest.mark.parametrize("call", OLD_CALLS)
def test_a_scalar_may_come_first_as_it_did_before_2020(torch: Any, call: str) -> None:
    found = []
    for t in (ours, torch):
        names = {"t": t, "x": t.tensor([1.0, 2.0]), "y": t.tensor([10.0, 20.0]), "z": t.tensor([2.0, 4.0])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(eval(call, names).tolist())
    assert found[0] == found[1]


def test_a_scalar_that_comes_first_warns_at_the_line_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapegrad.torch._warnings._SAID", set())
    x = ours.ones(2)
    with pytest.warns(UserWarning, match=r"add\(Tensor other, \*, Number alpha = 1\)") as told:
        x.add_(2, x)
    assert told[0].filename == __file__
    assert x.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("call", ["x.add(x, 2)", "x.add(x, x)", "t.sub(x, x, 2)", "x.add_(2, 3)"])
def test_one_argument_too_many_is_still_refused(call: str) -> None:
    with pytest.raises(TypeError, match=r"takes (1 positional argument but 2|2 positional arguments but 3) were given"):
        eval(call, {"t": ours, "x": ours.ones(2)})


def test_tensors_of_another_style_are_joined_and_keep_their_history() -> None:
    x, v = ours.tensor([1.5, 2.5], requires_grad=True), tg.Variable([0.5, -1.0])
    with tg.GradientTape() as tape:
        y = (ours.cat([x, v]) * ours.tensor([1.0, 2.0, 3.0, 4.0])).sum()
    assert tape.gradient(y, v).tolist() == [3.0, 4.0]
    y.backward()
    assert x.grad.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0, but got list"):
        ours.cat([x, [1.0]])
