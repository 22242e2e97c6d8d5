"""Programs that compile their steps, each beside the same program written in TensorFlow, as a pair of results.

A program is a function of `jit`, whether XLA compiles; it gives what tapegrad computes and what TensorFlow does.
"""

from typing import Any

import numpy as np

import tapegrad as tg

_rng = np.random.default_rng(7)


def drawn(*shape: int) -> np.ndarray:
    """Numbers from a normal distribution."""
    return _rng.standard_normal(shape).astype(np.float32)


def here(x: Any) -> tg.Tensor:
    """On TensorFlow's kernels."""
    return tg.asarray(x, backend="tensorflow")


def arrays(found: Any) -> list[np.ndarray]:
    """All numbers in what a program gives, in order."""
    if isinstance(found, dict):
        return [a for k in sorted(found) for a in arrays(found[k])]
    if isinstance(found, list | tuple):
        return [a for x in found for a in arrays(x)]
    if found is None:
        return [np.asarray(np.nan)]
    return [np.asarray(found.numpy() if hasattr(found, "numpy") else found)]
