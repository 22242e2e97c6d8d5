"""Functions of neural networks.

Images are channels-last, (N, *S, C), and kernels (*K, C / groups, O).  `layout="channels_first"` takes and gives (N, C, *S),
at the cost of a view; kernels stay as they are.

>>> import tapegrad as tg
>>> image = tg.reshape(tg.arange(9, dtype=tg.float32), (1, 3, 3, 1))
>>> tg.nn.max_pool2d(image, 2, stride=1)[0, :, :, 0]
Tensor([[4., 5.],
        [7., 8.]], dtype=float32)
"""

from __future__ import annotations

from typing import Any

from tapegrad import random as _random
from tapegrad.core.tensor import Tensor
from tapegrad.elsewhere import absent as _absent
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.ops import functions as _functions
from tapegrad.ops import nn_activation as _activation
from tapegrad.ops import nn_attention as _attention
from tapegrad.ops import nn_distance as _distance
from tapegrad.ops import nn_embedding as _embedding
from tapegrad.ops import nn_image_pools as _pools
from tapegrad.ops import nn_images as _images
from tapegrad.ops import nn_linear as _linear
from tapegrad.ops import nn_loss as _loss
from tapegrad.ops import nn_norm as _norm
from tapegrad.ops import softmax as _softmax
from tapegrad.ops.convert import asarray as _asarray
from tapegrad.registry.lengths import may_agree as _may_agree
from tapegrad.registry.misfit import guided as _guided
from tapegrad.registry.public import at_home as _at_home
from tapegrad.registry.space import F as _F

relu = _activation.relu.entry
relu6 = _activation.relu6.entry
hardtanh = _activation.hardtanh.entry
leaky_relu = _activation.leaky_relu.entry
prelu = _activation.prelu.entry
threshold = _activation.threshold.entry
sigmoid = _functions.sigmoid.entry
softplus = _activation.softplus.entry
logsigmoid = _activation.logsigmoid.entry
elu = _activation.elu.entry
celu = _activation.celu.entry
selu = _activation.selu.entry
silu = _activation.silu.entry
mish = _activation.mish.entry
gelu = _activation.gelu.entry
glu = _activation.glu.entry
softsign = _activation.softsign.entry
hardsigmoid = _activation.hardsigmoid.entry
hardswish = _activation.hardswish.entry
tanhshrink = _activation.tanhshrink.entry
softshrink = _activation.softshrink.entry
hardshrink = _activation.hardshrink.entry

conv = _images.conv
conv1d = _images.conv1d
conv2d = _images.conv2d
conv3d = _images.conv3d
conv_transpose = _images.conv_transpose
conv_transpose1d = _images.conv_transpose1d
conv_transpose2d = _images.conv_transpose2d
conv_transpose3d = _images.conv_transpose3d
max_pool = _pools.max_pool
max_pool1d = _pools.max_pool1d
max_pool2d = _pools.max_pool2d
max_pool3d = _pools.max_pool3d
max_pool_with_indices = _pools.max_pool_with_indices
avg_pool = _pools.avg_pool
avg_pool1d = _pools.avg_pool1d
avg_pool2d = _pools.avg_pool2d
avg_pool3d = _pools.avg_pool3d
adaptive_avg_pool = _pools.adaptive_avg_pool
adaptive_avg_pool1d = _pools.adaptive_avg_pool1d
adaptive_avg_pool2d = _pools.adaptive_avg_pool2d
adaptive_avg_pool3d = _pools.adaptive_avg_pool3d
adaptive_max_pool = _pools.adaptive_max_pool
adaptive_max_pool1d = _pools.adaptive_max_pool1d
adaptive_max_pool2d = _pools.adaptive_max_pool2d
adaptive_max_pool3d = _pools.adaptive_max_pool3d
pixel_shuffle = _images.pixel_shuffle
pixel_unshuffle = _images.pixel_unshuffle
unfold = _images.unfold
fold = _images.fold
interpolate = _images.interpolate

softmax = _softmax.softmax.entry
log_softmax = _softmax.log_softmax.entry
logsumexp = _softmax.logsumexp.entry

batch_norm = _norm.batch_norm.entry
layer_norm = _norm.layer_norm.entry
group_norm = _norm.group_norm.entry
instance_norm = _norm.instance_norm.entry
rms_norm = _norm.rms_norm.entry
normalize = _norm.normalize.entry

one_hot = _loss.one_hot.entry
nll_loss = _loss.nll_loss.entry
binary_cross_entropy = _loss.binary_cross_entropy.entry
binary_cross_entropy_with_logits = _loss.binary_cross_entropy_with_logits.entry
kl_div = _loss.kl_div_loss.entry
poisson_nll_loss = _loss.poisson_nll_loss.entry
gaussian_nll_loss = _loss.gaussian_nll_loss.entry

