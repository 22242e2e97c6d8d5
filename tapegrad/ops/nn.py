"""The ops of neural networks, by idea."""

from tapegrad.ops import (
    nn_activation,
    nn_alignment,
    nn_attention,
    nn_conv,
    nn_distance,
    nn_embedding,
    nn_image_pools,
    nn_images,
    nn_linear,
    nn_loss,
    nn_norm,
    nn_pool,
    nn_recurrent,
    nn_resize,
)
from tapegrad.ops.nn_activation import relu, softplus
from tapegrad.ops.nn_loss import cross_entropy, one_hot

__all__ = [
    "cross_entropy",
    "nn_activation",
    "nn_alignment",
    "nn_attention",
    "nn_conv",
    "nn_distance",
    "nn_embedding",
    "nn_image_pools",
    "nn_images",
    "nn_linear",
    "nn_loss",
    "nn_norm",
    "nn_pool",
    "nn_recurrent",
    "nn_resize",
    "one_hot",
    "relu",
    "softplus",
]
