"""`tf.math.sobol_sample`."""

from __future__ import annotations

from typing import Any

from tapegrad.sobol import BITS, DIMENSIONS, points
from tapegrad.tf.convert import fresh
from tapegrad.tf.dtypes import as_dtype, float32
from tapegrad.tf.errors import invalid
from tapegrad.tf.tensor import Tensor


def sobol_sample(dim: Any, num_results: Any, skip: Any = 0, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Points of Sobol's sequence in [0, 1)**dim, the origin left out, and `skip` more of the first: (num_results, dim).

    >>> import tapegrad.tf as tf
    >>> tf.math.sobol_sample(2, 3).numpy().tolist()
    [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """
    dimension, count, first, wanted = int(dim), int(num_results), int(skip), as_dtype(dtype)
    if not 1 <= dimension <= DIMENSIONS:
        raise invalid("SobolSample", f"dim must be at least one and at most {DIMENSIONS}, got {dimension}")
    if count < 1:
        raise invalid("SobolSample", f"num_results must be at least one, got {count}")
    if first < 0:
        raise invalid("SobolSample", f"skip must be non-negative, got {first}")
    if first + count >= 2**BITS:
        raise invalid("SobolSample", f"num_results+skip must be less than 2**{BITS}, got {first + count}")
    if wanted.name not in ("float32", "float64"):
        raise TypeError(f"sobol_sample: expected dtype float32 or float64, got {wanted.name}")
    return fresh((points(dimension, first + 1, count) / 2**BITS).astype(wanted.numpy))