mse_loss = _distance.mse_loss.entry
l1_loss = _distance.l1_loss.entry
smooth_l1_loss = _distance.smooth_l1_loss.entry
huber_loss = _distance.huber_loss.entry
soft_margin_loss = _distance.soft_margin_loss.entry
hinge_embedding_loss = _distance.hinge_embedding_loss.entry
margin_ranking_loss = _distance.margin_ranking_loss.entry
multi_margin_loss = _distance.multi_margin_loss.entry
multilabel_soft_margin_loss = _distance.multilabel_soft_margin_loss.entry
cosine_similarity = _distance.cosine_similarity.entry
cosine_embedding_loss = _distance.cosine_embedding_loss.entry
pairwise_distance = _distance.pairwise_distance.entry
triplet_margin_loss = _distance.triplet_margin_loss.entry

attention_weights = _attention.attention_weights.entry
scaled_dot_product_attention = _attention.scaled_dot_product_attention.entry
embedding = _embedding.embedding.entry
linear = _linear.linear.entry


# -- losses that look at their target ------------------------------------------------------------------------
_mean_cross_entropy = _loss.cross_entropy.entry


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    /,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    axis: int = -1,
) -> Tensor:
    """-log(softmax(x)[target]) for logits with classes along `axis`, and integer labels, or probabilities of the same shape.

    * `weight`: a factor for each class; a mean over labels is then over the sum of the factors that were used.
    * `ignore_index`: a label whose loss and weight are 0.
    * `label_smoothing`: this part of the target is spread evenly over all classes.
    * `reduction`: "mean", "sum", or "none" for the losses themselves.

    >>> import tapegrad as tg
    >>> tg.nn.cross_entropy(tg.asarray([[0.5, 1.5], [2.5, -0.5]]), tg.asarray([1, 1]))
    Tensor(1.6809245, dtype=float32)
    """
    x = x if isinstance(x, Tensor) else _asarray(x)
    target = target if isinstance(target, Tensor) else _asarray(target)
    if target.dtype.kind not in "iu":
        if ignore_index is not None:
            raise ArgumentError(f"cross_entropy(x, target): ignore_index is for integer labels, target is {target.dtype}")
        if not _may_agree(target.shape, x.shape):
            raise ShapeError(f"cross_entropy(x, target): expected target.shape == {x.shape}, got {target.shape}")
        return _loss.soft_cross_entropy.entry(
            x, target, weight, label_smoothing=label_smoothing, reduction=reduction, axis=axis
        )
    shape = x.shape
    rank = len(shape)
    if rank == 0 or not _may_agree(target.shape, shape[: axis % rank] + shape[axis % rank + 1 :]):
        raise ShapeError(
            f"cross_entropy(x, target): expected integer labels of x's shape {shape} without axis {axis}, "
            f"got {target.shape}"
        )
    plain = weight is None and ignore_index is None and not label_smoothing
    if plain and reduction == "mean" and rank == 2 and axis in (-1, 1) and shape[0]:
        return _mean_cross_entropy(x, target)
    return _loss.label_cross_entropy.entry(
        x,
        target,
        weight,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
        axis=axis,
    )


# -- dropout ---------------------------------------------------------------------------------------------------
@_guided({"p": "rate", "noise_shape": "shape"})
def dropout(
    x: Any,
    /,
    *,
    rate: float = 0.5,
    training: bool = True,
    generator: _random.Generator | None = None,
    shape: Any = None,
) -> Tensor:
    """`x` with each element set to 0 with probability `rate`, and the others divided by 1 - rate.

    * `training`: if not, `x` as it is.
    * `generator`: where the mask is drawn from; the default one of `tapegrad.random` if not given.
    * `shape`: of the mask, which is broadcast: (N, 1, 1, C) drops whole channels.

    Raises ArgumentError for a rate outside of 0 to 1.

    N. Srivastava et al., "Dropout", 2014, section 4.
    """
    if not 0 <= rate <= 1:
        raise ArgumentError(f"dropout(x): expected 0 <= rate <= 1, got {rate}")
    x = x if isinstance(x, Tensor) else _asarray(x)
    if not training or rate == 0:
        return _F.positive(x)
    if rate == 1:
        return x * 0
    generator = _random.default_generator() if generator is None else generator
    kept = generator.bernoulli(1 - rate, x.shape if shape is None else shape, dtype=x.dtype)
    return x * (kept * x.dtype.type(1 / (1 - rate)))


__all__ = [
    name
    for name, value in sorted(globals().items())
    if not name.startswith("_") and callable(value) and name not in ("Any", "ArgumentError", "ShapeError", "Tensor")
]
_at_home(__name__, globals())
__getattr__ = _absent(__name__)
__dir__ = __all__.copy
