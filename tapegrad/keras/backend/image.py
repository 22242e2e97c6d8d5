"""Keras's image functions, where its NumPy backend writes into arrays."""

from __future__ import annotations

from typing import Any

import numpy

from tapegrad.keras.backend.core import convert_to_tensor
from tapegrad.keras.backend.values import by_values
from tapegrad.registry.space import F

__all__ = ["_scale_and_translate"]


def _scale_and_translate(
    x: Any, output_shape: Any, spatial_dims: Any, scale: Any, translation: Any, kernel: Any, antialias: bool
) -> Any:
    """An image of another size, by weights along one axis after the other."""
    from keras.src.backend.numpy import image

    x = convert_to_tensor(x)
    whole = x.array.dtype.kind in "iu"
    y = F.astype(x, numpy.float32) if whole else x
    for i, axis in enumerate(spatial_dims):
        axis %= x.ndim  # noqa: PLW2901
        weights = image._compute_weight_mat(
            x.shape[axis], output_shape[axis], scale[i], translation[i], kernel, antialias
        )
        y = F.moveaxis(F.tensordot(y, F.astype(convert_to_tensor(weights), y.dtype), axes=((axis,), (0,))), -1, axis)
    return F.astype(F.clip(F.round(y), float(F.min(x)), float(F.max(x))), x.dtype) if whole else y


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    by_values(names, ("affine_transform", "elastic_transform", "perspective_transform"))
    names.update({name: globals()[name] for name in __all__})
