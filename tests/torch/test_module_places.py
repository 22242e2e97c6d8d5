"""Modules by PyTorch's names of places: what scripts import, and what pickles name."""

import importlib
import inspect
import pickle

import numpy as np
import pytest

import tapegrad.torch as T
from tapegrad.torch.nn.modules._places import PLACES

real = pytest.importorskip("torch")


@pytest.mark.parametrize("name", sorted(PLACES))
def test_a_place_of_pytorchs_holds_its_public_layers(name: str) -> None:
    theirs = importlib.import_module(f"torch.nn.modules.{name}")
    ours = importlib.import_module(f"tapegrad.torch.nn.modules.{name}")
    wanted = set(theirs.__all__) - {"CrossMapLRN2d", "FractionalMaxPool2d", "FractionalMaxPool3d"}
    assert wanted <= set(vars(ours))


@pytest.mark.parametrize(
    ("layer", "place", "base"),
    [
        ("BatchNorm2d(3)", "batchnorm", "_BatchNorm"),
        ("InstanceNorm1d(3)", "instancenorm", "_InstanceNorm"),
        ("Dropout2d()", "dropout", "_DropoutNd"),
        ("MaxPool2d(2)", "pooling", "_MaxPoolNd"),
        ("AvgPool1d(2)", "pooling", "_AvgPoolNd"),
        ("AdaptiveAvgPool2d(1)", "pooling", "_AdaptiveAvgPoolNd"),
        ("ZeroPad2d(1)", "padding", "_ConstantPadNd"),
        ("ReflectionPad1d(1)", "padding", "_ReflectionPadNd"),
        ("Conv2d(1, 2, 3)", "conv", "_ConvNd"),
    ],
)
def test_layers_are_told_apart_by_pytorchs_base_classes(layer: str, place: str, base: str) -> None:
    for nn in (real.nn, T.nn):
        module = eval(layer, {**vars(nn), **{n: getattr(nn, n) for n in dir(nn)}})
        package = importlib.import_module(f"{nn.__name__}.modules.{place}")
        assert isinstance(module, getattr(package, base))
        others = [c for n, c in vars(package).items() if n.endswith("Nd") and n != base]
        assert not any(isinstance(module, c) for c in others)


@pytest.mark.parametrize("name", [n for n in T.nn.modules.__all__ if inspect.isclass(getattr(T.nn, n))])
def test_a_class_is_found_where_it_says_that_it_is(name: str) -> None:
    assert pickle.loads(pickle.dumps(getattr(T.nn, name))) is getattr(T.nn, name)


def test_a_whole_model_with_activations_and_pooling_is_pickled() -> None:
    model = T.nn.Sequential(T.nn.Conv2d(1, 2, 3), T.nn.ReLU(), T.nn.MaxPool2d(2), T.nn.Flatten(), T.nn.Dropout(0.3)).eval()
    again = pickle.loads(pickle.dumps(model))
    x = T.randn(2, 1, 6, 6)
    assert np.array_equal(model(x).detach().numpy(), again(x).detach().numpy())
    assert repr(again) == repr(model)


@pytest.mark.parametrize("options", [{}, {"div_value": 2.0, "head_bias": True}])
def test_adaptive_softmax_is_pytorchs(options: dict[str, float]) -> None:
    rng = np.random.default_rng(5)
    x, labels = rng.normal(size=(30, 64)).astype(np.float32), rng.integers(0, 20, 30)
    made = []
    for torch in (real, T):
        torch.manual_seed(3)
        layer = torch.nn.AdaptiveLogSoftmaxWithLoss(64, 20, [5, 10, 15], **options)
        found = layer(torch.tensor(x), torch.tensor(labels))
        found.loss.backward()
        one = layer(torch.tensor(x[0]), torch.tensor(labels[0])).output
        grads = [p.grad.numpy() for p in layer.parameters() if p.numel()]
        made.append([found.output, one, layer.log_prob(torch.tensor(x)), layer.predict(torch.tensor(x)), *map(torch.tensor, grads)])
    for theirs, ours in zip(*made, strict=True):
        assert np.allclose(theirs.detach().numpy(), ours.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_adaptive_softmax_refuses_cutoffs_out_of_order_and_labels_out_of_range() -> None:
    with pytest.raises(ValueError, match="unique, positive integers sorted"):
        T.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 15, 10])
    layer = T.nn.AdaptiveLogSoftmaxWithLoss(64, 20, [5, 10])
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
        layer(T.randn(1, 64), T.tensor([20]))
