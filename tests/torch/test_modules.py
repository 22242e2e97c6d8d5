"""Modules: PyTorch's outputs, gradients of parameters, text, state and errors."""

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as ours
from tests.torch.agreement import agree, arrays, flat, raw

pytestmark = pytest.mark.filterwarnings("ignore")

ACTIVATIONS = [
    "ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardsigmoid", "Hardswish", "Hardtanh", "ELU", "CELU", "LeakyReLU", "Sigmoid", "Tanh",
    "LogSigmoid", "Softsign", "Tanhshrink", "GLU", "GELU", "Hardshrink", "Softshrink", "Softplus", "PReLU",
]  # fmt: skip
#: A module, and what it is called with.
MODULES = [
    ("nn.Linear(4, 3)", "x"), ("nn.Linear(4, 3, bias=False)", "b"), ("nn.Linear(4, 3)", "v"), ("nn.Identity(5, a=3)", "x"),
    ("nn.Bilinear(4, 4, 2)", "x, y"), ("nn.Flatten()", "b"), ("nn.Unflatten(1, (2, 2))", "x"), ("nn.Flatten(0, 1)", "b"),
    *((f"nn.{f}()", "x") for f in ACTIVATIONS),
    ("nn.ReLU(inplace=True)", "x * 1"), ("nn.ELU(0.5, True)", "x * 1"), ("nn.LeakyReLU(0.2, inplace=True)", "x * 1"),
    ("nn.Threshold(0.1, 20)", "x"), ("nn.GELU('tanh')", "x"), ("nn.Softmax(1)", "x"), ("nn.LogSoftmax(dim=0)", "x"),
    ("nn.Softmin(1)", "x"),
    ("nn.Softmax()", "x"), ("nn.Softmax2d()", "img"), ("nn.RReLU().eval()", "x"), ("nn.PReLU(4)", "img"), ("nn.Softplus(2, 5)", "x * 9"),
    ("nn.Conv1d(4, 6, 3)", "seq"), ("nn.Conv1d(4, 6, 3, stride=2, padding=1)", "seq"), ("nn.Conv2d(4, 6, 3)", "img"),
    ("nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)", "img"),
    ("nn.Conv2d(4, 6, 3, bias=False)", "img[0]"),
    ("nn.Conv2d(4, 6, 4, padding='same')", "img"), ("nn.Conv2d(4, 4, 3, padding=1, padding_mode='reflect')", "img"),
    ("nn.Conv2d(4, 4, 3, padding='same', padding_mode='circular')", "img"), ("nn.Conv3d(2, 3, 2)", "vol"),
    ("nn.ConvTranspose1d(4, 6, 3, stride=2)", "seq"), ("nn.ConvTranspose2d(4, 6, 3, 2, 1, 1)", "img"),
    ("nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2, bias=False)", "img"), ("nn.ConvTranspose3d(2, 3, 2)", "vol"),
    ("nn.MaxPool1d(2)", "seq"), ("nn.MaxPool2d(2)", "img"), ("nn.MaxPool2d(3, 2, 1, ceil_mode=True)", "img"), ("nn.MaxPool3d(2)", "vol"),
    ("nn.MaxPool2d(2, return_indices=True)", "img"), ("nn.AvgPool1d(2)", "seq"), ("nn.AvgPool2d(2)", "img"),
    ("nn.AvgPool2d(3, 2, 1, count_include_pad=False)", "img"), ("nn.AvgPool2d(3, 2, 1, ceil_mode=True)", "img"),
    ("nn.AvgPool3d(2)", "vol"),
    ("nn.AvgPool2d(2, divisor_override=3)", "img"), ("nn.LPPool2d(2, 2)", "img.abs()"), ("nn.AdaptiveAvgPool1d(3)", "seq"),
    ("nn.AdaptiveAvgPool2d((4, 3))", "img"), ("nn.AdaptiveAvgPool2d(1)", "img"), ("nn.AdaptiveMaxPool2d((4, None))", "img"),
    ("nn.AdaptiveMaxPool2d(2, return_indices=True)", "img"), ("nn.AdaptiveAvgPool3d(2)", "vol"), ("nn.AdaptiveMaxPool1d(3)", "seq"),
    ("nn.BatchNorm1d(4)", "x"), ("nn.BatchNorm1d(4)", "seq"), ("nn.BatchNorm2d(4)", "img"), ("nn.BatchNorm3d(2)", "vol"),
    ("nn.BatchNorm2d(4, affine=False)", "img"), ("nn.BatchNorm2d(4, momentum=None)", "img"), ("nn.BatchNorm2d(4).eval()", "img"),
    ("nn.BatchNorm2d(4, track_running_stats=False)", "img"), ("nn.LayerNorm(4)", "x"), ("nn.LayerNorm((3, 4))", "b"),
    ("nn.LayerNorm(4, elementwise_affine=False)", "x"), ("nn.LayerNorm(4, bias=False)", "x"), ("nn.GroupNorm(2, 4)", "img"),
    ("nn.InstanceNorm2d(4)", "img"), ("nn.InstanceNorm1d(4, affine=True)", "seq"),
    ("nn.InstanceNorm2d(4, track_running_stats=True)", "img"),
    ("nn.RMSNorm(4)", "x"), ("nn.LocalResponseNorm(2)", "img"), ("nn.Embedding(5, 3)", "k"), ("nn.Embedding(5, 3, padding_idx=1)", "i"),
    ("nn.EmbeddingBag(5, 3)", "i"), ("nn.EmbeddingBag(5, 3, mode='sum')", "k, t.tensor([0, 2])"),
    ("nn.EmbeddingBag(5, 3, mode='max')", "i"), ("nn.Dropout(0.5).eval()", "x"), ("nn.PixelShuffle(2)", "img"),
    ("nn.PixelUnshuffle(2)", "img"),
    ("nn.ChannelShuffle(2)", "img"), ("nn.Upsample(scale_factor=2)", "img"), ("nn.Upsample(size=(5, 9), mode='bilinear')", "img"),
    ("nn.Upsample(scale_factor=1.5, mode='bilinear', align_corners=True)", "img"), ("nn.Upsample(scale_factor=2, mode='bicubic')", "img"),
    ("nn.Upsample(scale_factor=2, mode='linear')", "seq"), ("nn.Upsample(size=3, mode='trilinear')", "vol"),
    ("nn.UpsamplingNearest2d(scale_factor=2)", "img"), ("nn.UpsamplingBilinear2d(scale_factor=2)", "img"),
    ("nn.ReflectionPad2d(2)", "img"), ("nn.ReflectionPad1d((1, 2))", "seq"), ("nn.ReplicationPad2d((1, 2, 0, 1))", "img"),
    ("nn.ZeroPad2d(1)", "img"), ("nn.ConstantPad1d(2, 3.5)", "seq"), ("nn.CircularPad2d(1)", "img"),
    ("nn.ConstantPad2d((1, -1, 0, 2), 0.5)", "img"),
    ("nn.Fold((4, 5), (2, 2))", "t.arange(2 * 8 * 12.).view(2, 8, 12)"), ("nn.Unfold((2, 3), padding=1)", "img"),
    ("nn.CosineSimilarity()", "x, y"), ("nn.PairwiseDistance()", "x, y"), ("nn.PairwiseDistance(p=1)", "x, y"),
    ("nn.RNN(4, 5)", "b"), ("nn.RNN(4, 5, 2, nonlinearity='relu')", "b"), ("nn.LSTM(4, 5)", "b"), ("nn.GRU(4, 5)", "b"),
    ("nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)", "b"), ("nn.GRU(4, 5, 2, bias=False, bidirectional=True)", "b"),
    ("nn.LSTM(4, 5, proj_size=3)", "b"), ("nn.LSTM(4, 5)", "x"),
    ("nn.LSTM(4, 5)", "b, (b[:1, :, :1].expand(1, 3, 5), t.zeros(1, 3, 5).double())"),
    ("nn.RNNCell(4, 5)", "x"), ("nn.LSTMCell(4, 5)", "x"), ("nn.GRUCell(4, 5)", "x"),
    ("nn.GRUCell(4, 5, bias=False)", "x, t.ones(3, 5).double()"),
    ("nn.MultiheadAttention(4, 2)", "b, b, b"), ("nn.MultiheadAttention(4, 2, batch_first=True)", "b, b * 2, b"),
    ("nn.MultiheadAttention(4, 2, kdim=4, vdim=5, add_bias_kv=True, add_zero_attn=True)", "b, b, c[:, [0, 1, 2]]"),
    ("nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)", "b"),
    ("nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True)", "b, b"),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, 'gelu', norm_first=True), 2)", "b"),
    ("nn.Transformer(4, 2, 1, 1, 8, dropout=0.0)", "b, b"),
    ("nn.L1Loss()", "x, y"), ("nn.MSELoss()", "x, y"), ("nn.MSELoss(reduction='sum')", "x, y"), ("nn.MSELoss(reduction='none')", "x, y"),
    ("nn.SmoothL1Loss()", "x, y"), ("nn.SmoothL1Loss(beta=0.5)", "x, y"), ("nn.HuberLoss(delta=0.5)", "x, y"),
    ("nn.NLLLoss()", "logits, k"),
    ("nn.CrossEntropyLoss()", "logits, k"), ("nn.CrossEntropyLoss(ignore_index=1)", "logits, k"),
    ("nn.CrossEntropyLoss(label_smoothing=0.1, weight=t.tensor([1.0, 2.0, 0.5]))", "logits, k"),
    ("nn.CrossEntropyLoss(reduction='none')", "logits, k"),
    ("nn.CrossEntropyLoss()", "logits, logits.detach().softmax(1)"),
    ("nn.NLLLoss(weight=t.tensor([1.0, 2.0, 0.5]), ignore_index=2)", "logits, k"),
    ("nn.BCELoss()", "p, m.to(p.dtype)"), ("nn.BCEWithLogitsLoss()", "x, p.detach()"),
    ("nn.BCEWithLogitsLoss(pos_weight=t.tensor([1., 2., 3., 4.]))", "x, p.detach()"),
    ("nn.KLDivLoss(reduction='batchmean')", "x.log_softmax(1), y.detach().softmax(1)"), ("nn.KLDivLoss(log_target=True)", "x, y"),
    ("nn.PoissonNLLLoss()", "x, p.detach() * 3"), ("nn.PoissonNLLLoss(log_input=False, full=True)", "p, p.detach() * 3"),
    ("nn.GaussianNLLLoss()", "x, y, p"), ("nn.HingeEmbeddingLoss()", "x, m.to(x.dtype) * 2 - 1"),
    ("nn.SoftMarginLoss()", "x, m.to(x.dtype) * 2 - 1"),
    ("nn.MarginRankingLoss(0.2)", "x, y, m.to(x.dtype) * 2 - 1"), ("nn.CosineEmbeddingLoss()", "x, y, t.tensor([1, -1, 1])"),
    ("nn.TripletMarginLoss()", "x, y, p"), ("nn.TripletMarginLoss(swap=True, p=1)", "x, y, p"), ("nn.MultiMarginLoss()", "logits, k"),
    ("nn.MultiLabelSoftMarginLoss()", "x, m.to(x.dtype)"), ("nn.MultiLabelMarginLoss()", "x, t.tensor([[0, 2, -1, 1]] * 3)"),
    ("nn.CTCLoss()", "b.transpose(0, 1).log_softmax(2), t.tensor([[1, 2], [3, 3]]), t.tensor([3, 3]), t.tensor([2, 1])"),
    ("nn.TripletMarginWithDistanceLoss()", "x, y, p"), ("nn.L1Loss(size_average=False)", "x, y"),
    ("nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))", "x"), ("nn.DataParallel(nn.Linear(4, 2))", "x"),
    ("nn.utils.weight_norm(nn.Linear(4, 3))", "x"), ("nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))", "x"),
    ("nn.MaxUnpool2d(2)", "img[:, :, :3, :3], t.arange(9).view(1, 1, 3, 3).expand(2, 4, 3, 3) * 4"),
    ("nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])", None),
    ("nn.ModuleDict({'a': nn.Linear(2, 1), 'b': nn.Tanh()})", None),
    ("nn.ParameterList([t.ones(2), t.zeros(2, 3)])", None), ("nn.ParameterDict({'u': t.ones(2)})", None), ("nn.LazyLinear(3)", "x"),
    ("nn.Sequential(*[nn.Sequential(nn.Linear(1, 2), nn.ModuleList([nn.ReLU()] * 3))] * 2)", None),
    ("nn.AlphaDropout(0.3)", None), ("nn.LSTM(3, 4, 2, dropout=0.5, batch_first=True)", None), ("nn.Dropout2d(0.3, True)", None),
]  # fmt: skip


