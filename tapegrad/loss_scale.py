"""Mixed precision: a loss is scaled up, so that small gradients are not lost in half precision, and gradients down again."""

from __future__ import annotations

import math
from typing import Any, final

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import float32, int64, is_inexact
from tapegrad.errors import ArgumentError
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F
from tapegrad.sparse import SparseRows, sparse_rows
from tapegrad.tree import flatten
from tapegrad.variable import Variable

__all__ = ["LossScale"]

_LARGEST = 2.0**127


@final
class LossScale:
    """A factor for losses, and what undoes it on gradients; it adapts, so that as little as possible is lost.

    float16 has no numbers below 6e-8, where many gradients lie, and none above 65504.  If the factor is dynamic, a step with
    a gradient that is not finite halves it and is to be skipped, and `interval` steps without one double it.  bfloat16 has
    float32's range, and needs none of this.

    * `initial`: the factor at first; `interval`: after so many good steps it grows.
    * `factor`: by how much it grows and shrinks; `dynamic`: False for one that stays.

    All is computed where the gradients are, on either kernel set and inside `tapegrad.function`: nothing is fetched, unless
    `if` asks for the truth of what `update` gives.  P. Micikevicius et al., "Mixed precision training", 2018, section 3.2.

    >>> import tapegrad as tg
    >>> w = tg.Variable([1.5, -2.5])
    >>> scale = tg.LossScale(2.0**10)
    >>> with tg.GradientTape() as tape:
    ...     half = tg.astype(w, "float16")
    ...     loss = tg.mean(half * half)
    ...     scaled = scale.scale(loss)
    >>> gradient = scale.unscale(tape.gradient(scaled, w))
    >>> if scale.update(gradient):
    ...     w.assign_sub(0.1 * gradient)
    Variable([ 1.35, -2.25], dtype=float32)
    """

    __slots__ = ("_good", "_value", "dynamic", "factor", "interval")

    def __init__(
        self, initial: float = 2.0**15, *, dynamic: bool = True, factor: float = 2.0, interval: int = 2000, backend: str | None = None
    ) -> None:
        if not 0 < initial < math.inf:
            raise ArgumentError(f"LossScale(initial): expected a positive finite number, got {initial!r}")
        if not factor > 1:
            raise ArgumentError(f"LossScale(factor=...): expected factor > 1, got {factor!r}")
        if interval < 1:
            raise ArgumentError(f"LossScale(interval=...): expected interval >= 1, got {interval!r}")
        self.dynamic = dynamic
        self.factor = factor
        self.interval = interval
        self._value = Variable(asarray(initial, dtype=float32, backend=backend), trainable=False, name="loss scale")
        self._good = Variable(asarray(0, dtype=int64, backend=backend), trainable=False, name="good steps")

    @property
    def value(self) -> Tensor:
        """The factor now, float32."""
        return self._value.value

    def scale(self, loss: Any) -> Any:
        """The loss times the factor, in float32 at least: half precision might not hold it.  Structures too; recorded."""
        leaves, rebuild = flatten(loss)
        return rebuild([None if x is None else _wide(asarray(x)) * self._value for x in leaves])

    def unscale(self, gradients: Any) -> Any:
        """Gradients of a scaled loss, divided by the factor, in float32 at least.  None stays None."""
        leaves, rebuild = flatten(gradients)
        return rebuild([None if g is None else self._divided(g) for g in leaves])

    def _divided(self, g: Any) -> Any:
        if isinstance(g, SparseRows):
            return sparse_rows(Rows((_wide(g.values) / self._value).array, g.rows.index, g.shape))
        return _wide(g) / self._value

    def update(self, gradients: Any) -> Tensor:
        """Whether all gradients are finite, so that the step may be made; a dynamic factor takes note.

        In a compiled function, where an `if` can't ask, choose: ``w.assign(tg.where(ok, w - rate * g, w))``.
        """
        finite = F.isfinite(self._value)
        for g in flatten(gradients)[0]:
            if g is not None and is_inexact(g.dtype):
                finite = F.logical_and(finite, F.all(F.isfinite(g.values if isinstance(g, SparseRows) else g)))
        if self.dynamic:
            good = F.where(finite, self._good + 1, 0)
            grows = good >= self.interval
            larger = F.minimum(self._value, _LARGEST / self.factor) * self.factor
            smaller = self._value / self.factor
            smaller = F.where(smaller > 0, smaller, self._value)
            self._value.assign(F.where(finite, F.where(grows, larger, self._value), smaller))
            self._good.assign(F.where(grows, 0, good))
        found: Tensor = finite
        return found

    def __repr__(self) -> str:
        kind = "dynamic" if self.dynamic else "fixed"
        return f"<{kind} loss scale {float(self._value.numpy()):g}>"


def _wide(x: Any) -> Any:
    """In float32, if it is in half precision."""
    return F.astype(x, float32) if x.dtype.itemsize == 2 and is_inexact(x.dtype) else x
