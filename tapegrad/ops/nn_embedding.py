"""Rows of a table, picked by number."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import DTypeError
from tapegrad.registry import composite, linear, no_derivative
from tapegrad.registry.op import OPS


def _rows(draw: Any) -> Any:
    return draw.array(4, "m"), draw.integers(*draw.choice(("n",), ("n", 2), ()), low=-4, high=4)


@linear(accumulates=True, laws=_rows, public=False)
def take_rows(xp: Any, x: Any, ids: Any, /) -> Any:
    """The rows of a table at integer ids, (k, ...), (*I) -> (*I, ...); its gradient keeps just these rows where it can."""
    return xp.take(x, ids, axis=0)


@linear(
    laws=lambda draw: (draw.array("n", 3), draw.integers("n", low=-4, high=4), {"shape": (4, 3)}),
    public=False,
)
def rows_add(xp: Any, x: Any, ids: Any, /, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with rows added at integer ids: the adjoint of `take_rows`."""
    return xp.rows_add(x, ids, shape)


take_rows.adjoint(x=lambda F, g, x, ids: F.rows_add(g, ids, x.shape), ids=no_derivative)
rows_add.adjoint(x=lambda F, g, ids: F.take(g, ids, axis=0), ids=no_derivative)


@take_rows.batch
def _take_rows_batch(F: Any, has: Any, x: Any, ids: Any) -> Any:
    rule = OPS["take"].batch_rule
    assert rule is not None
    return rule(F, has, x, ids, axis=0)


@rows_add.batch
def _rows_add_batch(F: Any, has: Any, x: Any, ids: Any, *, shape: Any) -> Any:
    rule = OPS["take_add"].batch_rule
    assert rule is not None
    return rule(F, has, x, ids, shape=shape, axis=0)


def _drawn(draw: Any) -> Any:
    params = {"padding_idx": draw.choice(None, 3, -1), "sparse": draw.boolean()}
    return draw.array(4, "m"), draw.integers("n", 2, low=0, high=3), params


@composite(laws=_drawn, public=False)
def embedding(F: Any, table: Any, ids: Any, /, *, padding_idx: int | None = None, sparse: bool = False) -> Any:
    """The rows of a table at integer ids, (k, ...), (*I) -> (*I, ...).

    * `padding_idx`: a row that does not learn: it has no derivative.
    * `sparse`: the gradient for the table is a `SparseRows`, which holds only the rows that were picked.  It is dense where a
      derivative of it is recorded, and where the table was computed from other arrays.

    Raises DTypeError for ids that are no integers.

    >>> import tapegrad as tg
    >>> table = tg.Variable([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]])
    >>> with tg.GradientTape() as tape:
    ...     loss = tg.sum(tg.nn.embedding(table, tg.asarray([2, 0, 2]), sparse=True) ** 2)
    >>> tape.gradient(loss, table).indices
    Tensor([2, 0, 2], dtype=int64)
    """
    if is_inexact(ids.dtype):
        raise DTypeError(f"embedding(table, ids): expected integers for ids, got {ids.dtype}; the table comes first")
    y = F.take_rows(table, ids) if sparse else F.take(table, ids, axis=0)
    if padding_idx is None:
        return y
    if padding_idx < 0:
        padding_idx += table.shape[0]
    padded = F.reshape(F.equal(ids, padding_idx), (*ids.shape, *(1,) * (len(table.shape) - 1)))
    return F.where(padded, _held(y), y)


def _held(y: Any) -> Any:
    """The value, without what was recorded of it."""
    return tensor(y.read()[0]) if isinstance(y, Tensor) else y