def same_parameters(mine: Any, theirs: Any) -> None:
    """Give one module's state to the other."""
    state = {name: ours.tensor(raw(value).copy()) for name, value in theirs.state_dict().items()}
    found = mine.load_state_dict(state)
    assert found.missing_keys == []
    assert found.unexpected_keys == []


def make(module: Any, text: str) -> Any:
    return eval(text, {"nn": module.nn, "t": module})


def called(module: Any, net: Any, text: str, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    names = {n: module.tensor(v) for n, v in given.items() if n in compile(text, "", "eval").co_names}
    for t in names.values():
        if t.is_floating_point():
            t.requires_grad_()
    args = eval(f"({text},)", {"t": module}, names)
    out = net(*args)
    total = 0
    for i, y in enumerate(flat(module, out)):
        if isinstance(y, module.Tensor) and y.requires_grad:
            weights = np.cos(np.arange(y.numel(), dtype=np.float64) + i).reshape(tuple(y.shape))
            total = total + (y * module.tensor(weights)).sum()
    if isinstance(total, module.Tensor):
        total.backward()
    grads = {n: t.grad for n, t in names.items()} | {n: p.grad for n, p in net.named_parameters()}
    return out, grads


@pytest.mark.interop("torch")
@pytest.mark.parametrize(("text", "call"), MODULES)
def test_as_pytorch(text: str, call: str | None) -> None:
    torch = pytest.importorskip("torch")
    theirs, mine = make(torch, text), make(ours, text)
    assert repr(mine) == repr(theirs)
    if call is None:
        return
    if "Lazy" in text:
        mine(ours.ones(3, 4)), theirs(torch.ones(3, 4))
        assert repr(mine) == repr(theirs)
    theirs, mine = theirs.double(), mine.double()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    same_parameters(mine, theirs)
    for seed in (1, 2):
        a, my_grads = called(ours, mine, call, arrays(seed))
        b, their_grads = called(torch, theirs, call, arrays(seed))
        agree(a, b, ours, torch, rtol=1e-6, atol=1e-8)
        assert my_grads.keys() == their_grads.keys()
        for name, g in their_grads.items():
            h = my_grads[name]
            assert (g is None) == (h is None) or not raw(h if g is None else g).any(), name
            if g is not None and h is not None:
                np.testing.assert_allclose(raw(h), raw(g), rtol=1e-5, atol=1e-7, err_msg=name)
        for name, value in theirs.state_dict().items():
            np.testing.assert_allclose(raw(mine.state_dict()[name]), raw(value), rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "text",
    [t for t,
    _ in MODULES if t.startswith("nn.") and any(k in t for k in ("Linear", "Conv", "LSTM", "GRU", "Embedding", "Multi", "Transf"))],
)
def test_parameters_begin_with_pytorchs_numbers(text: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    theirs = make(torch, text)
    ours.manual_seed(3)
    mine = make(ours, text)
    for (name, p), (other, q) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == other
        if p.numel():
            np.testing.assert_allclose(raw(p), raw(q), rtol=1e-5, atol=1e-7)


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "text",
    [
        "nn.Linear(2, 3).load_state_dict({})",
        "nn.Linear(2, 3).load_state_dict({'weight': t.ones(2, 2), 'bias': t.ones(3), 'other': t.ones(1)})",
        "nn.Sequential(nn.Linear(2, 2)).load_state_dict({'1.weight': t.ones(2, 2)})",
        "nn.Linear(2, 3).load_state_dict([1])",
        "nn.Linear(2, 3).load_state_dict({'weight': 3, 'bias': t.ones(3)})",
        "nn.Linear(2, 3).nothing",
        "nn.Linear(2, 3).register_parameter('a.b', None)",
        "nn.Linear(2, 3).register_parameter('', None)",
        "nn.Linear(2, 3).register_parameter('forward', None)",
        "nn.Linear(2, 3).register_parameter('z', 3)",
        "nn.Linear(2, 3).register_buffer('weight', t.ones(1))",
        "nn.Linear(2, 3).register_buffer('z', 3)",
        "nn.Linear(2, 3).add_module('z', 3)",
        "nn.Linear(2, 3).__setattr__('weight', t.ones(2))",
        "nn.Sequential(nn.ReLU()).__setattr__('0', t.ones(2))",
        "nn.Module()(1)",
        "nn.Sequential(nn.ReLU())[3]",
        "nn.Linear(2, 3).train(3)",
        "nn.Linear(2, 3).to(t.int32)",
        "nn.Linear(2, 3).get_submodule('a')",
        "nn.Linear(2, 3)(t.ones(3))",
        "nn.Linear(2, 3)(t.ones(3, 4))",
        "nn.Conv2d(3, 4, 2)(t.ones(1, 2, 5, 5))",
        "nn.Conv2d(3, 4, 2)(t.ones(5, 5))",
        "nn.Conv2d(3, 5, 2, groups=2)",
        "nn.BatchNorm2d(3)(t.ones(2, 3))",
        "nn.BatchNorm1d(3)(t.ones(1, 3))",
        "nn.Dropout(1.5)",
        "nn.LayerNorm(3)(t.ones(2, 4))",
        "nn.GroupNorm(2, 3)",
        "nn.Embedding(3, 2)(t.tensor([5]))",
        "nn.LSTM(3, 4)(t.ones(2, 2, 5))",
        "nn.MultiheadAttention(5, 2)",
        "nn.MSELoss(reduction='median')(t.ones(2), t.ones(2))",
        "nn.BCELoss()(t.ones(2) * 3, t.ones(2))",
        "nn.CrossEntropyLoss()(t.ones(2, 3), t.tensor([0, 5]))",
        "nn.ParameterList([t.ones(1)])(3)",
        "nn.functional.one_hot(t.tensor([-1]))",
        "nn.functional.pad(t.ones(2, 3), (1, 1), mode='reflect', value=2)",
        "nn.functional.interpolate(t.ones(1, 1, 4, 4))",
        "nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2)",
    ],
)
def test_errors_as_pytorch(text: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        make(torch, text)
    with pytest.raises(type(theirs.value)) as mine:
        make(ours, text)
    assert words(mine.value)[:6] == words(theirs.value)[:6]


def words(error: Exception) -> list[str]:
    """What an error says, without the names of classes."""
    text = str(error).replace("torch.FloatTensor", "torch.FloatTensor").replace("tapegrad.", "")
    return text.split()


def test_hooks_of_all_kinds_run_in_order() -> None:
    log: list[str] = []
    net = ours.nn.Linear(2, 1)
    net.register_forward_pre_hook(lambda m, a: log.append("pre"))
    net.register_forward_hook(lambda m, a, y: log.append("post"))
    net.register_full_backward_pre_hook(lambda m, g: log.append("backward pre"))
    net.register_full_backward_hook(lambda m, gi, go: log.append("backward"))
    net(ours.ones(1, 2, requires_grad=True)).sum().backward()
    assert log == ["pre", "post", "backward pre", "backward"]
    net._forward_hooks.clear()
    with net.register_forward_hook(lambda m, a, k, y: y * 0, with_kwargs=True, prepend=True):
        assert net(ours.ones(1, 2)).item() == 0
    assert net(ours.ones(1, 2)).item() != 0


def test_containers_are_sliced_and_changed() -> None:
    nn = ours.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    assert [type(m).__name__ for m in net[1:]] == ["ReLU", "Linear"]
    assert net[-1] is net[2]
    del net[1]
    assert len(net) == 2
    net.append(nn.Tanh()).insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Identity", "Linear", "Linear", "Tanh"]
    assert len(nn.Sequential(nn.ReLU()) + net) == 5
    twin = copy.deepcopy(net)
    assert twin[1].weight is not net[1].weight
    assert isinstance(twin[1].weight, nn.Parameter)


def test_recurrent_layers_take_packed_sequences() -> None:
    rnn = ours.nn.utils.rnn
    lengths = [3, 2]
    x = ours.randn(2, 3, 4)
    for net in (ours.nn.LSTM(4, 5, bidirectional=True, batch_first=True), ours.nn.GRU(4, 5, 2, batch_first=True)):
        packed, _ = net(rnn.pack_padded_sequence(x, lengths, batch_first=True))
        y, found = rnn.pad_packed_sequence(packed, batch_first=True)
        assert found.tolist() == lengths
        alone, _ = net(x[1:, :2])
        assert ours.allclose(y[1, :2], alone[0], atol=1e-6)
        assert not y[1, 2].any()


def test_a_module_pickles_and_loads() -> None:
    import pickle

    net = ours.nn.Sequential(ours.nn.Linear(2, 2), ours.nn.BatchNorm1d(2))
    with warnings.catch_warnings():
        twin = pickle.loads(pickle.dumps(net))
    assert all(ours.equal(p, q) for p, q in zip(net.parameters(), twin.parameters(), strict=True))
    assert repr(twin) == repr(net)


def test_what_load_state_dict_gives_says_whether_all_names_matched() -> None:
    layer = ours.nn.Linear(2, 1)
    state = layer.state_dict()
    assert repr(layer.load_state_dict(state)) == "<All keys matched successfully>"
    del state["bias"]
    assert repr(layer.load_state_dict(state, strict=False)) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])"
