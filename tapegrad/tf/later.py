"""What looks at values: done at once, or in each call of the function that is being traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapegrad.compiled.tracing import is_tracing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.tf.tensor import Tensor


def on_values(f: Callable[..., None], *xs: Tensor) -> None:
    """Call `f` with the values of tensors, as arrays of NumPy's and numbers."""
    raws = [x.array for x in xs]
    if not is_tracing():
        f(*[np.asarray(r)[()] for r in raws])
        return
    from tapegrad.tf import compiling

    compiling.on_values(f, raws)
