"""Values and gradients of nn's functions of numbers, rows and images, against PyTorch's at the same points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = [pytest.mark.interop("torch"), pytest.mark.filterwarnings("ignore:reduction")]
RNG = np.random.default_rng(20)
X = np.concatenate([RNG.normal(0, 2, 40), [0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 25.0, -25.0]]).reshape(5, 10)
P = RNG.uniform(0.05, 0.95, (5, 10))
Y = RNG.normal(0, 2, (5, 10))
SIGNS = np.where(RNG.random((5, 10)) < 0.5, -1.0, 1.0)


def ours(f: Any, arrays: Any) -> list[Any]:
    tensors = [tg.asarray(a) for a in arrays]
    active = [t for t in tensors if t.dtype.kind == "f"]
    with tg.GradientTape() as tape:
        tape.watch(active)
        y = f(*tensors)
    g = tg.asarray(np.cos(np.arange(y.size)).reshape(y.shape))
    found = tape.gradient(y, active, output_gradients=g, unconnected_gradients="zero")
    return [y.numpy(), *(c.numpy() for c in found)]


def theirs(f: Any, arrays: Any) -> list[Any]:
    import torch

    tensors = [torch.tensor(a) for a in arrays]
    active = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    y = f(*tensors)
    g = torch.tensor(np.cos(np.arange(y.numel())).reshape(tuple(y.shape)))
    found = torch.autograd.grad(y, active, g, allow_unused=True)
    return [y.detach().numpy(), *(np.zeros(t.shape) if c is None else c.numpy() for c, t in zip(found, active, strict=True))]


def agree(f: Any, g: Any, *arrays: Any, rtol: float = 1e-9) -> None:
    for found, expected in zip(ours(f, arrays), theirs(g, arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-2 * rtol)


def functional() -> Any:
    import torch

    return torch.nn.functional


ACTIVATIONS: dict[str, tuple[dict[str, Any], str, tuple[Any, ...]]] = {
    "relu": ({}, "relu", ()),
    "relu6": ({}, "relu6", ()),
    "hardtanh": ({"low": -0.5, "high": 1.0}, "hardtanh", (-0.5, 1.0)),
    "leaky_relu": ({"slope": 0.2}, "leaky_relu", (0.2,)),
    "threshold": ({"limit": 0.5, "value": -1.0}, "threshold", (0.5, -1.0)),
    "sigmoid": ({}, "sigmoid", ()),
    "softplus": ({"beta": 0.7}, "softplus", (0.7, 50.0)),
    "logsigmoid": ({}, "logsigmoid", ()),
    "elu": ({"alpha": 0.6}, "elu", (0.6,)),
    "celu": ({"alpha": 0.6}, "celu", (0.6,)),
    "selu": ({}, "selu", ()),
    "silu": ({}, "silu", ()),
    "mish": ({}, "mish", ()),
    "gelu": ({}, "gelu", ()),
    "glu": ({}, "glu", ()),
    "softsign": ({}, "softsign", ()),
    "hardsigmoid": ({}, "hardsigmoid", ()),
    "hardswish": ({}, "hardswish", ()),
    "tanhshrink": ({}, "tanhshrink", ()),
    "softshrink": ({"limit": 0.5}, "softshrink", (0.5,)),
    "hardshrink": ({"limit": 0.5}, "hardshrink", (0.5,)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_those_of_torch_at_their_kinks_too(name: str) -> None:
    params, theirs_name, args = ACTIVATIONS[name]
    rtol = 1e-6 if name in ("celu", "hardsigmoid") else 1e-9  # torch keeps their constants in single precision
    agree(lambda x: getattr(tg.nn, name)(x, **params), lambda x: getattr(functional(), theirs_name)(x, *args), X, rtol=rtol)


def test_gelu_by_tanh_and_prelu() -> None:
    agree(lambda x: tg.nn.gelu(x, approximate="tanh"), lambda x: functional().gelu(x, approximate="tanh"), X)
    agree(tg.nn.prelu, functional().prelu, X, RNG.random(10))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("name", "theirs_name", "arrays", "params"),
    [
        ("mse_loss", "mse_loss", (X, Y), {}),
        ("l1_loss", "l1_loss", (X, Y), {}),
        ("smooth_l1_loss", "smooth_l1_loss", (X, Y), {"beta": 0.7}),
        ("huber_loss", "huber_loss", (X, Y), {"delta": 0.7}),
        ("binary_cross_entropy", "binary_cross_entropy", (P, P[::-1].copy()), {}),
        ("binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits", (X, P), {}),
        ("kl_div", "kl_div", (X, P), {}),
        ("kl_div", "kl_div", (X, Y), {"log_target": True}),
        ("gaussian_nll_loss", "gaussian_nll_loss", (X, Y, P), {}),
        ("gaussian_nll_loss", "gaussian_nll_loss", (X, Y, P), {"full": True}),
        ("hinge_embedding_loss", "hinge_embedding_loss", (X, SIGNS.astype(int)), {"margin": 0.8}),
        ("soft_margin_loss", "soft_margin_loss", (X, SIGNS.astype(int)), {}),
        ("margin_ranking_loss", "margin_ranking_loss", (X[0], Y[0], SIGNS[0].astype(int)), {"margin": 0.4}),
        ("multi_margin_loss", "multi_margin_loss", (X, np.arange(5)), {"margin": 0.8}),
        ("multi_margin_loss", "multi_margin_loss", (X, np.arange(5)), {"p": 2}),
        ("multilabel_soft_margin_loss", "multilabel_soft_margin_loss", (X, P), {}),
        ("cosine_embedding_loss", "cosine_embedding_loss", (X, Y, SIGNS[:, 0].astype(int)), {"margin": 0.1}),
        ("triplet_margin_loss", "triplet_margin_loss", (X, Y, P), {}),
        ("triplet_margin_loss", "triplet_margin_loss", (X, Y, P), {"swap": True, "p": 3.0}),
    ],
)
def test_losses_are_those_of_torch(name: str, theirs_name: str, arrays: Any, params: Any, reduction: str) -> None:
    agree(
        lambda *a: getattr(tg.nn, name)(*a, reduction=reduction, **params),
        lambda *a: getattr(functional(), theirs_name)(*a, reduction=reduction, **params),
        *arrays,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("spatial", [False, True])
def test_cross_entropy_of_labels_is_that_of_torch(
    reduction: str, label_smoothing: float, weighted: bool, ignored: bool, spatial: bool
) -> None:
    import torch

    x = RNG.normal(0, 2, (5, 10, 3)) if spatial else X
    labels = RNG.integers(0, 10, (5, 3) if spatial else 5)
    labels[-1] = -100 if ignored else labels[-1]
    weight = RNG.random(10) if weighted else None
    words = {"reduction": reduction, "label_smoothing": label_smoothing}
    agree(
        lambda x, t: tg.nn.cross_entropy(x, t, weight, axis=1, ignore_index=-100 if ignored else None, **words),
        lambda x, t: functional().cross_entropy(x, t, None if weight is None else torch.tensor(weight), **words),
        x,
        labels,
    )
    if not label_smoothing:
        agree(
            lambda x, t: tg.nn.nll_loss(x, t, weight, axis=1, ignore_index=-100, reduction=reduction),
            lambda x, t: functional().nll_loss(
                x, t, None if weight is None else torch.tensor(weight), reduction=reduction
            ),
            x,
            labels,
        )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities_is_that_of_torch(reduction: str, label_smoothing: float) -> None:
    words = {"reduction": reduction, "label_smoothing": label_smoothing}
    agree(
        lambda x, t: tg.nn.cross_entropy(x, t, **words),
        lambda x, t: functional().cross_entropy(x, t, **words),
        X,
        P / P.sum(1, keepdims=True),
    )


def test_weighted_binary_cross_entropy_and_poisson_losses() -> None:
    import torch

    w, v = RNG.random(10), RNG.random(10)
    agree(
        lambda x, t: tg.nn.binary_cross_entropy_with_logits(x, t, w, v),
        lambda x, t: functional().binary_cross_entropy_with_logits(x, t, torch.tensor(w), pos_weight=torch.tensor(v)),
        X,
        P,
    )
    counts = RNG.poisson(3.0, X.shape).astype(float)
    for log_input in (True, False):
        agree(
            lambda x: tg.nn.poisson_nll_loss(x, counts, log_input=log_input, full=True),  # noqa: B023
            lambda x: functional().poisson_nll_loss(x, torch.tensor(counts), log_input=log_input, full=True),  # noqa: B023
            np.abs(Y) + 0.1,
        )


def test_similarities_and_norms_of_rows() -> None:
    agree(tg.nn.cosine_similarity, functional().cosine_similarity, X, Y)
    agree(lambda a, b: tg.nn.pairwise_distance(a, b, p=3.0), lambda a, b: functional().pairwise_distance(a, b, p=3.0), X, Y)
    for p in (1.0, 2.0, 3.0, np.inf):
        agree(
            lambda x: tg.nn.normalize(x, p=p),  # noqa: B023
            lambda x: functional().normalize(x, p=p),  # noqa: B023
            Y,
        )


IMAGES = RNG.normal(0.5, 2, (4, 6, 3, 5))
WEIGHT, BIAS = RNG.normal(1, 0.3, 6), RNG.normal(0, 1, 6)


def test_normalisations_are_those_of_torch() -> None:
    agree(
        lambda x, w, b: tg.nn.batch_norm(x, w, b, axis=1),
        lambda x, w, b: functional().batch_norm(x, None, None, w, b, training=True),
        IMAGES,
        WEIGHT,
        BIAS,
    )
    agree(
        lambda x, w, b: tg.nn.group_norm(x, w, b, groups=3, axis=1),
        lambda x, w, b: functional().group_norm(x, 3, w, b),
        IMAGES,
        WEIGHT,
        BIAS,
    )
    agree(
        lambda x, w, b: tg.nn.instance_norm(x, w, b, axis=1),
        lambda x, w, b: functional().instance_norm(x, weight=w, bias=b),
        IMAGES,
        WEIGHT,
        BIAS,
    )
    agree(
        lambda x, w, b: tg.nn.layer_norm(x, w, b, axis=(-2, -1)),
        lambda x, w, b: functional().layer_norm(x, (3, 5), w, b),
        IMAGES,
        RNG.normal(1, 0.3, (3, 5)),
        RNG.normal(0, 1, (3, 5)),
    )
    agree(
        lambda x, w: tg.nn.rms_norm(x, w, epsilon=1e-5),
        lambda x, w: functional().rms_norm(x, (5,), w, eps=1e-5),
        IMAGES,
        RNG.normal(1, 0.3, 5),
    )


@pytest.mark.parametrize("kind", ["plain", "causal", "mask", "bias", "scale"])
def test_attention_is_that_of_torch(kind: str) -> None:
    import torch

    q, k, v = (RNG.normal(0, 1, (2, 3, 4, 5)) for _ in range(3))
    mask = {"mask": RNG.random((4, 4)) < 0.7, "bias": RNG.normal(0, 1, (3, 4, 4))}.get(kind)
    if kind == "mask":
        mask[:, 0] = True  # type: ignore[index]
    causal, scale = kind == "causal", 0.3 if kind == "scale" else None
    agree(
        lambda q, k, v: tg.nn.scaled_dot_product_attention(q, k, v, mask, causal=causal, scale=scale),
        lambda q, k, v: functional().scaled_dot_product_attention(
            q, k, v, None if mask is None else torch.tensor(mask), is_causal=causal, scale=scale
        ),
        q,
        k,
        v,
    )


def test_pixels_are_moved_as_torch_moves_them() -> None:
    x = RNG.normal(0, 1, (2, 8, 4, 6))
    words = {"layout": "channels_first"}
    agree(lambda x: tg.nn.pixel_shuffle(x, 2, **words), lambda x: functional().pixel_shuffle(x, 2), x)
    agree(lambda x: tg.nn.pixel_unshuffle(x, 2, **words), lambda x: functional().pixel_unshuffle(x, 2), x)
    params = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
    agree(
        lambda x: tg.reshape(tg.nn.unfold(x, (2, 3), **params, **words), (2, 48, -1)),
        lambda x: functional().unfold(x, (2, 3), **params),
        x,
    )
    agree(
        lambda v: tg.nn.fold(tg.reshape(v, (2, 48, 3, 2)), (4, 6), (2, 3), **params, **words),
        lambda v: functional().fold(v, (4, 6), (2, 3), **params),
        RNG.normal(0, 1, (2, 48, 6)),
    )


@pytest.mark.parametrize("size", [(7, 3), (4, 6), (2, 9)])
@pytest.mark.parametrize(("mode", "align"), [("nearest", False), ("linear", False), ("linear", True)])
def test_images_are_resized_as_torch_does(size: Any, mode: str, align: bool) -> None:
    x = RNG.normal(0, 1, (2, 3, 4, 6))
    more = {} if mode == "nearest" else {"mode": "bilinear", "align_corners": align}
    agree(
        lambda x: tg.nn.interpolate(x, size, mode=mode, align_corners=align, layout="channels_first"),
        lambda x: functional().interpolate(x, size, **more),
        x,
    )


def test_images_are_resized_by_a_scale_as_torch_does() -> None:
    x = RNG.normal(0, 1, (2, 3, 4, 6))
    for scale in (2, 1.7, (0.5, 2.5)):
        for mode, theirs_mode in (("nearest", "nearest"), ("linear", "bilinear")):
            agree(
                lambda x: tg.nn.interpolate(x, scale=scale, mode=mode, layout="channels_first"),  # noqa: B023
                lambda x: functional().interpolate(x, scale_factor=scale, mode=theirs_mode),  # noqa: B023
                x,
            )
